"""What the detection of every scheduler uses: capability sets, dialect names, missing kinds."""

from collections.abc import Mapping
from typing import TypeVar

from backend_controllers.contract.declaration import Options, Served
from shared_api import names
from shared_api.kube.resources import Resource

GANG = frozenset({names.CAPABILITY_GANG, names.CAPABILITY_ELASTIC_SURPLUS})
"""Every scheduler has these."""
GANG_TOPOLOGY = frozenset(
    {names.CAPABILITY_TOPOLOGY_REQUIRED_GANG, names.CAPABILITY_TOPOLOGY_PREFERRED_GANG}
)
NESTED_TOPOLOGY = frozenset(
    {
        names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET,
        names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP_SET,
        names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP,
        names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP,
    }
)

T = TypeVar("T", bound=Options)


def checked_options(options: Options, expected: type[T]) -> T:
    """Return the options as their own type. Others are a mistake of the program."""
    if not isinstance(options, expected):
        raise TypeError(f"expected {expected.__name__}, got {options!r}")
    return options


def dialect_name(kind: Resource, optional: Mapping[str, bool]) -> str:
    """Return the version of a kind and the optional parts that were found, joined by plus signs."""
    return "+".join([kind.api_version, *(part for part, found in optional.items() if found)])


def missing_kind(served: Served, *kinds: Resource) -> str:
    """Return the first kind that is not served, for a message; empty if all are served."""
    return next((f"{kind} in version {kind.version}" for kind in kinds if not served.has(kind)), "")
