"""The pods of a gang, group by group, as release and status look at them.

A pod counts for the PodClique that controls it, so a foreign pod that carries our labels is in
no gang. It counts while it is live; one that has no node and does not suit the gang
(`preparation`) does not, because it is about to be recreated.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core_operator.plan.pods import is_bound, is_live
from core_operator.plan.preparation import index_of, is_held, preparation_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodGang, PodGroup, SchedulerBackendSpec


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
    gang: PodGang,
    pods: Sequence[Pod],
    cliques: Mapping[str, PodClique],
    record: SchedulerBackendSpec | None = None,
) -> tuple[GroupPods, ...]:
    """The groups of a gang, in its order; `cliques` are its PodCliques by name.

    `record` is its backend's; without one nobody can tell what pods should be made with.
    """
    by_owner: dict[str, list[Pod]] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if owner is not None and is_live(pod):
            by_owner.setdefault(owner.uid, []).append(pod)

    def of(group: PodGroup) -> GroupPods:
        clique = cliques.get(group.name)
        live = by_owner.get(clique.metadata.uid or "", []) if clique is not None else []
        if clique is not None and not all(map(is_bound, live)):
            wanted = preparation_of(gang, record, group.name, clique.spec.minimum)
            live = [pod for pod in live if wanted.suits(pod)]
        return GroupPods(
            name=group.name,
            minimum=group.min_replicas,
            wanted=clique.spec.replicas if clique is not None else None,
            live=tuple(live),
            referenced=frozenset(reference.name for reference in group.pod_references),
        )

    return tuple(map(of, gang.spec.podgroups))


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
    return any(not is_held(pod) for group in groups for pod in group.live)


def released_on(pods: Iterable[Pod]) -> str | None:
    """The backend on which pods of a gang were released; None if a scheduler has seen none.

    Of the gang's own label somebody may have made another, or deleted it with the gang.
    """
    released = (pod for pod in pods if is_live(pod) and not is_held(pod))
    found = Counter(pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) for pod in released)
    # One pod that somebody has bent decides nothing.
    return max(found, key=found.__getitem__, default=None) or None
