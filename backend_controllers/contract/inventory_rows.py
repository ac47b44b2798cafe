"""The machines of a cluster by shape: rows of a BackendInventory from Nodes. Pure.

Nodes are counted under what they have, where they are and which GPUs they have. Memory and storage
are rounded up to 256 MiB, because equal machines differ by a few pages; the scheduler decides by the
exact numbers. A node that takes no new pods is not counted.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from shared_api import names
from shared_api.kube.compute_resources import from_kubernetes, location_of
from shared_api.kube.metadata import Metadata
from shared_api.kube.quantities import parsed
from shared_api.models import InventoryRow
from shared_api.models.inventory import MAX_ROWS

_STEP = 256 * 1024**2
_ROUNDED = ("memory", "ephemeral-storage")
_NOT_COUNTED = ("pods", "attachable-volumes-", "hugepages-")
_LABELS = (
    "amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "kubernetes.io/arch",
    "nvidia.com/gpu.product",
    "topology.grove.io/datacenter",
    "topology.grove.io/rack",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)


class Cordon(msgspec.Struct, frozen=True, rename="camel"):
    """Whether new pods may be scheduled to a node."""

    unschedulable: bool = False


class Allocatable(msgspec.Struct, frozen=True):
    """What a node has for pods."""

    allocatable: Mapping[str, str | int | float] = {}


class ObservedNode(msgspec.Struct, frozen=True):
    """The fields of a Node that its row depends on."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: Cordon = Cordon()
    status: Allocatable = Allocatable()
    is_unused: bool | None = None
    """None: only the scheduler knows. No field of a Node."""


Kind = tuple[tuple[tuple[str, Fraction], ...], tuple[tuple[str, str], ...]]
"""Machines that are alike: amounts by resource, and labels."""


def kind_of(node: ObservedNode, selector: Mapping[str, str]) -> Kind | None:
    """Return what a node is counted under; None if it is not counted."""
    labels = node.metadata.labels
    if names.LABEL_SCHEDULER_BACKEND in labels:
        # A virtual node of ours stands for machines outside of the cluster, which their backend counts.
        return None
    if node.spec.unschedulable or any(labels.get(key) != text for key, text in selector.items()):
        return None
    amounts = []
    for name, text in sorted(node.status.allocatable.items()):
        amount = parsed(text)
        if amount is not None and amount > 0 and not name.startswith(_NOT_COUNTED):
            if name in _ROUNDED:
                amount = Fraction(math.ceil(amount / _STEP) * _STEP)
            amounts.append((name, amount))
    located = tuple((key, labels[key]) for key in _LABELS if labels.get(key))
    return tuple(amounts), located


def rows_of(
    nodes: Iterable[ObservedNode], selector: Mapping[str, str]
) -> tuple[tuple[InventoryRow, ...], int]:
    """Return the rows, the most frequent first, and how many further kinds were left out."""
    counted: Counter[Kind] = Counter()
    unused: dict[Kind, int] = {}
    for node in nodes:
        if (kind := kind_of(node, selector)) is not None:
            counted[kind] += 1
            if node.is_unused is not None:
                unused[kind] = unused.get(kind, 0) + node.is_unused
    ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    rows = tuple(_row(kind, total, unused.get(kind)) for kind, total in ordered[:MAX_ROWS])
    return rows, max(0, len(ordered) - MAX_ROWS)


def _row(kind: Kind, total: int, free: int | None) -> InventoryRow:
    amounts, labels = dict(kind[0]), dict(kind[1])
    fields: dict[str, object] = {"shape": from_kubernetes(amounts, labels), "total": total}
    if free is not None:
        fields["free"] = free
    if (location := location_of(labels)) is not None:
        fields["location"] = location
    return InventoryRow.model_validate(fields)
