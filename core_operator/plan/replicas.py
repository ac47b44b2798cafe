"""A replica of a set as updates and the minimum look at it: which pods are there, and how good.

Everything is counted from pods, never from a status, which is written later than it is true.
A pod is outdated if its template is not the one that its clique should have now. What the
scheduler has said it has no room for is kept apart from what is starting or broken, which
nobody can tell from each other: the former may stay so for hours and is nobody's fault.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core_operator.plan.expansion import CliqueInstance
from core_operator.plan.pods import is_bound, is_live, owned_pods
from core_operator.plan.preparation import index_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique


@dataclass(frozen=True, slots=True)
class CliqueFacts:
    """A PodClique with its live pods, by index."""

    name: str
    wanted: str
    """Hash of the template that its pods should have."""
    said: str | None
    """Hash that the PodClique carries; None if there is no PodClique."""
    replicas: int
    minimum: int
    pods: tuple[Pod, ...]

    @property
    def outdated(self) -> tuple[Pod, ...]:
        """Pods of another template."""
        return tuple(pod for pod in self.pods if hash_of(pod) != self.wanted)

    @property
    def ready(self) -> int:
        """Pods that serve."""
        return sum(pod.is_ready for pod in self.pods)

    @property
    def is_current(self) -> bool:
        """Tell whether nothing of it is of another template."""
        return self.said == self.wanted and not self.outdated

    @property
    def is_available(self) -> bool:
        """Tell whether its minimum serves."""
        return self.said is not None and self.ready >= self.minimum

    @property
    def is_scheduled(self) -> bool:
        """Tell whether its minimum has nodes."""
        return self.said is not None and sum(map(is_bound, self.pods)) >= self.minimum

    @property
    def is_settled(self) -> bool:
        """Tell whether it serves, and all that does not merely waits for room."""
        whole = len(self.pods) >= self.replicas
        return (
            whole
            and self.is_available
            and all(pod.is_ready or waits_for_room(pod) for pod in self.pods)
        )


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """One copy of a scaling group."""

    index: int
    cliques: tuple[CliqueFacts, ...]

    @property
    def is_current(self) -> bool:
        """Tell whether nothing of it is of another template."""
        return all(clique.is_current for clique in self.cliques)

    @property
    def is_available(self) -> bool:
        """Tell whether all its cliques serve."""
        return all(clique.is_available for clique in self.cliques)

    @property
    def is_waiting_for_room(self) -> bool:
        """Tell whether it has no place, and nothing else is known to be wrong with it."""
        pods = [pod for clique in self.cliques for pod in clique.pods]
        whole = all(len(clique.pods) >= clique.replicas for clique in self.cliques)
        return whole and any(map(waits_for_room, pods))


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A scaling group of one replica."""

    name: str
    minimum: int
    copies: tuple[CopyFacts, ...]

    @property
    def available(self) -> int:
        """Copies that serve."""
        return sum(copy.is_available for copy in self.copies)

    @property
    def is_settled(self) -> bool:
        """Tell whether it serves, and all that does not merely waits for room."""
        fine = all(copy.is_available or copy.is_waiting_for_room for copy in self.copies)
        return fine and self.available >= self.minimum


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """One replica of a set."""

    index: int
    standalone: tuple[CliqueFacts, ...]
    groups: tuple[GroupFacts, ...]

    @property
    def cliques(self) -> tuple[CliqueFacts, ...]:
        """All PodCliques, those of scaling groups last."""
        grouped = (
            clique for group in self.groups for copy in group.copies for clique in copy.cliques
        )
        return (*self.standalone, *grouped)

    @property
    def is_current(self) -> bool:
        """Tell whether nothing of it is of another template."""
        return all(clique.is_current for clique in self.cliques)

    @property
    def is_scheduled(self) -> bool:
        """Tell whether its minimum has nodes."""
        return self._holds(lambda clique: clique.is_scheduled)

    @property
    def is_available(self) -> bool:
        """Tell whether its minimum serves."""
        return self._holds(lambda clique: clique.is_available)

    @property
    def is_settled(self) -> bool:
        """Tell whether it serves, and all that does not merely waits for room."""
        return all(clique.is_settled for clique in self.standalone) and all(
            group.is_settled for group in self.groups
        )

    def _holds(self, passes: Callable[[CliqueFacts], bool]) -> bool:
        return all(map(passes, self.standalone)) and all(
            sum(all(map(passes, copy.cliques)) for copy in group.copies) >= group.minimum
            for group in self.groups
        )


def hash_of(pod: Pod) -> str | None:
    """The hash of the template that a pod was made from."""
    return pod.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)


def waits_for_room(pod: Pod) -> bool:
    """Tell whether a scheduler has found no place for a pod."""
    said = pod.condition("PodScheduled")
    return not is_bound(pod) and said is not None and said.reason == "Unschedulable"


def clique_facts(
    instance: CliqueInstance, podclique: PodClique | None, pods: Sequence[Pod]
) -> CliqueFacts:
    """One PodClique with its pods."""
    if podclique is None:
        return CliqueFacts(instance.name, instance.template_hash, None, 0, 0, ())
    live = sorted((pod for pod in owned_pods(podclique, pods) if is_live(pod)), key=_place)
    return CliqueFacts(
        name=instance.name,
        wanted=instance.template_hash,
        said=podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, ""),
        replicas=podclique.spec.replicas,
        minimum=podclique.spec.minimum,
        pods=tuple(live),
    )


def group_facts(
    instances: Iterable[CliqueInstance], look: Callable[[CliqueInstance], CliqueFacts]
) -> tuple[GroupFacts, ...]:
    """The scaling groups that these PodCliques belong to, copy by copy."""
    found: dict[str, dict[int, list[CliqueFacts]]] = defaultdict(lambda: defaultdict(list))
    minimums: dict[str, int] = {}
    for instance in instances:
        if instance.group is not None and instance.group_index is not None:
            minimums[instance.group.name] = instance.group.config.min_available
            found[instance.group.name][instance.group_index].append(look(instance))
    return tuple(
        GroupFacts(
            name,
            minimums[name],
            tuple(CopyFacts(index, tuple(of)) for index, of in sorted(copies.items())),
        )
        for name, copies in found.items()
    )


def replica_facts(
    instances: Iterable[CliqueInstance], look: Callable[[CliqueInstance], CliqueFacts]
) -> tuple[ReplicaFacts, ...]:
    """The replicas that these PodCliques make up, in their order."""
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


def _place(pod: Pod) -> tuple[int, str]:
    index = index_of(pod)
    return (-1 if index is None else index, pod.metadata.uid)
