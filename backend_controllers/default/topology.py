"""What a gang asks of topology, and what the one key of a merged gang can do about it.

Kubernetes knows required constraints only, and one key for each group object. Constraints
that cover all groups of a gang mean the same at whatever level they are written; the gang of
one scaling group replica has its constraint on the set of its groups, for example.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shared_api.kube.podgangs import GangTopologyConstraint, PodGang, TopologyPackConstraint


@dataclass(frozen=True, slots=True)
class Ask:
    """One topology key that a gang asks for, where it does so, and for which groups."""

    name: str
    """Of the set of groups or of the group; empty for the gang."""
    path: str
    key: str
    groups: frozenset[str]

    def __str__(self) -> str:
        return f"{self.path}={self.key}"


@dataclass(frozen=True, slots=True)
class Key:
    """The key of one group object, or why there cannot be one."""

    key: str | None = None
    refusals: tuple[str, ...] = ()


NEEDS_GATE = (
    "topology needs Kubernetes 1.36 or later with the feature gate"
    " TopologyAwareWorkloadScheduling on kube-apiserver and kube-scheduler"
)
NEEDS_TREE = (
    "this form of gang has one topology key for all its groups; keys for some of them need"
    " Kubernetes 1.37 with the feature gate CompositePodGroup, or ask for the key on the gang"
)


def gang_ask(gang: PodGang) -> Ask | None:
    """What is required of all pods."""
    pack = _pack(gang.spec.topology_constraint)
    everyone = frozenset(group.name for group in gang.spec.podgroups)
    return _ask("", "spec", pack, everyone)


def set_asks(gang: PodGang) -> tuple[Ask, ...]:
    """What is required of sets of groups; a name of no group of the gang means nothing."""
    known = frozenset(group.name for group in gang.spec.podgroups)
    found = (
        _ask(
            config.name,
            f"spec.topologyConstraintGroupConfigs[{config.name}]",
            _pack(config.topology_constraint),
            known.intersection(config.pod_group_names),
        )
        for config in gang.spec.topology_constraint_group_configs
    )
    return tuple(ask for ask in found if ask is not None and ask.groups)


def group_asks(gang: PodGang) -> tuple[Ask, ...]:
    """What is required of single groups."""
    found = (
        _ask(
            group.name,
            f"spec.podgroups[{group.name}]",
            _pack(group.topology_constraint),
            frozenset((group.name,)),
        )
        for group in gang.spec.podgroups
    )
    return tuple(ask for ask in found if ask is not None)


def one_key(gang: PodGang, *, supported: bool) -> Key:
    """The key of a gang that is one group object."""
    everyone = frozenset(group.name for group in gang.spec.podgroups)
    whole = gang_ask(gang)
    asks = (*((whole,) if whole else ()), *set_asks(gang), *group_asks(gang))
    if not supported:
        return Key(refusals=tuple(f"{ask}: {NEEDS_GATE}" for ask in asks))
    covering = [ask for ask in asks if ask.groups == everyone]
    refusals = [f"{ask}: {NEEDS_TREE}" for ask in asks if ask.groups != everyone]
    refusals += [
        f"{ask}: {covering[0]} is asked for already; {NEEDS_TREE}"
        for ask in covering
        if ask.key != covering[0].key
    ]
    return Key(covering[0].key if covering else None, tuple(refusals))


def unmet_preferences(gang: PodGang) -> tuple[str, ...]:
    """What is preferred, which kube-scheduler has no word for."""
    return tuple(
        f"{path}={key}: kube-scheduler has no preferred topology; it is not considered"
        for path, key in _preferences(gang)
    )


def _preferences(gang: PodGang) -> Iterator[tuple[str, str]]:
    places = [("spec", gang.spec.topology_constraint)]
    places += [
        (f"spec.topologyConstraintGroupConfigs[{config.name}]", config.topology_constraint)
        for config in gang.spec.topology_constraint_group_configs
    ]
    places += [
        (f"spec.podgroups[{group.name}]", group.topology_constraint)
        for group in gang.spec.podgroups
    ]
    for place, constraint in places:
        pack = _pack(constraint)
        if pack is not None and pack.preferred:
            yield f"{place}.topologyConstraint.packConstraint.preferred", pack.preferred


def _pack(constraint: GangTopologyConstraint | None) -> TopologyPackConstraint | None:
    return constraint.pack_constraint if constraint is not None else None


def _ask(
    name: str, place: str, pack: TopologyPackConstraint | None, groups: frozenset[str]
) -> Ask | None:
    if pack is None or not pack.required:
        return None
    path = f"{place}.topologyConstraint.packConstraint.required"
    return Ask(name, path, pack.required, groups)
