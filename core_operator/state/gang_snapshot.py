"""All that is known about a gang at one moment, and what follows from it for the gang itself.

It is put together from the caches by the gang's reconciler, which asks it what to write. It
changes nothing and looks nothing up, so that one look decides about all steps of a reconcile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core_operator.plan.backends import Choice
from core_operator.plan.expansion import GangInstance
from core_operator.plan.gang_pods import BaseState, GroupPods, has_begun
from core_operator.plan.gangs import gang_manifest
from core_operator.plan.placement import Placement, placement_in
from core_operator.plan.preparation import must_have
from core_operator.plan.release import Release, Waiting, plan_release
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodCliqueSet, PodGang, SchedulerBackendSpec


@dataclass(frozen=True, slots=True)
class Situation:
    """All that is known about a gang at one moment."""

    gang: PodGang
    pcs: PodCliqueSet
    cliques: Mapping[str, PodClique]
    groups: Sequence[GroupPods]
    choice: Choice
    record: SchedulerBackendSpec | None
    release: Release | None
    placement: Placement
    """Where its pods are to be; of a gang that a scheduler has seen, what it says already."""
    base: BaseState | None = None
    """The gang that it waits for, if it is a scaled one."""

    @property
    def is_misplaced(self) -> bool:
        """Tell whether its backend was told something that is no longer right.

        Changing the gang in place would leave the backend's word about the former one on it,
        by which it could be released before the backend has looked again.
        """
        if self._labelled is None or has_begun(self.groups):
            # Of one whose pods are released only the label can be wrong, and is written again.
            return False
        return not self._is_labelled_right or self.placement != placement_in(self.gang)

    @property
    def _labelled(self) -> str | None:
        return self.gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)

    @property
    def _is_labelled_right(self) -> bool:
        return self._labelled == self.choice.backend

    @property
    def may_release(self) -> bool:
        """Tell whether its backend is one to give it to, or has it already."""
        return self.choice.ok or has_begun(self.groups)

    def must_have(self, pod: Pod) -> JsonObject:
        """The fields without which a pod of the gang must not be released."""
        owner = pod.metadata.controller
        clique = self.cliques.get(owner.name) if owner is not None else None
        if clique is None or self.record is None:
            return {}
        return must_have(pod, self.gang, self.record, clique.metadata.name, clique.spec.minimum)

    @property
    def is_filling(self) -> bool:
        """Tell whether its first pods are being created and nothing else is to be said."""
        return (
            self.choice.ok
            and self.release is not None
            and self.release.reason is Waiting.FOR_PODS
            and not self.release.initialized
        )

    def as_written(self, instance: GangInstance) -> "Situation | None":
        """The same once the server has taken the manifest, if only references were news in it.

        Then all that follows is known, and is as good as if the cache showed it.
        """
        grouped = [group.name for group in self.groups]
        if (
            self.record is None
            or not self._is_labelled_right
            or grouped != [clique.name for clique in instance.cliques]
        ):
            return None
        groups = tuple(self._as_written(group) for group in self.groups)
        release = plan_release(self.gang, groups, self.record, self.base)
        return replace(self, groups=groups, release=release)

    def _as_written(self, group: GroupPods) -> GroupPods:
        clique = self.cliques.get(group.name)
        minimum = group.minimum if clique is None else clique.spec.minimum
        names_ = frozenset(pod.metadata.name for pod in group.live)
        return replace(group, minimum=minimum, referenced=names_)

    def manifest(self, instance: GangInstance) -> JsonObject:
        """The gang with the pods that exist."""
        references = {
            group.name: [pod.metadata.name for pod in group.live] for group in self.groups
        }
        minimums = {name: clique.spec.minimum for name, clique in self.cliques.items()}
        labels = self.choice.labels
        return gang_manifest(self.pcs, instance, references, labels, minimums, self.placement)
