"""Where the pods of one gang are kept together, in node label keys.

The constraints of a set are translated for each of its gangs, at three levels: the gang, the
groups of one scaling group replica, one group. A gang that a scheduler has seen keeps what it
was released with, whatever becomes of the binding, so a placement can also be read back from
the gang itself; the two forms are equal exactly if they say the same. A gang that cannot say
all that is required is given to no backend, and a preference that its backend does not look at
is told beside the choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from core_operator.plan.backends import Backend, Choice
from core_operator.plan.expansion import CliqueInstance, GangInstance
from core_operator.plan.topology import Topology, preferred_capabilities
from shared_api import names
from shared_api.models import (
    GangTopologyConstraint,
    JsonObject,
    PodCliqueSet,
    PodGang,
    TopologyConstraint,
)


@dataclass(frozen=True, slots=True)
class Pack:
    """The labels of which pods are kept on nodes with one value."""

    required: str | None = None
    preferred: str | None = None

    def manifest(self) -> JsonObject:
        """The constraint as a PodGang has it."""
        keys = {"required": self.required, "preferred": self.preferred}
        return {"packConstraint": {name: key for name, key in keys.items() if key}}


@dataclass(frozen=True, slots=True)
class GroupSet:
    """Groups of one scaling group replica that are kept together."""

    name: str
    groups: tuple[str, ...]
    pack: Pack


@dataclass(frozen=True, slots=True)
class Placement:
    """All that a gang says about where its pods go."""

    topology: str = ""
    """Name of the binding; empty if nothing is said."""
    gang: Pack | None = None
    group_sets: tuple[GroupSet, ...] = ()
    groups: Mapping[str, Pack] = field(default_factory=dict)


ANYWHERE = Placement()


def placement_of(pcs: PodCliqueSet, gang: GangInstance, topology: Topology) -> Placement:
    """What a gang of the set is to say; nothing at all while something required has no label."""
    if topology.holds or not topology.keys:
        return ANYWHERE
    keys = topology.keys
    whole = _pack(pcs.spec.template.topology_constraint, keys)
    group_sets: tuple[GroupSet, ...] = ()
    if gang.base is None:
        group_sets = tuple(_group_sets(gang.cliques, keys))
    else:
        whole = _of_scaled(whole, gang, keys)
    found = (
        (clique.name, _pack(clique.template.topology_constraint, keys)) for clique in gang.cliques
    )
    groups = {name: pack for name, pack in found if pack is not None}
    if whole is None and not group_sets and not groups:
        return ANYWHERE
    return Placement(topology.name, whole, group_sets, groups)


def placement_in(gang: PodGang) -> Placement:
    """What a gang says now."""
    read = (
        (config.name, config.pod_group_names, _read(config.topology_constraint))
        for config in gang.spec.topology_constraint_group_configs
    )
    packs = ((group.name, _read(group.topology_constraint)) for group in gang.spec.podgroups)
    return Placement(
        topology=gang.metadata.annotations.get(names.ANNOTATION_TOPOLOGY_NAME, ""),
        gang=_read(gang.spec.topology_constraint),
        group_sets=tuple(GroupSet(name, of, pack) for name, of, pack in read if pack is not None),
        groups={name: pack for name, pack in packs if pack is not None},
    )


def with_topology(
    choice: Choice, pcs: PodCliqueSet, topology: Topology, backends: Mapping[str, Backend]
) -> Choice:
    """The choice for a gang that is not released, as far as its placement can be told.

    A backend programs what it is given. So a gang that cannot say where it must go is given
    to nobody, and no pod is made for it.
    """
    if topology.holds:
        told = [topology.message, *([] if choice.ok else [choice.message])]
        return Choice(
            None,
            choice.scheduler_name,
            ok=False,
            reason=topology.reason,
            message="; ".join(told),
        )
    return with_wishes(choice, pcs, backends) if topology.is_asked_for else choice


def with_wishes(choice: Choice, pcs: PodCliqueSet, backends: Mapping[str, Backend]) -> Choice:
    """The choice, saying also which preferences its backend will not look at."""
    backend = backends.get(choice.backend or "")
    remark = remark_on_wishes(pcs, backend) if choice.ok and backend is not None else ""
    return replace(choice, message=f"{choice.message}; {remark}") if remark else choice


def remark_on_wishes(pcs: PodCliqueSet, backend: Backend) -> str:
    """Which preferences of the set a backend does not look at; empty if there are none."""
    ignored = sorted(preferred_capabilities(pcs).difference(backend.record.capabilities))
    if not ignored:
        return ""
    return f"backend '{backend.name}' does not look at preferences: {', '.join(ignored)}"


def _of_scaled(whole: Pack | None, gang: GangInstance, keys: Mapping[str, str]) -> Pack | None:
    """A scaled gang is one replica of a group, so what the group asks for is about all of it.

    What the group does not say is said by the set, but for a preference that is no narrower
    than what the group requires, and so would mean nothing.
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
    return Pack(required, preferred)


def _group_sets(cliques: Iterable[CliqueInstance], keys: Mapping[str, str]) -> Iterable[GroupSet]:
    members: dict[tuple[str, int], list[str]] = {}
    packs: dict[tuple[str, int], Pack] = {}
    for clique in cliques:
        pack = _pack(clique.group.config.topology_constraint, keys) if clique.group else None
        if clique.group is not None and clique.group_index is not None and pack is not None:
            replica = (clique.group.name, clique.group_index)
            members.setdefault(replica, []).append(clique.name)
            packs[replica] = pack
    for (name, index), groups in members.items():
        yield GroupSet(f"{name}-{index}", tuple(groups), packs[name, index])


def _pack(constraint: TopologyConstraint | None, keys: Mapping[str, str]) -> Pack | None:
    if constraint is None:
        return None
    return _said(keys.get(constraint.required or ""), keys.get(constraint.preferred or ""))


def _read(constraint: GangTopologyConstraint | None) -> Pack | None:
    pack = constraint.pack_constraint if constraint is not None else None
    return None if pack is None else _said(pack.required, pack.preferred)


def _said(required: str | None, preferred: str | None) -> Pack | None:
    return Pack(required, preferred) if required or preferred else None
