"""The downward API: fields of a pod and resources of a container as text. Pure."""

import math
import re
from decimal import Decimal, InvalidOperation

from local_cluster.api import Object

# The capacity that the process node reports. Nothing is enforced, so it is generous: the product's
# Deployments must fit on a small laptop with the requests that they have on a real cluster.
CAPACITY = {"cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}

SUFFIXES = {
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti"), 1)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T"), 1)},
    **{suffix: Decimal(1000) ** -power for power, suffix in enumerate(("m", "u", "n"), 1)},
}

SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def pod_field(path: str, pod: Object, pod_ip: str, host_ip: str) -> str:
    """The value of a fieldRef; fields that a pod does not have are empty."""
    metadata, spec = pod["metadata"], pod["spec"]
    if found := SUBSCRIPT.fullmatch(path):
        return str(metadata.get(found[1], {}).get(found[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        return _lines(metadata.get(path.removeprefix("metadata."), {}))
    values = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.podIP": pod_ip,
        "status.podIPs": pod_ip,
        "status.hostIP": host_ip,
        "status.hostIPs": host_ip,
    }
    if path not in values:
        raise ValueError(f"unknown pod field {path!r}")
    return str(values[path])


def resource_field(reference: Object, container: Object) -> str:
    """The value of a resourceFieldRef; without a limit, what the node has."""
    kind, resource = reference["resource"].split(".", 1)
    resources = container.get("resources", {})
    absent = CAPACITY.get(resource, "0") if kind == "limits" else "0"
    return in_units(
        str(resources.get(kind, {}).get(resource, absent)), reference.get("divisor", "1")
    )


def _lines(entries: dict[str, str]) -> str:
    escaped = {
        key: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for key, value in entries.items()
    }
    return "\n".join(f'{key}="{value}"' for key, value in sorted(escaped.items()))


def parse_quantity(text: str) -> Decimal:
    """The number that a quantity such as 100m, 1.5, 2e3 or 4Gi stands for."""
    for suffix, factor in SUFFIXES.items():
        if text.endswith(suffix):
            return Decimal(text.removesuffix(suffix)) * factor
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"not a quantity: {text!r}") from None


def in_units(quantity: str, divisor: str) -> str:
    """A quantity counted in units of `divisor`, rounded up, as resourceFieldRef gives it."""
    # The API server writes "0" for a divisor that was not set; it means 1.
    unit = parse_quantity(divisor) or Decimal(1)
    return str(math.ceil(parse_quantity(quantity) / unit))
