"""What pods request and what nodes have, in sums and in text.

It owns the arithmetic of a shortage. The caller passes what is free on a node: a process that does
not see all pods passes what is allocatable, and must report it as such.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shared_api.capacity.nodes import ListedNode, PlannedPod, eligible
from shared_api.kube.pod_resources import Sums
from shared_api.kube.quantities import parsed, written

NOTHING = Fraction(0)
_MEBI = Fraction(1024) ** 2
_GIBI = Fraction(1024) ** 3


@dataclass(frozen=True)
class Demand:
    """Pods of one clique that have to be scheduled."""

    clique: str
    count: int
    pod: PlannedPod
    requests: Sums


@dataclass(frozen=True)
class Supply:
    """The nodes of a cluster with what each has for pods."""

    nodes: Mapping[str, ListedNode]
    free: Mapping[str, Sums]


def allocatable(node: ListedNode) -> Sums:
    """Return what a node has for pods."""
    offered = node.status.allocatable
    return {resource: parsed(text) or NOTHING for resource, text in offered.items()}


def scarce(demands: Sequence[Demand], supply: Supply) -> str:
    """Return the resource of which the largest part of the need is missing; empty if none is."""
    needed, offered = _sums(demands), free_for(demands, supply)
    missing = {name: 1 - offered.get(name, NOTHING) / n for name, n in needed.items() if n}
    # Gangs compete for extended resources, so of equal shortages theirs is named.
    ranked = sorted(missing, key=lambda name: (missing[name], "/" in name, name))
    return ranked[-1] if ranked else ""


def free_for(demands: Sequence[Demand], supply: Supply) -> Sums:
    """Return what there is in all on the nodes that admit any of these pods."""
    admitted = {name for d in demands for name in eligible(d.pod, supply.nodes.values())}
    found: Sums = {}
    for name in admitted:
        for resource, number in supply.free[name].items():
            found[resource] = found.get(resource, NOTHING) + max(number, NOTHING)
    return found


def _sums(demands: Sequence[Demand]) -> Sums:
    found: Sums = {}
    for demand in demands:
        for resource, number in demand.requests.items():
            found[resource] = found.get(resource, NOTHING) + demand.count * number
    return found


def need(demands: Sequence[Demand], resource: str) -> tuple[str, tuple[str, ...]]:
    """Return the need of all pods, and the pods times their request, by clique."""
    total, parts = NOTHING, []
    for demand in demands:
        each = demand.requests.get(resource, NOTHING)
        if each:
            total += demand.count * each
            parts.append(f"{demand.count} {plural('pod', demand.count)} x {amount(resource, each)}")
    return amount(resource, total), tuple(parts)


def plural(word: str, count: int) -> str:
    """Return a regular word for this number of things."""
    return word if count == 1 else f"{word}s"


def amount(resource: str, number: Fraction) -> str:
    """Return an amount of a resource; memory in binary units."""
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        unit, suffix = (_GIBI, "Gi") if number >= _GIBI else (_MEBI, "Mi")
        return f"{float(number / unit):.4g}{suffix}"
    return written(number)
