"""The placement of one gang: the node label keys by which its pods are kept together.

The constraints of a set are translated for each gang at three levels: the gang, the groups of one
replica of a scaling group, and one group. A gang that a scheduler has seen keeps its placement
whatever happens to the binding, so a placement is also read back from the gang. Both forms are
equal exactly if they mean the same. A gang with an unresolved required constraint gets no backend.
A preference that the backend ignores is reported in the message of the choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from core_operator.plan.layout.expansion import CliqueInstance, GangInstance
from core_operator.plan.placement.backends import Choice, RegisteredBackend
from core_operator.plan.placement.topology import Topology, preferred_capabilities
from shared_api import names
from shared_api.models import (
    GangTopologyConstraint,
    PodCliqueSet,
    PodGang,
    TopologyConstraint,
)


@dataclass(frozen=True, slots=True)
class PackLabels:
    """Node label keys: pods are kept on nodes with one value of each."""

    required: str | None = None
    preferred: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSet:
    """Groups of one replica of a scaling group that are kept together."""

    name: str
    groups: tuple[str, ...]
    pack: PackLabels


@dataclass(frozen=True, slots=True)
class GangPlacement:
    """All constraints of one gang."""

    topology: str = ""
    """Name of the ClusterTopologyBinding; empty without constraints."""
    gang: PackLabels | None = None
    group_sets: tuple[GroupSet, ...] = ()
    groups: Mapping[str, PackLabels] = field(default_factory=dict)


UNPLACED = GangPlacement()


def wanted_placement(pcs: PodCliqueSet, gang: GangInstance, topology: Topology) -> GangPlacement:
    """Return the placement that a gang should have; none while a required level has no label."""
    if topology.blocks_gangs or not topology.keys:
        return UNPLACED
    keys = topology.keys
    whole = _pack(pcs.spec.template.topology_constraint, keys)
    group_sets: tuple[GroupSet, ...] = ()
    if gang.base is None:
        group_sets = tuple(_group_sets(gang.cliques, keys))
    else:
        whole = _scaled_pack(whole, gang, keys)
    found = (
        (clique.name, _pack(clique.template.topology_constraint, keys)) for clique in gang.cliques
    )
    groups = {name: pack for name, pack in found if pack is not None}
    if whole is None and not group_sets and not groups:
        return UNPLACED
    return GangPlacement(topology.name, whole, group_sets, groups)


def current_placement(gang: PodGang) -> GangPlacement:
    """Return the placement that a gang has now."""
    read = (
        (config.name, config.pod_group_names, _read(config.topology_constraint))
        for config in gang.spec.topology_constraint_group_configs
    )
    packs = ((group.name, _read(group.topology_constraint)) for group in gang.spec.podgroups)
    return GangPlacement(
        topology=gang.metadata.annotations.get(names.ANNOTATION_TOPOLOGY_NAME, ""),
        gang=_read(gang.spec.topology_constraint),
        group_sets=tuple(GroupSet(name, of, pack) for name, of, pack in read if pack is not None),
        groups={name: pack for name, pack in packs if pack is not None},
    )


def kept_placement(gang: PodGang, wanted: GangPlacement) -> GangPlacement:
    """Return the placement of a gang that a scheduler has seen: its present one, for its groups.

    Groups that it did not have, because they were scaled to zero, get the wanted placement.
    """
    present = current_placement(gang)
    known = {group.name for group in gang.spec.podgroups}
    returned = {name: pack for name, pack in wanted.groups.items() if name not in known}
    back = tuple(one for one in wanted.group_sets if not known.intersection(one.groups))
    if not returned and not back:
        return present
    kept = (one for one in present.group_sets if one.name not in {new.name for new in back})
    return GangPlacement(
        topology=present.topology or wanted.topology,
        gang=present.gang,
        group_sets=(*kept, *back),
        groups={**present.groups, **returned},
    )


def with_topology(
    choice: Choice, pcs: PodCliqueSet, topology: Topology, backends: Mapping[str, RegisteredBackend]
) -> Choice:
    """Return the choice for a gang that is not released: no backend while its topology blocks it.

    A backend programs what it gets. Without its required constraints a gang must not be programmed.
    """
    if topology.blocks_gangs:
        messages = [topology.message, *([] if choice.ok else [choice.message])]
        return Choice(
            None,
            choice.scheduler_name,
            ok=False,
            reason=topology.reason,
            message="; ".join(messages),
        )
    return with_ignored_preferences(choice, pcs, backends) if topology.is_constrained else choice


def with_ignored_preferences(
    choice: Choice, pcs: PodCliqueSet, backends: Mapping[str, RegisteredBackend]
) -> Choice:
    """Return the choice with the preferences that its backend ignores in the message."""
    backend = backends.get(choice.backend or "")
    ignored = ignored_preferences(pcs, backend) if choice.ok and backend is not None else ""
    return replace(choice, message=f"{choice.message}; {ignored}") if ignored else choice


def ignored_preferences(pcs: PodCliqueSet, backend: RegisteredBackend) -> str:
    """Return a message with the preferences of the set that a backend ignores; empty if none."""
    ignored = sorted(preferred_capabilities(pcs).difference(backend.record.capabilities))
    if not ignored:
        return ""
    return f"backend '{backend.name}' ignores preferences: {', '.join(ignored)}"


def _scaled_pack(
    whole: PackLabels | None, gang: GangInstance, keys: Mapping[str, str]
) -> PackLabels | None:
    """Return the constraint of a scaled gang: that of its scaling group, else that of the set.

    A scaled gang is one replica of the group, so the group's constraint covers all of it. A
    preference of the set that is not narrower than what the group requires means nothing.
    """
    group = gang.cliques[0].group if gang.cliques else None
    own = _pack(group.config.topology_constraint, keys) if group is not None else None
    if own is None or whole is None:
        return own or whole
    required = own.required or whole.required
    preferred = own.preferred or whole.preferred
    order = list(keys.values())
    if own.preferred is None and required is not None and preferred is not None:
        preferred = preferred if order.index(preferred) > order.index(required) else None
    return PackLabels(required, preferred)


def _group_sets(cliques: Iterable[CliqueInstance], keys: Mapping[str, str]) -> Iterable[GroupSet]:
    members: dict[tuple[str, int], list[str]] = {}
    packs: dict[tuple[str, int], PackLabels] = {}
    for clique in cliques:
        pack = _pack(clique.group.config.topology_constraint, keys) if clique.group else None
        if clique.group is not None and clique.group_index is not None and pack is not None:
            replica = (clique.group.name, clique.group_index)
            members.setdefault(replica, []).append(clique.name)
            packs[replica] = pack
    for (name, index), groups in members.items():
        yield GroupSet(f"{name}-{index}", tuple(groups), packs[name, index])


def _pack(constraint: TopologyConstraint | None, keys: Mapping[str, str]) -> PackLabels | None:
    if constraint is None:
        return None
    return _pack_labels(keys.get(constraint.required or ""), keys.get(constraint.preferred or ""))


def _read(constraint: GangTopologyConstraint | None) -> PackLabels | None:
    pack = constraint.pack_constraint if constraint is not None else None
    return None if pack is None else _pack_labels(pack.required, pack.preferred)


def _pack_labels(required: str | None, preferred: str | None) -> PackLabels | None:
    return PackLabels(required, preferred) if required or preferred else None
