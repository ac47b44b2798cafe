"""The replicas of a set as updates and the minimum see them: which pods exist and are ready.

Everything is counted from pods, never from a status, which is written later than it is true. A pod
is outdated if its template hash is not the wanted one. Pods that the scheduler calls Unschedulable
are kept apart from starting or broken ones: they may stay so for hours without anything wrong.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core_operator.plan.layout.expansion import CliqueInstance
from core_operator.plan.pods.pod_plan import owned_pods
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique


@dataclass(frozen=True, slots=True)
class CliqueFacts:
    """A PodClique with its live pods, by index."""

    name: str
    wanted_hash: str
    """Hash of the template that its pods should have."""
    template_hash: str | None
    """Hash that the PodClique has; None if the PodClique does not exist."""
    replicas: int
    minimum: int
    pods: tuple[Pod, ...]

    @property
    def outdated(self) -> tuple[Pod, ...]:
        """Return the pods of another template."""
        return tuple(pod for pod in self.pods if template_hash_of(pod) != self.wanted_hash)

    @property
    def ready(self) -> int:
        """Count the ready pods."""
        return sum(pod.is_ready for pod in self.pods)

    @property
    def is_current(self) -> bool:
        """Return whether the PodClique and all its pods have the wanted template."""
        return self.template_hash == self.wanted_hash and not self.outdated

    @property
    def is_updated(self) -> bool:
        """Return whether the minimum has the wanted template."""
        updated = len(self.pods) - len(self.outdated)
        return self.template_hash is not None and updated >= self.minimum

    @property
    def is_available(self) -> bool:
        """Return whether the minimum is ready."""
        return self.template_hash is not None and self.ready >= self.minimum

    @property
    def is_scheduled(self) -> bool:
        """Return whether the minimum is bound."""
        bound = sum(pod.is_bound for pod in self.pods)
        return self.template_hash is not None and bound >= self.minimum

    @property
    def is_settled(self) -> bool:
        """Return whether it is available and every pod is ready or unschedulable."""
        return (
            len(self.pods) >= self.replicas
            and self.is_available
            and all(pod.is_ready or is_unschedulable(pod) for pod in self.pods)
        )


@dataclass(frozen=True, slots=True)
class GroupReplicaFacts:
    """One replica of a scaling group."""

    index: int
    cliques: tuple[CliqueFacts, ...]

    @property
    def is_current(self) -> bool:
        """Return whether all its PodCliques have the wanted template."""
        return all(clique.is_current for clique in self.cliques)

    @property
    def is_updated(self) -> bool:
        """Return whether the minimum of all its PodCliques has the wanted template."""
        return all(clique.is_updated for clique in self.cliques)

    @property
    def is_available(self) -> bool:
        """Return whether all its PodCliques are available."""
        return all(clique.is_available for clique in self.cliques)

    @property
    def is_unschedulable(self) -> bool:
        """Return whether all its pods exist and one of them is unschedulable."""
        whole = all(len(clique.pods) >= clique.replicas for clique in self.cliques)
        return whole and any(is_unschedulable(pod) for one in self.cliques for pod in one.pods)


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A scaling group of one replica of the set."""

    name: str
    minimum: int
    replicas: tuple[GroupReplicaFacts, ...]

    @property
    def available(self) -> int:
        """Count the available replicas."""
        return sum(replica.is_available for replica in self.replicas)

    @property
    def is_settled(self) -> bool:
        """Return whether the minimum is available and every other replica is unschedulable."""
        fine = all(one.is_available or one.is_unschedulable for one in self.replicas)
        return fine and self.available >= self.minimum


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """One replica of a set."""

    index: int
    standalone: tuple[CliqueFacts, ...]
    groups: tuple[GroupFacts, ...]

    @property
    def cliques(self) -> tuple[CliqueFacts, ...]:
        """Return all PodCliques, those of scaling groups last."""
        grouped = (
            clique for group in self.groups for one in group.replicas for clique in one.cliques
        )
        return (*self.standalone, *grouped)

    @property
    def is_current(self) -> bool:
        """Return whether all its PodCliques have the wanted template."""
        return all(clique.is_current for clique in self.cliques)

    @property
    def is_scheduled(self) -> bool:
        """Return whether its minimum is bound."""
        return self._has_minimum(lambda clique: clique.is_scheduled)

    @property
    def is_available(self) -> bool:
        """Return whether its minimum is ready."""
        return self._has_minimum(lambda clique: clique.is_available)

    @property
    def is_settled(self) -> bool:
        """Return whether all its PodCliques and scaling groups are settled."""
        parts: tuple[CliqueFacts | GroupFacts, ...] = (*self.standalone, *self.groups)
        return all(part.is_settled for part in parts)

    def _has_minimum(self, passes: Callable[[CliqueFacts], bool]) -> bool:
        return all(map(passes, self.standalone)) and all(
            sum(all(map(passes, one.cliques)) for one in group.replicas) >= group.minimum
            for group in self.groups
        )


def template_hash_of(pod: Pod) -> str | None:
    """Return the hash of the template that a pod was created from."""
    return pod.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)


def is_unschedulable(pod: Pod) -> bool:
    """Return whether the scheduler reports that a pod does not fit."""
    scheduled = pod.condition("PodScheduled")
    return not pod.is_bound and scheduled is not None and scheduled.reason == "Unschedulable"


def clique_facts(
    instance: CliqueInstance, podclique: PodClique | None, pods: Sequence[Pod]
) -> CliqueFacts:
    """Return one PodClique with its pods."""
    if podclique is None:
        return CliqueFacts(instance.name, instance.template_hash, None, 0, 0, ())
    live = [pod for pod in owned_pods(podclique, pods) if pod.is_live]
    return CliqueFacts(
        name=instance.name,
        wanted_hash=instance.template_hash,
        template_hash=podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, ""),
        replicas=podclique.spec.replicas,
        minimum=podclique.spec.minimum,
        pods=tuple(sorted(live, key=_order)),
    )


def group_facts(
    instances: Iterable[CliqueInstance], look: Callable[[CliqueInstance], CliqueFacts]
) -> tuple[GroupFacts, ...]:
    """Return the scaling groups of these PodCliques."""
    found: dict[str, dict[int, list[CliqueFacts]]] = defaultdict(lambda: defaultdict(list))
    minimums: dict[str, int] = {}
    for instance in instances:
        if instance.group is not None and instance.group_index is not None:
            minimums[instance.group.name] = instance.group.minimum
            found[instance.group.name][instance.group_index].append(look(instance))
    return tuple(
        GroupFacts(
            name,
            minimums[name],
            tuple(GroupReplicaFacts(index, tuple(of)) for index, of in sorted(replicas.items())),
        )
        for name, replicas in found.items()
    )


def replica_facts(
    instances: Iterable[CliqueInstance], look: Callable[[CliqueInstance], CliqueFacts]
) -> tuple[ReplicaFacts, ...]:
    """Return the replicas of the set that these PodCliques make up, by index."""
    by_index: dict[int, list[CliqueInstance]] = defaultdict(list)
    for instance in instances:
        by_index[instance.pcs_index].append(instance)
    return tuple(
        ReplicaFacts(
            index,
            tuple(look(instance) for instance in of if instance.group is None),
            group_facts(of, look),
        )
        for index, of in sorted(by_index.items())
    )


def _order(pod: Pod) -> tuple[int, str]:
    return (-1 if pod.index is None else pod.index, pod.metadata.uid)
