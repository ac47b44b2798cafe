"""The only module of core that deletes pods.

A deletion from a PodClique that goes on running is checked against minAvailable first
(`plan/min_available.py`); one that would break it is counted and not sent. Every other deletion
names its `MinAvailableExemption`. Each deletion is noted as an expected event before it is sent, so
that the pod does not count as lost, and is counted by its reason.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core_operator.context import CoreContext
from core_operator.plan.layout.expansion import clique_named
from core_operator.plan.min_available import breaks_group_min_available, breaks_min_available
from core_operator.state.caches import GANGS, SETS
from core_operator.state.update_turns import Updates
from core_operator.state.view import View
from core_operator.writes.child_events import PodDeletions
from core_operator.writes.child_writer import AT_ONCE, Unwanted, unwanted
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import PodClique, PodCliqueSet, PodGang
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.owners import identity


class MinAvailableExemption(enum.StrEnum):
    """Why pods are deleted without a check of minAvailable."""

    GANG_TERMINATED = "GangTerminated"
    """The gang has been below its minimum for longer than its terminationDelay."""
    PODCLIQUE_DELETED = "PodCliqueDeleted"
    """The replica was scaled in or removed from the set; its PodClique is deleted first."""
    QUOTA_GIVEN_BACK = "QuotaGivenBack"
    """The gang did not start for want of quota; only pods that are still gated are deleted."""
    GANG_RECREATED = "GangRecreated"
    """The scheduler needs the whole gang again; the plan of the release names its pods."""
    BIND_TIMEOUT = "BindTimeout"
    """The minimum of the gang was not bound in time; only `give_back` uses it."""
    JOB_RESTARTED = "JobRestarted"
    """A pod of the gang failed, and the gang starts again; only pods of earlier attempts are deleted."""
    JOB_ENDED = "JobEnded"
    """The jobs of the gang are done or have failed for good; pods that ended stay."""
    GANG_MOVED = "GangMoved"
    """The gang goes to another backend instance; only `withdraw` uses it, on pods without a node."""
    FIELDS_DROPPED = "FieldsDropped"
    """The API server dropped fields of a pod that was just created; it has never been ungated."""


_UPDATE, _UNWANTED = "Update", "Unwanted"
_REASONS = (_UPDATE, _UNWANTED, *MinAvailableExemption)


class PodWriter:
    """Deletes pods for one controller."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self._target = Target(PODS, context.view.caches.pods)
        for reason in _REASONS:
            # A counter that first appears with 1 hides its first deletion from `increase`.
            context.metrics.deleted.labels(reason)

    async def delete_within_minimum(
        self,
        pcs: PodCliqueSet,
        clique: PodClique,
        pods: Sequence[Pod],
        behalf: Behalf,
        *,
        is_update: bool,
    ) -> None:
        """Delete pods of a PodClique that goes on running, or none if that breaks minAvailable."""
        if not pods:
            return
        if would_break_minimum(self._context.view, pcs, clique, pods, is_update=is_update):
            self._context.metrics.count_violation()
            return
        self._context.selections.note(clique, pods)
        metadata = clique.metadata
        gang = ObjectKey(metadata.namespace or "", metadata.labels.get(names.LABEL_PODGANG, ""))
        self._context.turns.reserve_for(gang, self._context.clock.monotonic())
        await self._delete(pods, _UPDATE if is_update else _UNWANTED, behalf)

    async def delete_exempt(
        self, pods: Iterable[Pod], exemption: MinAvailableExemption, behalf: Behalf
    ) -> None:
        """Delete pods that minAvailable does not protect, for the reason that is given."""
        await self._delete(
            pods,
            exemption,
            behalf,
            only_gated=exemption is MinAvailableExemption.QUOTA_GIVEN_BACK,
        )

    async def delete_with_podclique(self, pods: Iterable[Pod], behalf: Behalf) -> None:
        """Delete the pods of a PodClique that is deleted itself; that has an Event of its own."""
        reason = MinAvailableExemption.PODCLIQUE_DELETED
        await self._delete(pods, reason, behalf, is_recorded=False)

    async def give_back(self, pods: Sequence[Pod], behalf: Behalf) -> None:
        """Delete the ungated pods of a gang whose minimum was not bound in time.

        Pods without a node are deleted first, and only as they were observed. If one was bound
        meanwhile, which may have completed the minimum, this raises and no bound pod is deleted.
        """
        reason = MinAvailableExemption.BIND_TIMEOUT
        unbound = [pod for pod in pods if not pod.is_bound]
        await self._delete(unbound, reason, behalf, only_unchanged=True)
        await self._delete([pod for pod in pods if pod.is_bound], reason, behalf)

    async def withdraw(self, pods: Sequence[Pod], behalf: Behalf) -> None:
        """Delete the ungated pods of a gang that leaves its backend.

        A gate cannot be put back, so the next backend needs new pods. If one of them was bound
        meanwhile, this raises: a gang with a bound pod stays.
        """
        if any(pod.is_bound for pod in pods):
            raise WaitForEvent("a pod of a gang that leaves its backend was bound")
        await self._delete(pods, MinAvailableExemption.GANG_MOVED, behalf, only_unchanged=True)

    async def _delete(
        self,
        pods: Iterable[Pod],
        reason: str,
        behalf: Behalf,
        *,
        only_gated: bool = False,
        only_unchanged: bool = False,
        is_recorded: bool = True,
    ) -> None:
        deletions = PodDeletions(self._context, reason)

        async def delete(pod: Pod) -> None:
            # The cache may show a newer version than the one that was chosen.
            if only_gated and not (self._target.cache.get(pod.metadata.key) or pod).has_our_gate:
                return
            with self._context.losses.expected_deletions.expect(pod), deletions.deleting(pod):
                await self._applier.delete(self._target, pod, behalf, only_unchanged=only_unchanged)
            self._context.metrics.deleted.labels(reason).inc()

        parallel = self._context.settings.concurrency.writes
        try:
            await slow_start(pods, delete, limit=parallel, first=AT_ONCE)
        finally:
            if is_recorded:
                deletions.record()


