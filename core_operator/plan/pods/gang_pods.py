"""The pods of a gang, group by group, as release and status count them.

A pod counts for the PodClique that controls it, so a foreign pod with our labels is in no gang.
It counts while it is live; in a job also after it ended, until the next attempt. An unbound pod that
does not match its gang's preparation does not count, because it is about to be recreated.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core_operator.plan.jobs.runs import SERVICE, Run
from core_operator.plan.pods.preparation import preparation_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodGang, PodGroup, SchedulerBackendSpec


@dataclass(frozen=True, slots=True)
class GroupPods:
    """One group of a gang with its live pods."""

    name: str
    minimum: int
    wanted: int | None
    """Pods that should exist; None if the PodClique does not exist."""
    live: tuple[Pod, ...]
    """In a job with the pods that ended in the present attempt."""
    referenced: frozenset[str]
    gone: int = 0
    """Indexes of a job that are done and whose pods do not exist any more."""

    @property
    def bound(self) -> int:
        """Count the pods that are bound."""
        return sum(pod.is_bound for pod in self.live)

    @property
    def is_scheduled(self) -> bool:
        """Return whether the minimum is bound."""
        return self.bound >= self.minimum

    @property
    def ready(self) -> int:
        """Count the pods that are ready, or succeeded in a job."""
        return sum(pod.is_ready or pod.has_succeeded for pod in self.live)

    def required(self, minimum: int) -> int:
        """Return for how many pods of a PodClique's minimum the scheduler must find capacity now.

        Schedulers forget pods that ended. A pod that is replaced in a job that is partly done would
        wait for them, so it needs only the others.
        """
        done = self.gone + sum(pod.has_succeeded for pod in self.live)
        is_whole = self.wanted is None or self.bound >= self.wanted
        return minimum if is_whole or not done else max(1, minimum - done)

    def has_ungated(self, gate: str) -> bool:
        """Return whether a pod is without this gate."""
        return any(not has_gate(pod, gate) for pod in self.live)

    def is_released(self, gate: str) -> bool:
        """Return whether the minimum is bound, or as many members are without this gate."""
        ungated = sum(self.is_member(pod) and not has_gate(pod, gate) for pod in self.live)
        return self.is_scheduled or ungated >= self.minimum

    def is_member(self, pod: Pod) -> bool:
        """Return whether the gang requires this pod of the group."""
        return pod.is_member(self.minimum)


@dataclass(frozen=True, slots=True)
class BaseState:
    """The gang that a scaled gang waits for."""

    name: str
    bound: int
    minimum: int
    is_scheduled: bool


def has_gate(pod: Pod, gate: str) -> bool:
    """Return whether a pod has this scheduling gate."""
    return any(found.name == gate for found in pod.spec.scheduling_gates)


def gang_groups(
    gang: PodGang,
    pods: Sequence[Pod],
    cliques: Mapping[str, PodClique],
    record: SchedulerBackendSpec | None = None,
    runs: Mapping[str, Run] | None = None,
) -> tuple[GroupPods, ...]:
    """Return the groups of a gang, in its order; `cliques` are its PodCliques by name.

    `record` is that of its backend. Without it the wanted preparation is unknown. `runs` are the
    attempts of PodCliques by name, in a set with jobs.
    """
    by_owner: dict[str, list[Pod]] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if owner is not None:
            by_owner.setdefault(owner.uid, []).append(pod)

    def of(group: PodGroup) -> GroupPods:
        clique = cliques.get(group.name)
        run = (runs or {}).get(group.name, SERVICE)
        owned = by_owner.get(clique.metadata.uid or "", []) if clique is not None else []
        live = [pod for pod in owned if run.counts(pod)]
        gone = len(run.done.difference(pod.index for pod in live)) if run.done else 0
        if clique is not None and not all(pod.is_bound for pod in live):
            wanted = preparation_of(gang, record, group.name, clique.spec.minimum)
            live = [pod for pod in live if wanted.matches(pod)]
        return GroupPods(
            name=group.name,
            # An index that is done needs no pod any more.
            minimum=min(group.min_replicas, clique.spec.minimum - gone)
            if clique is not None and gone
            else group.min_replicas,
            wanted=clique.spec.replicas - gone if clique is not None else None,
            live=tuple(live),
            referenced=frozenset(reference.name for reference in group.pod_references),
            gone=gone,
        )

    return tuple(map(of, gang.spec.podgroups))


def base_state(name: str, groups: Sequence[GroupPods]) -> BaseState:
    """Return how far a base gang is; one without groups does not exist and is not scheduled."""
    return BaseState(
        name=name,
        bound=sum(min(group.bound, group.minimum) for group in groups),
        minimum=sum(group.minimum for group in groups),
        is_scheduled=bool(groups) and all(group.is_scheduled for group in groups),
    )


def has_ungated_pod(groups: Sequence[GroupPods]) -> bool:
    """Return whether the scheduler may have seen a pod; such a gang never changes its backend."""
    return any(not pod.has_our_gate for group in groups for pod in group.live)


def released_on(pods: Iterable[Pod]) -> str | None:
    """Return the backend on which pods of a gang were released; None if none was.

    The gang's own label may have been edited, or deleted together with the gang.
    """
    released = (pod for pod in pods if pod.is_live and not pod.has_our_gate)
    found = Counter(pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) for pod in released)
    # The majority: the label of a single pod may have been edited.
    return max(found, key=found.__getitem__, default=None) or None
