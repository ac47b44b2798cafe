"""Removes from objects what a bug report must not contain: values of environment variables.

It owns the list of what is removed. Names of variables and references to Secrets stay, because they
explain why a container does not start. Whatever the kind of object is, every list of environment
variables in it is redacted, also inside stored templates. kubectl's annotation with the applied
manifest is dropped, because it contains the values as text.
"""

from collections.abc import Mapping
from typing import Any

REDACTED = "(removed)"
_DROPPED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
# Lists of entries with a name and a value.
_VALUED = frozenset({"env", "httpHeaders"})


def redacted(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without values of environment variables and without managedFields."""
    found: dict[str, Any] = {}
    for key, value in item.items():
        if key == "managedFields":
            continue
        if key == "annotations" and isinstance(value, Mapping):
            found[key] = {k: v for k, v in value.items() if k != _DROPPED_ANNOTATION}
        elif key in _VALUED:
            found[key] = _without_values(value)
        else:
            found[key] = _any(value)
    return found


def _any(value: Any) -> Any:
    if isinstance(value, Mapping):
        return redacted(value)
    return [_any(part) for part in value] if isinstance(value, list) else value


def _without_values(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_values(part) for part in value]
    if not isinstance(value, Mapping):
        return REDACTED
    # Only the name and references are kept, so that a new kind of value cannot leak.
    kept = {key: part for key, part in value.items() if key in ("name", "valueFrom")}
    return {**kept, "value": REDACTED} if "value" in value else kept
