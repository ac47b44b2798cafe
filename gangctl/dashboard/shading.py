"""Where a waiting gang nearly fits: for each node and each topology domain, how many of its pods.

It owns the numbers with which the page shades its nodes. The arithmetic is that of `kubectl gang
why`, so it is an estimate with the same limits. All functions are pure.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from gangctl.reports.capacity import Capacity
from gangctl.reports.packing import Unit, level_of, pack, unit_of
from gangctl.reports.shortage import demands_of
from gangctl.snapshot import Snapshot
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.codec import LooseObject


class DomainFit(msgspec.Struct, frozen=True, rename="camel"):
    """How many pods of a gang fit into one topology domain."""

    fitting: int
    is_complete: bool


class Shading(msgspec.Struct, frozen=True, rename="camel"):
    """How much of a gang fits where."""

    wanted: int
    """Pods that are not bound."""
    fitting: int
    """Pods of these that fit at once; within the best domain if the gang requires one."""
    level: str
    """Node label whose value all pods must share; empty if none is required."""
    nodes: Mapping[str, int]
    """Pods that fit on each node that takes at least one, each node alone."""
    domains: Mapping[str, Mapping[str, DomainFit]]
    """Pods that fit into each domain alone, by node label and its value."""


def shading_of(
    snapshot: Snapshot, gang: LooseObject, capacity: Capacity, levels: Sequence[str]
) -> Shading:
    """Return where the unbound pods of a gang fit."""
    demands = demands_of(snapshot, gang)
    whole, single = unit_of(gang, demands), Unit(None, tuple(demands))
    level = level_of(gang.spec) or ""
    labels = dict.fromkeys((*levels, level) if level else levels)
    nodes = {name: _fitting(single, capacity, [node]) for name, node in capacity.nodes.items()}
    return Shading(
        sum(demand.count for demand in demands),
        pack(whole, capacity).total,
        level,
        {name: fit.fitting for name, fit in nodes.items() if fit.fitting},
        {label: _by_domain(whole, capacity, label) for label in labels},
    )


def _by_domain(unit: Unit, capacity: Capacity, label: str) -> dict[str, DomainFit]:
    domains: dict[str, list[ListedNode]] = defaultdict(list)
    for node in capacity.nodes.values():
        if label in node.metadata.labels:
            domains[node.metadata.labels[label]].append(node)
    return {name: _fitting(unit, capacity, nodes) for name, nodes in domains.items()}


def _fitting(unit: Unit, capacity: Capacity, nodes: Sequence[ListedNode]) -> DomainFit:
    part = {node.metadata.name: node for node in nodes}
    free = {name: capacity.free[name] for name in part}
    packing = pack(unit, Capacity(part, free, capacity.users))
    return DomainFit(packing.total, packing.is_complete and bool(packing.wanted))
