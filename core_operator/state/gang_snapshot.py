"""All that is known about a gang at one moment, and what to write about it.

The reconciler of gangs takes a snapshot from the caches, which then decides all steps of one
reconcile. It looks nothing up and changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core_operator.plan.bind_timeout import BindPlan, plan_binding
from core_operator.plan.layout.expansion import GangInstance
from core_operator.plan.manifests.podgangs import gang_manifest
from core_operator.plan.placement.backends import Choice
from core_operator.plan.placement.gang_placement import GangPlacement, current_placement
from core_operator.plan.pods.gang_pods import BaseState, GroupPods, has_ungated_pod
from core_operator.plan.pods.preparation import required_fields
from core_operator.plan.release import Release, WaitingFor, plan_release
from core_operator.plan.walk.steps import Step
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodCliqueSet, PodGang, SchedulerBackendSpec


@dataclass(frozen=True, slots=True)
class GangSnapshot:
    """A gang with its PodCliques, pods, backend and placement."""

    gang: PodGang
    pcs: PodCliqueSet
    cliques: Mapping[str, PodClique]
    groups: Sequence[GroupPods]
    choice: Choice
    record: SchedulerBackendSpec | None
    release: Release | None
    placement: GangPlacement
    """The wanted placement; the present one once a scheduler has seen the gang."""
    base: BaseState | None = None
    """The base gang of a scaled gang."""
    step: Step | None = None
    """The next step by the placement policy of its set; None without a policy or a backend."""

    @property
    def is_misplaced(self) -> bool:
        """Tell whether the gang has the wrong backend or placement and must be recreated.

        A change in place would keep the backend's conditions about the former gang, and the gang
        could be released before the backend reconciles it again.
        """
        if self._labelled is None or has_ungated_pod(self.groups):
            # Once its pods are ungated, only the label can be wrong, and it is written again.
            return False
        return not self._is_labelled_right or self.placement != current_placement(self.gang)

    @property
    def _labelled(self) -> str | None:
        return self.gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)

    @property
    def _is_labelled_right(self) -> bool:
        return self._labelled == self.choice.backend

    @property
    def may_release(self) -> bool:
        """Tell whether its backend may be given pods, or has been given some already."""
        return self.choice.ok or has_ungated_pod(self.groups)

    def required_fields(self, pod: Pod) -> JsonObject:
        """Return the fields without which a pod of the gang must not be ungated."""
        owner = pod.metadata.controller
        clique = self.cliques.get(owner.name) if owner is not None else None
        if clique is None or self.record is None:
            return {}
        return required_fields(
            pod, self.gang, self.record, clique.metadata.name, clique.spec.minimum
        )

    @property
    def is_filling(self) -> bool:
        """Tell whether its first pods are being created and nothing else is to be reported."""
        return (
            self.choice.ok
            and self.release is not None
            and self.release.reason is WaitingFor.PODS
            and not self.release.initialized
        )

    def as_written(self, instance: GangInstance) -> "GangSnapshot | None":
        """Return the snapshot after the write of the manifest, if that only added references.

        Then the next steps need not wait until the cache shows the write.
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

    def binding(self, now: datetime) -> BindPlan | None:
        """Return what the bind timeout of the backend demands; None without a record."""
        if self.record is None or self.release is None:
            return None
        return plan_binding(
            self.gang, self.groups, self.record, self.release, now, may_release=self.may_release
        )

    def _as_written(self, group: GroupPods) -> GroupPods:
        clique = self.cliques.get(group.name)
        minimum = group.minimum if clique is None else group.required(clique.spec.minimum)
        names_ = frozenset(pod.metadata.name for pod in group.live)
        return replace(group, minimum=minimum, referenced=names_)

    def manifest(self, instance: GangInstance) -> JsonObject:
        """Return the manifest of the gang with references to the pods that exist."""
        references = {
            group.name: [pod.metadata.name for pod in group.live] for group in self.groups
        }
        minimums = {name: clique.spec.minimum for name, clique in self.cliques.items()}
        minimums |= {
            group.name: group.required(minimums[group.name])
            for group in self.groups
            if group.name in minimums
        }
        return gang_manifest(self.pcs, instance, self.choice, self.placement, references, minimums)
