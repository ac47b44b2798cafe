"""What a set asks of the cluster's topology, and whether the cluster can say it in node labels.

A set names domains, such as "rack"; a ClusterTopologyBinding says which node label stands for
each. Nothing that is required is ever left out: a gang that could not be told all of it is
not handed to a scheduler. A preference that cannot be told is left out and reported, since it
was never a promise. Which labels a gang then gets is the business of `placement`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain

from shared_api import names
from shared_api.models import PodCliqueSet, TopologyConstraint


@dataclass(frozen=True, slots=True)
class Topology:
    """What became of a set's constraints; the reason is a word of TopologyLevelsUnavailable."""

    name: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Node label keys by domain."""
    unavailable: bool | None = False
    """Unknown where there is no binding to look into."""
    reason: str = ""
    message: str = ""
    holds: bool = False
    """Something required cannot be told: gangs that are not released wait."""

    @property
    def is_asked_for(self) -> bool:
        """Tell whether the set has any constraint."""
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
        """Who asks, for people."""
        return f"{self.level.value} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class _Flaw:
    text: str
    of_required: bool


def topology_name(pcs: PodCliqueSet) -> str:
    """The binding that the set names, whose levels all its constraints are of."""
    return next((ask.constraint.topology_name or "" for ask in _asks(pcs, named=True)), "")


def resolve(pcs: PodCliqueSet, levels: Mapping[str, str] | None) -> Topology:
    """The set's constraints in a cluster with these levels.

    `levels` has the label key of each domain from the broadest to the narrowest; None if the
    binding does not exist.
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
    # What is wrong comes first: long messages are cut.
    told = [flaw.text for flaw in flaws]
    told.append(f"ClusterTopologyBinding '{name}' has the levels {', '.join(levels)}")
    told.extend(chain.from_iterable(_idle(ask, order) for ask in asks))
    reason = names.REASON_LEVELS_AVAILABLE
    if flaws:
        reason = names.REASON_LEVELS_UNAVAILABLE if missing else names.REASON_LEVELS_REVERSED
    return Topology(
        name=name,
        keys=dict(levels),
        unavailable=bool(flaws),
        reason=reason,
        message="; ".join(told),
        holds=any(flaw.of_required for flaw in flaws),
    )


def required_capabilities(pcs: PodCliqueSet) -> frozenset[str]:
    """What a backend must be able to do for the set to be placed as it requires."""
    return _capabilities(
        [ask for ask in _asks(pcs) if ask.constraint.required],
        (
            names.CAPABILITY_TOPOLOGY_REQUIRED_GANG,
            names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET,
            names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP,
        ),
    )


def preferred_capabilities(pcs: PodCliqueSet) -> frozenset[str]:
    """What a backend is able to do if the set is placed as it prefers."""
    return _capabilities(
        [ask for ask in _asks(pcs) if ask.constraint.preferred],
        (
            names.CAPABILITY_TOPOLOGY_PREFERRED_GANG,
            names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP_SET,
            names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP,
        ),
    )


def _asks(pcs: PodCliqueSet, *, named: bool = False) -> Iterator[_Ask]:
    """The constraints from the set down, or only those that name a binding."""
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
    message = f"{asks[0].owner} has a topology constraint, and no ClusterTopologyBinding is named"
    if name:
        reason = names.REASON_TOPOLOGY_BINDING_NOT_FOUND
        message = f"ClusterTopologyBinding '{name}' does not exist"
    holds = any(ask.constraint.required for ask in asks)
    return Topology(name, {}, None, reason, message, holds)


def _missing(ask: _Ask, levels: Mapping[str, str]) -> Iterator[_Flaw]:
    required, preferred = ask.constraint.required, ask.constraint.preferred
    if required and required not in levels:
        yield _Flaw(f"no level {required}, which {ask.owner} requires", of_required=True)
    if preferred and preferred not in levels:
        text = f"no level {preferred}, which {ask.owner} prefers"
        yield _Flaw(text, of_required=False)


def _reversed(ask: _Ask, order: Mapping[str, int]) -> Iterator[_Flaw]:
    """A part cannot be kept in more than what the whole is kept in."""
    for parent in ask.above:
        pair = ask.constraint.required, parent.constraint.required
        if _is_broader(*pair, order):
            text = f"{ask.owner} requires {pair[0]}, broader than {pair[1]} of {parent.owner}"
            yield _Flaw(text, of_required=True)
        pair = ask.constraint.preferred, parent.constraint.preferred
        if _is_broader(*pair, order):
            text = f"{ask.owner} prefers {pair[0]}, broader than {pair[1]} of {parent.owner}"
            yield _Flaw(text, of_required=False)


def _idle(ask: _Ask, order: Mapping[str, int]) -> Iterator[str]:
    required, preferred = ask.constraint.required, ask.constraint.preferred
    if _is_broader(preferred, required, order):
        yield f"{ask.owner} prefers {preferred}, which follows from {required} that it requires"


def _is_broader(one: str | None, other: str | None, order: Mapping[str, int]) -> bool:
    if one is None or other is None or one not in order or other not in order:
        return False
    return order[one] < order[other]


def _capabilities(asks: list[_Ask], words: tuple[str, str, str]) -> frozenset[str]:
    of_gang, of_group_set, of_group = words
    found = set()
    for ask in asks:
        match ask.level:
            case _Level.SET:
                found.add(of_gang)
            case _Level.GROUP:
                # A replica above the group's minimum is a gang of its own.
                found.update((of_gang, of_group_set))
            case _Level.CLIQUE:
                found.add(of_group)
    return frozenset(found)
