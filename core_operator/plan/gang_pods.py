"""The pods of a gang, group by group, as release and status look at them.

A pod counts for the PodClique that controls it, by UID, so a stranger that carries our labels
is in no gang. It counts while it is live; one that is still gated for a backend which the gang
has left, or for a gang that had its name before, does not: it is about to be made anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core_operator.plan.pods import index_of, is_bound, is_live, is_prepared_for
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodGang, PodGroup


@dataclass(frozen=True, slots=True)
class GroupPods:
    """One group of a gang with its live pods."""

    name: str
    minimum: int
    wanted: int | None
    """Pods that should exist; None if the PodClique itself does not."""
    live: tuple[Pod, ...]
    referenced: frozenset[str]

    @property
    def bound(self) -> int:
        """Pods that have a node."""
        return sum(map(is_bound, self.live))

    @property
    def is_placed(self) -> bool:
        """Tell whether the scheduler has done what the gang needs of it."""
        return self.bound >= self.minimum

    def has_begun(self, gate: str) -> bool:
        """Tell whether there is a pod that this gate does not hold."""
        return any(not has_gate(pod, gate) for pod in self.live)

    def is_released(self, gate: str) -> bool:
        """Tell whether the gang got from this group what it needs, as far as the gate goes."""
        free = sum(self.has(pod) and not has_gate(pod, gate) for pod in self.live)
        return self.is_placed or free >= self.minimum

    def has(self, pod: Pod) -> bool:
        """Tell whether a pod of the group is a member, which the gang cannot do without."""
        index = index_of(pod)
        return index is not None and index < self.minimum


@dataclass(frozen=True, slots=True)
class BaseState:
    """The gang that a scaled gang waits for."""

    name: str
    bound: int
    minimum: int
    is_placed: bool


def has_gate(pod: Pod, gate: str) -> bool:
    """Tell whether this gate holds a pod."""
    return any(found.name == gate for found in pod.spec.scheduling_gates)


def gang_groups(
    gang: PodGang, pods: Sequence[Pod], cliques: Mapping[str, PodClique]
) -> tuple[GroupPods, ...]:
    """The groups of a gang, in its order; `cliques` are its PodCliques by name."""
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    uid = gang.metadata.uid or ""
    by_owner: dict[str, list[Pod]] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if owner is not None and is_live(pod) and is_prepared_for(pod, backend, uid):
            by_owner.setdefault(owner.uid, []).append(pod)
    return tuple(_group(group, cliques.get(group.name), by_owner) for group in gang.spec.podgroups)


def _group(
    group: PodGroup, clique: PodClique | None, by_owner: Mapping[str, list[Pod]]
) -> GroupPods:
    uid = clique.metadata.uid if clique is not None else None
    return GroupPods(
        name=group.name,
        minimum=group.min_replicas,
        wanted=clique.spec.replicas if clique is not None else None,
        live=tuple(by_owner.get(uid, ())) if uid else (),
        referenced=frozenset(reference.name for reference in group.pod_references),
    )


def base_state(name: str, groups: Sequence[GroupPods]) -> BaseState:
    """How far a base gang is; without groups it does not exist, and nothing is placed."""
    return BaseState(
        name=name,
        bound=sum(min(group.bound, group.minimum) for group in groups),
        minimum=sum(group.minimum for group in groups),
        is_placed=bool(groups) and all(group.is_placed for group in groups),
    )


def has_begun(groups: Sequence[GroupPods]) -> bool:
    """Tell whether a scheduler may have seen a pod of the gang; such a gang never moves."""
    return any(not pod.is_gated for group in groups for pod in group.live)
