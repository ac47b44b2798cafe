"""How many pods of a gang fit: first fit, largest pods first, within the required topology domains.

It owns the search for domains. A `Unit` is what must share one domain of a level: a gang, the
cliques of one replica of a scaling group, or one clique. Units are nested as in the PodGang. The
search chooses the best domain of each unit in turn and never goes back. So a gang that is reported
as fitting does fit; another gang may still fit in a way that was not tried.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from shared_api.capacity.nodes import ListedNode, eligible
from shared_api.capacity.supply import NOTHING, Demand, Supply
from shared_api.kube.pod_resources import Sums


@dataclass(frozen=True)
class Unit:
    """Pods that must share one domain of a level; without a level, pods that belong together."""

    level: str | None
    """Key of a node label."""
    parts: tuple["Unit | Demand", ...]

    def demands(self) -> Iterable[Demand]:
        """Yield the pods of the unit, by clique."""
        for part in self.parts:
            if isinstance(part, Demand):
                yield part
            else:
                yield from part.demands()

    def levels(self) -> Iterable[str]:
        """Yield the levels of the unit and of its parts."""
        if self.level is not None:
            yield self.level
        for part in self.parts:
            if isinstance(part, Unit):
                yield from part.levels()


@dataclass(frozen=True)
class Packing:
    """How many pods fit into one topology domain, or into the whole cluster."""

    fitting: Mapping[str, int]
    """Pods that fit, by clique."""
    wanted: Mapping[str, int]
    domain: str = ""
    """Value of the unit's topology label; empty for the whole cluster."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Pods by node."""
    free: Mapping[str, Sums] = field(default_factory=dict)
    """What is left on the nodes that were used."""

    @property
    def total(self) -> int:
        """Return the number of pods that fit."""
        return sum(self.fitting.values())

    @property
    def is_complete(self) -> bool:
        """Return whether all pods fit."""
        return all(self.fitting.get(name, 0) >= count for name, count in self.wanted.items())


def nested(
    level: str | None,
    sets: Iterable[tuple[str | None, Iterable[str]]],
    cliques: Mapping[str, str | None],
    demands: Iterable[Demand],
) -> Unit:
    """Return the pods of a gang with the level of the gang, of sets of cliques, and of cliques."""
    single = {one.clique: Unit(cliques.get(one.clique), (one,)) for one in demands}
    parts: list[Unit] = []
    for shared, members in sets:
        listed = [single.pop(name) for name in members if name in single]
        parts.append(Unit(shared, tuple(listed)))
    return Unit(level, (*parts, *single.values()))


def pack(unit: Unit, supply: Supply) -> Packing:
    """Return how many pods of a unit fit; with a level, in the domain that takes the most."""
    return _place(unit, list(supply.nodes.values()), supply.free)


def _place(unit: Unit, nodes: Sequence[ListedNode], free: Mapping[str, Sums]) -> Packing:
    if unit.level is None:
        return _in_turn(unit, nodes, free)
    domains: dict[str, list[ListedNode]] = defaultdict(list)
    for node in nodes:
        if unit.level in node.metadata.labels:
            domains[node.metadata.labels[unit.level]].append(node)
    found = [_in_turn(unit, among, free, name) for name, among in sorted(domains.items())]
    nothing = Packing({}, _wanted(unit.demands()))
    return max(found, key=lambda packing: (packing.is_complete, packing.total), default=nothing)


def _in_turn(
    unit: Unit, nodes: Sequence[ListedNode], free: Mapping[str, Sums], domain: str = ""
) -> Packing:
    """Place the parts of a unit one after the other, the largest pods first."""
    left: dict[str, Sums] = {}
    used: Counter[str] = Counter()
    fitting: Counter[str] = Counter()
    for part in sorted(unit.parts, key=_size, reverse=True):
        current = {**free, **left}
        found = (
            _first_fit(part, nodes, current)
            if isinstance(part, Demand)
            else _place(part, nodes, current)
        )
        fitting.update(found.fitting)
        used.update(found.nodes)
        left |= found.free
    wanted = _wanted(unit.demands())
    return Packing({name: fitting[name] for name in wanted}, wanted, domain, used, left)


def _first_fit(demand: Demand, nodes: Sequence[ListedNode], free: Mapping[str, Sums]) -> Packing:
    missing = demand.count
    used: dict[str, int] = {}
    left: dict[str, Sums] = {}
    for name in eligible(demand.pod, nodes):
        taken = min(missing, _times(demand.requests, free[name]))
        if taken:
            used[name] = taken
            left[name] = {
                resource: number - taken * demand.requests.get(resource, NOTHING)
                for resource, number in free[name].items()
            }
            missing -= taken
        if not missing:
            break
    fitting = {demand.clique: demand.count - missing}
    return Packing(fitting, {demand.clique: demand.count}, nodes=used, free=left)


def _wanted(demands: Iterable[Demand]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for demand in demands:
        counts[demand.clique] += demand.count
    return dict(counts)


def _size(part: Unit | Demand) -> tuple[Fraction, ...]:
    if isinstance(part, Unit):
        return max(map(_size, part.demands()), default=())
    order = sorted(part.requests, key=lambda name: ("/" not in name, name))
    return tuple(part.requests[name] for name in order)


def _times(requests: Sums, free: Sums) -> int:
    """Return how many pods with these requests fit into what is free."""
    counts = [
        max(0, int(free.get(name, NOTHING) // number))
        for name, number in requests.items()
        if number
    ]
    return min(counts, default=10**6)