@dataclass(slots=True)
class GangRemoval:
    """A PodGang that should not exist; it is deleted with the first of its PodCliques.

    It must not outlive its pods: tools would count a gang that has none.
    """

    gang: Unwanted[Applied[PodGang]]
    _is_sent: bool = False

    async def remove(self, applier: Applier, behalf: Behalf) -> None:
        """Delete it by UID, once."""
        if not self._is_sent:
            self._is_sent = True
            await self.gang.remove(applier, behalf)

    def __str__(self) -> str:
        return str(self.gang)


def unwanted_gangs(context: CoreContext, pcs: PodCliqueSet) -> dict[str, GangRemoval]:
    """Return the PodGangs that a set no longer has, by name."""
    target = Target(GANGS, context.view.caches.gangs)
    wanted = (gang.name for gang in context.view.expansion(pcs).gangs)
    found = unwanted(target, identity(SETS, pcs), wanted)
    return {one.observed.metadata.name: GangRemoval(one) for one in found}


@dataclass(frozen=True, slots=True)
class PodCliqueRemoval:
    """A PodClique that should not exist, and its pods.

    The garbage collector deletes the pods too, but sends three requests for each, and on a large
    cluster much later. Other gangs may wait for their capacity. Pods that are not deleted here,
    because the reconcile is cut off, are left to the garbage collector.
    """

    context: CoreContext
    clique: Unwanted[Applied[PodClique]]
    gangs: Mapping[str, "GangRemoval"]
    """The PodGangs that should not exist, by name."""

    async def remove(self, applier: Applier, behalf: Behalf) -> None:
        """Delete the PodClique, so that its pods are not replaced, then its PodGang and its pods."""
        pods = [p for p in self.context.view.pods_of(self.clique.observed.object) if p.is_live]
        await self.clique.remove(applier, behalf)
        labels = self.clique.observed.metadata.labels
        if (gang := self.gangs.get(labels.get(names.LABEL_PODGANG, ""))) is not None:
            await gang.remove(applier, behalf)
        writer = PodWriter(self.context, applier)
        await writer.delete_with_podclique(pods, behalf)

    def __str__(self) -> str:
        return str(self.clique)


def would_break_minimum(
    view: View, pcs: PodCliqueSet, clique: PodClique, pods: Sequence[Pod], *, is_update: bool
) -> bool:
    """Tell whether a PodClique, or its scaling group, would fall below minAvailable."""
    updates = Updates(view)
    instance = clique_named(view.expansion(pcs), clique.metadata.name)
    is_turn = instance is not None and updates.turn(pcs) == instance.pcs_index
    if is_turn and instance is not None and instance.group is not None:
        # An update replaces a replica of a scaling group as a whole, so replicas are counted.
        group = updates.group(pcs, instance.group.name) if is_update else None
        index = instance.group_index
        return group is not None and index is not None and breaks_group_min_available(group, index)
    live = [pod for pod in view.pods_of(clique) if pod.is_live]
    spec = clique.spec
    return breaks_min_available(live, pods, spec.minimum, spec.replicas, is_updating=is_turn)
