"""The topology constraints of a set, resolved against the levels of a ClusterTopologyBinding.

A set names domains such as "rack"; the binding has the node label key of each. A required
constraint is never dropped: without a label key for it, no gang is given to a scheduler. A
preference without a label key is dropped and reported. `gang_placement` builds each gang's labels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain

from shared_api import names
from shared_api.models import PodCliqueSet, TopologyConstraint


@dataclass(frozen=True, slots=True)
class Topology:
    """The resolved constraints of a set; the reason is that of TopologyLevelsUnavailable."""

    name: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Node label keys by domain."""
    unavailable: bool | None = False
    """None if there is no binding."""
    reason: str = ""
    message: str = ""
    blocks_gangs: bool = False
    """A required constraint is not resolved: gangs that are not released wait."""

    @property
    def is_constrained(self) -> bool:
        """Return whether the set has any constraint."""
        return bool(self.reason)


UNCONSTRAINED = Topology()


class _Level(Enum):
    SET = "the set"
    GROUP = "scaling group"
    CLIQUE = "clique"


@dataclass(frozen=True, slots=True)
class _Ask:
    """One constraint, and those above it in the set."""

    level: _Level
    constraint: TopologyConstraint
    name: str = ""
    above: tuple["_Ask", ...] = ()

    @property
    def owner(self) -> str:
        """Return who has the constraint, for messages."""
        return f"{self.level.value} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class _Flaw:
    text: str
    of_required: bool


def topology_name(pcs: PodCliqueSet) -> str:
    """Return the ClusterTopologyBinding that the set names; empty if none."""
    return next((ask.constraint.topology_name or "" for ask in _asks(pcs, named=True)), "")


def resolve(pcs: PodCliqueSet, levels: Mapping[str, str] | None) -> Topology:
    """Resolve the set's constraints.

    `levels` has the node label key of each domain, the broadest first; None if the binding does
    not exist.
    """
    asks = tuple(_asks(pcs))
    if not asks:
        return UNCONSTRAINED
    name = topology_name(pcs)
    if not name or levels is None:
        return _without_binding(name, asks)
    order = {domain: position for position, domain in enumerate(levels)}
    missing = tuple(chain.from_iterable(_missing(ask, levels) for ask in asks))
    reversed_ = tuple(chain.from_iterable(_reversed(ask, order) for ask in asks))
    flaws = (*missing, *reversed_)
    # What is wrong comes first, because long messages are truncated.
    messages = [flaw.text for flaw in flaws]
    messages.append(f"ClusterTopologyBinding '{name}' has the levels {', '.join(levels)}")
    messages.extend(chain.from_iterable(_idle(ask, order) for ask in asks))
    reason = names.REASON_LEVELS_AVAILABLE
    if flaws:
        reason = names.REASON_LEVELS_UNAVAILABLE if missing else names.REASON_LEVELS_REVERSED
    return Topology(
        name=name,
        keys=dict(levels),
        unavailable=bool(flaws),
        reason=reason,
        message="; ".join(messages),
        blocks_gangs=any(flaw.of_required for flaw in flaws),
    )


def required_capabilities(pcs: PodCliqueSet) -> frozenset[str]:
    """Return the capabilities that a backend needs for the required constraints."""
    return _capabilities(
        [ask for ask in _asks(pcs) if ask.constraint.required],
        (
            names.CAPABILITY_TOPOLOGY_REQUIRED_GANG,
            names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET,
            names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP,
        ),
    )


def preferred_capabilities(pcs: PodCliqueSet) -> frozenset[str]:
    """Return the capabilities that a backend needs for the preferred constraints."""
    return _capabilities(
        [ask for ask in _asks(pcs) if ask.constraint.preferred],
        (
            names.CAPABILITY_TOPOLOGY_PREFERRED_GANG,
            names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP_SET,
            names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP,
        ),
    )


def _asks(pcs: PodCliqueSet, *, named: bool = False) -> Iterator[_Ask]:
    """Yield the constraints from the set down; with `named` only those that name a binding."""
    template = pcs.spec.template
    above: dict[str, tuple[_Ask, ...]] = {}
    outermost: tuple[_Ask, ...] = ()
    found: list[_Ask] = []
    if template.topology_constraint is not None:
        outermost = (_Ask(_Level.SET, template.topology_constraint),)
        found.extend(outermost)
    for group in template.pod_clique_scaling_groups:
        if group.topology_constraint is not None:
            ask = _Ask(_Level.GROUP, group.topology_constraint, group.name, outermost)
            found.append(ask)
            above.update((member, (*outermost, ask)) for member in group.clique_names)
    for clique in template.cliques:
        if clique.topology_constraint is not None:
            parents = above.get(clique.name, outermost)
            found.append(_Ask(_Level.CLIQUE, clique.topology_constraint, clique.name, parents))
    return (ask for ask in found if ask.constraint.topology_name or not named)


def _without_binding(name: str, asks: tuple[_Ask, ...]) -> Topology:
    reason = names.REASON_TOPOLOGY_NAME_MISSING
    message = f"{asks[0].owner} has a topology constraint without a topologyName: set it"
    if name:
        reason = names.REASON_TOPOLOGY_BINDING_NOT_FOUND
        message = (
            f"ClusterTopologyBinding '{name}' does not exist: create it, or change topologyName"
        )
    blocks_gangs = any(ask.constraint.required for ask in asks)
    return Topology(name, {}, None, reason, message, blocks_gangs)


def _levels(ask: _Ask) -> tuple[tuple[bool, str, str | None], ...]:
    constraint = ask.constraint
    return (True, "requires", constraint.required), (False, "prefers", constraint.preferred)


def _missing(ask: _Ask, levels: Mapping[str, str]) -> Iterator[_Flaw]:
    for is_required, verb, level in _levels(ask):
        if level and level not in levels:
            yield _Flaw(f"no level {level}, which {ask.owner} {verb}", of_required=is_required)


def _reversed(ask: _Ask, order: Mapping[str, int]) -> Iterator[_Flaw]:
    """Yield the constraints of a part that are broader than those of the whole."""
    for parent in ask.above:
        for (is_required, verb, own), (_, _, outer) in zip(
            _levels(ask), _levels(parent), strict=True
        ):
            if _is_broader(own, outer, order):
                text = f"{ask.owner} {verb} {own}, broader than {outer} of {parent.owner}"
                yield _Flaw(text, of_required=is_required)


def _idle(ask: _Ask, order: Mapping[str, int]) -> Iterator[str]:
    required, preferred = ask.constraint.required, ask.constraint.preferred
    if _is_broader(preferred, required, order):
        yield f"{ask.owner} prefers {preferred}, which follows from {required} that it requires"


def _is_broader(one: str | None, other: str | None, order: Mapping[str, int]) -> bool:
    if one is None or other is None or one not in order or other not in order:
        return False
    return order[one] < order[other]


def _capabilities(asks: list[_Ask], capabilities: tuple[str, str, str]) -> frozenset[str]:
    of_gang, of_group_set, of_group = capabilities
    found = set()
    for ask in asks:
        match ask.level:
            case _Level.SET:
                found.add(of_gang)
            case _Level.GROUP:
                # A replica at or above the group's minAvailable is a gang of its own.
                found.update((of_gang, of_group_set))
            case _Level.CLIQUE:
                found.add(of_group)
    return frozenset(found)
