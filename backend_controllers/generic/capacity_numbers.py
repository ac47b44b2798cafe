"""Adds the numbers about capacity to the scheduler's message about a gang that does not fit.

It watches Nodes and PodCliques and writes nothing. Numbers are computed only for gangs about which the
scheduler has reported a lack of capacity. Gangs with the same demand share one computation until a
node changes: a full cluster has hundreds of gangs that wait, and thousands of nodes.
"""

from dataclasses import replace
from fractions import Fraction

import msgspec

from backend_controllers.contract.cliques import CLIQUES, template_of
from backend_controllers.contract.declaration import Report
from backend_controllers.contract.pod_counts import GangCount
from backend_controllers.contract.shortage import (
    CAPACITY_REASONS,
    Shortage,
    demands_of,
    shortage,
    unit_of,
)
from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.predicates import node_differs
from shared_api.capacity.nodes import ListedNode, PlannedPod
from shared_api.capacity.packing import Unit
from shared_api.capacity.supply import Demand, Supply, allocatable
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang

_KEPT = 1000
# About 0.3 s. A gang of more cliques on more nodes has the scheduler's message alone.
_MOST_CHECKS = 20_000


class CapacityNumbers:
    """What the nodes have, and what gangs lack of it."""

    def __init__(self, caches: BackendCaches) -> None:
        self._caches = caches
        self._nodes = dict[str, ListedNode]()
        self._allocatable = dict[str, dict[str, Fraction]]()
        self._known: dict[bytes, Shortage] = {}
        if caches.nodes is not None:
            caches.nodes.subscribe(self._on_node)
            for node in caches.nodes:
                self._on_node(None, node)

    def explained(self, gang: ObservedPodGang, counted: GangCount, report: Report) -> Report:
        """Return the report, with numbers if it is about capacity."""
        if report.reason not in CAPACITY_REASONS or not report.message or counted.is_scheduled:
            return report
        demands = demands_of(gang, counted, self._templates(gang))
        if not demands or len(demands) * len(self._nodes) > _MOST_CHECKS:
            return report
        unit = unit_of(gang, demands)
        found = self._shortage(unit)
        wanted = sum(group.minimum for group in counted.groups)
        return replace(report, message=found.explain(report.message, wanted))

    def _shortage(self, unit: Unit) -> Shortage:
        key = msgspec.json.encode(_content(unit))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = shortage(unit, Supply(self._nodes, self._allocatable))
        return found

    def _templates(self, gang: ObservedPodGang) -> dict[str, PlannedPod]:
        cliques = self._caches.read.get(CLIQUES)
        if cliques is None:
            return {}
        namespace = gang.metadata.namespace
        keys = {group.name: ObjectKey(namespace, group.name) for group in gang.spec.podgroups}
        found = {name: cliques.get(key) for name, key in keys.items()}
        return {name: template_of(one) for name, one in found.items() if one is not None}

    def _on_node(self, old: ListedNode | None, new: ListedNode | None) -> None:
        if not node_differs(old, new):
            return
        self._known.clear()
        if new is not None:
            name = new.metadata.name
            self._nodes[name], self._allocatable[name] = new, allocatable(new)
        elif old is not None:
            self._nodes.pop(old.metadata.name, None)
            self._allocatable.pop(old.metadata.name, None)


def _content(part: Unit | Demand) -> object:
    """Return what a shortage is computed from beside the nodes."""
    if isinstance(part, Demand):
        return part.clique, part.count, part.pod
    return part.level, [_content(one) for one in part.parts]
