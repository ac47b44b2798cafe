"""Why a gang does not fit, in numbers: what it needs, what the nodes have, and how many pods fit.

A backend sees the pods of its own gangs only, so what is free is unknown to it. It reports what the
nodes have for pods, how many pods would fit on empty nodes, and what the scheduler itself reports.
Schedulers decide by more than is computed here, so their message is always kept.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backend_controllers.contract.declaration import pack_of
from backend_controllers.contract.pod_counts import GangCount
from shared_api.capacity.nodes import PlannedPod, eligible, requests_or_nothing
from shared_api.capacity.packing import Packing, Unit, nested, pack
from shared_api.capacity.supply import (
    NOTHING,
    Demand,
    Supply,
    amount,
    free_for,
    need,
    plural,
    scarce,
)
from shared_api.kube.podgangs import ObservedPodGang

CAPACITY_REASONS = frozenset({"Unschedulable", "TopologyUnsatisfied", "NotEnoughResources"})
"""Reasons of schedulers for a gang that does not fit."""

_FITTING = re.compile(r"\b(\d{1,9}) of (\d{1,9})\b")
_LACKING = re.compile(r"nsufficient|enough resources|\bfits? |cluster resources|has capacity")
_CLIQUES = 3


@dataclass(frozen=True, slots=True)
class Shortage:
    """The numbers, and what to do about them."""

    numbers: str
    remedy: str
    """Empty if a gang would fit on empty nodes."""

    def explain(self, message: str, wanted: int) -> str:
        """Return the scheduler's message with the numbers before it and the remedy after it."""
        free = "free: unknown"
        for fitting, needed in _FITTING.findall(message):
            if int(needed) == wanted:
                free = f"free for {fitting} of {needed} pods"
                break
        remedy = self.remedy
        if not remedy and _LACKING.search(message):
            remedy = "Free capacity, or add nodes"
        text = f"{self.numbers.replace(_FREE, free)}; {message.rstrip(' .')}"
        return f"{text}. {remedy}" if remedy else text


_FREE = "{free}"


def demands_of(
    gang: ObservedPodGang, counted: GangCount, templates: Mapping[str, PlannedPod]
) -> tuple[Demand, ...]:
    """Return the members of a gang that are not scheduled, by clique without the gang's name."""
    prefix = f"{gang.metadata.name}-"
    return tuple(
        Demand(
            group.name.removeprefix(prefix),
            group.minimum - group.scheduled,
            templates[group.name],
            requests_or_nothing(templates[group.name]),
        )
        for group in counted.groups
        if group.minimum > group.scheduled and group.name in templates
    )


def unit_of(gang: ObservedPodGang, demands: tuple[Demand, ...]) -> Unit:
    """Return the demands, nested as the topology constraints of the gang."""
    prefix = f"{gang.metadata.name}-"
    spec = gang.spec
    levels = {
        group.name.removeprefix(prefix): pack_of(group.topology_constraint).required or None
        for group in spec.podgroups
    }
    sets = (
        (
            pack_of(config.topology_constraint).required or None,
            [name.removeprefix(prefix) for name in config.pod_group_names],
        )
        for config in spec.topology_constraint_group_configs
    )
    return nested(pack_of(spec.topology_constraint).required or None, sets, levels, demands)


def shortage(unit: Unit, supply: Supply) -> Shortage:
    """Return need and supply of the resource that is short."""
    demands = tuple(unit.demands())
    resource = scarce(demands, supply)
    total, parts = need(demands, resource)
    nodes = {name for one in demands for name in eligible(one.pod, supply.nodes.values())}
    exist = amount(resource, free_for(demands, supply).get(resource, NOTHING))
    numbers = (
        f"needs {total} {resource} ({', '.join(parts)}), {exist} {'exists' if exist == '1' else 'exist'}"
        f" on {len(nodes)} {plural('node', len(nodes))}, {_FREE}"
    )
    if missing := sorted(_missing_levels(unit, supply)):
        labels = ", ".join(missing)
        return Shortage(
            f"{numbers}; no node has the label {labels}, which a required topology level needs",
            "Label the nodes, or correct the level in the ClusterTopologyBinding",
        )
    packing = pack(unit, supply)
    if packing.is_complete:
        return Shortage(numbers, "")
    where = f" in {unit.level}={packing.domain}, the best domain" if packing.domain else ""
    wanted = sum(packing.wanted.values())
    numbers += f"; on empty nodes {packing.total} of {wanted} pods fit{where}"
    alone = "".join(_alone(unit, demands, supply))
    return Shortage(f"{numbers}{alone}", _remedy(demands, packing, resource))


def _missing_levels(unit: Unit, supply: Supply) -> Iterator[str]:
    nodes = supply.nodes.values()
    for level in set(unit.levels()):
        if not any(level in node.metadata.labels for node in nodes):
            yield level


def _alone(unit: Unit, demands: tuple[Demand, ...], supply: Supply) -> Iterator[str]:
    """Yield the cliques that do not fit, even without the others."""
    for demand in demands[:_CLIQUES] if len(demands) > 1 else ():
        fitting = pack(Unit(unit.level, (demand,)), supply).total
        if fitting < demand.count:
            yield f"; clique {demand.clique} alone does not fit: {fitting} of {demand.count} pods"
    for demand in demands[:_CLIQUES]:
        yield from _oversized(demand, supply)


def _oversized(demand: Demand, supply: Supply) -> Iterator[str]:
    """Yield the first resource of which no node has enough for one pod."""
    admitted = eligible(demand.pod, supply.nodes.values())
    for resource in sorted(demand.requests, key=lambda name: ("/" not in name, name)):
        most = max((supply.free[name].get(resource, NOTHING) for name in admitted), default=NOTHING)
        each = demand.requests[resource]
        if admitted and each > most:
            yield (
                f"; a pod of clique {demand.clique} needs {amount(resource, each)} {resource}, the"
                f" largest node has {amount(resource, most)}"
            )
            return


def _remedy(demands: tuple[Demand, ...], packing: Packing, resource: str) -> str:
    short = [one for one in demands if packing.fitting.get(one.clique, 0) < one.count]
    more = [
        f"{count} more {plural('pod', count)} of {one.clique}"
        f" ({amount(resource, one.requests.get(resource, NOTHING))} {resource} each)"
        for one in short
        if (count := one.count - packing.fitting.get(one.clique, 0))
    ]
    remedy = f"Add nodes for {' and '.join(more[:_CLIQUES])}"
    lower = [
        f"{one.clique} to {packing.fitting[one.clique]}"
        for one in short
        if packing.fitting.get(one.clique)
    ]
    # Lowering one clique helps only if no other clique is short.
    if len(lower) != len(short):
        return remedy
    return f"{remedy}, or lower minAvailable of {' and '.join(lower[:_CLIQUES])}"
