"""A PodGang from its creation to its release: references, conditions, gates, and its deletion.

The order of the steps survives a crash at any point: references first, the condition Initialized
once the server has them, gates last. Every step is decided from the objects that exist, so an
interrupted release is finished, first of all by a new leader (`interrupted`). A gang that is not
released and has the wrong backend or placement is deleted and created again by its set. The status
and the objects that the former backend wrote are deleted with the gang, even if that backend is
down.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from core_operator.context import CoreContext
from core_operator.controllers.statuses import status_of
from core_operator.plan.bind_timeout import BindPlan
from core_operator.plan.jobs.runs import Ending
from core_operator.plan.layout.expansion import GangInstance, gang_named
from core_operator.plan.placement.gang_placement import kept_placement
from core_operator.plan.pods.gang_pods import has_ungated_pod, released_on
from core_operator.plan.release import (
    WaitingFor,
    annotations_to_drop,
    plan_release,
    ungate_patch,
)
from core_operator.plan.statuses.conditions import find
from core_operator.plan.statuses.podgang import ended_gang_status, podgang_status
from core_operator.plan.walk.steps import Step
from core_operator.state import caches as kinds
from core_operator.state.gang_places import GangNow, GangPlaces
from core_operator.state.gang_snapshot import GangSnapshot
from core_operator.state.recreation_backoff import Recreations
from core_operator.writes.child_writer import RefusalReport, reporting_refusals
from core_operator.writes.gang_mover import EVENT_MOVED, GangMover, first_clique
from core_operator.writes.pod_writer import MinAvailableExemption, PodWriter
from shared_api import names
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import JsonObject, PodCliqueSet, PodGang
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target, Written
from shared_api.runtime.reconciling.outcome import Result, WaitForEvent
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import identity

EVENT_TOPOLOGY_CHANGED = "TopologyChanged"

# A timer may fire a little before the moment that it was set for.
_SOON = 0.01


class PodGangReconciler:
    """Reconciles gangs that exist."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._gangs = Target(kinds.GANGS, context.view.caches.gangs)
        self._pods = Target(PODS, context.view.caches.pods)
        self._pod_writer = PodWriter(context, applier)
        self._filling = context.progress_debouncer()
        self._recreations = Recreations(context.clock)
        self._places = GangPlaces(context.view)
        self._mover = GangMover(context, applier)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Take all steps that one gang can take now."""
        found = self._view.caches.gangs.get(key)
        pcs = self._view.set_of(found)
        if found is None or pcs is None or self._view.gang(key.name, pcs) is None:
            self._filling.done(key)
            self._recreations.forget(key)
            return None
        expansion = self._view.expansion(pcs)
        instance = gang_named(expansion, key.name)
        if instance is None and expansion.too_large:
            raise WaitForEvent(expansion.too_large)
        if instance is None:
            # It is about to be deleted with its replica.
            return None
        instance = self._view.wanted_gang(pcs, instance)
        if not instance.cliques:
            # All of it is scaled to zero. Its set creates it again, whole, when it is scaled up.
            await self._applier.delete(self._gangs, found, Behalf(key, identity(kinds.SETS, pcs)))
            return None
        if (ending := self._view.ending_of(instance, pcs)) is not None:
            await self._end(found.object, pcs, ending)
            return None
        snapshot = self._snapshot(found.object, pcs, instance)
        with reporting_refusals(self._context, RefusalReport(found.object, pcs)):
            return await self._take_steps(found, snapshot, instance)

    def interrupted(self) -> Iterator[ObjectKey]:
        """Yield the gangs of which only some pods are ungated."""
        for found in self._view.caches.gangs:
            pcs = self._view.set_of(found)
            if pcs is None:
                continue
            cliques = self._view.cliques_of(found.object, pcs)
            groups = self._view.group_pods(found.object, cliques)
            if len({pod.has_our_gate for group in groups for pod in group.live}) > 1:
                yield key_of(found)

    async def _end(self, gang: PodGang, pcs: PodCliqueSet, ending: Ending) -> None:
        """Report that the jobs of a gang have ended, once none of its pods runs any more."""
        cliques = self._view.cliques_of(gang, pcs).values()
        if any(pod.is_live for clique in cliques for pod in self._view.pods_of(clique)):
            # Its PodCliques delete them. The scheduler must not lose the gang before.
            return
        status = ended_gang_status(gang, ending, self._context.now())
        behalf = Behalf(key_of(gang), identity(kinds.SETS, pcs))
        await self._applier.apply_status(self._gangs, status_of(gang, status), behalf)
        self._context.report_problem(gang, None)

    async def _take_steps(
        self, found: Applied[PodGang], snapshot: GangSnapshot, instance: GangInstance
    ) -> Result | None:
        key = key_of(found)
        behalf = Behalf(key, identity(kinds.SETS, snapshot.pcs))
        if snapshot.step is not None and self._must_leave(snapshot, snapshot.step):
            await self._mover.leave(found, snapshot.pcs, snapshot.cliques, snapshot.step, behalf)
            return None
        if snapshot.is_misplaced:
            await self._delete(found, snapshot, behalf)
            return None
        if (wait := self._filling_delay(key, snapshot)) > 0:
            return Result(requeue_after=wait)
        manifest = snapshot.manifest(instance)
        if await self._applier.apply(self._gangs, manifest, behalf) is not Written.UNCHANGED:
            settled = snapshot.as_written(instance)
            if settled is None:
                # The next steps need the gang as the cache will show it.
                return None
            snapshot = self._with_step(settled, instance)
        binding = snapshot.binding(self._context.now())
        if binding is not None:
            snapshot = replace(snapshot, release=binding.release)
        # The status ends a recreation. It is written last: a crash in between only repeats it.
        await self._recreate(snapshot, behalf)
        await self._write_status(snapshot, binding, behalf)
        await self._mover.settle(snapshot.gang, snapshot.cliques, behalf)
        if binding is not None:
            # After the status: a crash in between must not forget that the attempt has failed.
            await self._give_back(snapshot, binding, behalf)
        pause = self._recreation_wait(key, snapshot)
        await self._release(snapshot, behalf, is_paused=pause > 0)
        if all(group.is_scheduled for group in snapshot.groups):
            self._context.gang_scheduled.send(key)
        # A problem ends only here, after every step was tried.
        self._context.report_problem(found.object, None)
        return self._requeue(pause, binding, snapshot.step)

    def _snapshot(self, gang: PodGang, pcs: PodCliqueSet, instance: GangInstance) -> GangSnapshot:
        cliques = self._view.cliques_of(gang, pcs)
        groups = self._view.group_pods(gang, cliques)
        labelled = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        current = released_on(pod for group in groups for pod in group.live) or labelled
        record = self._view.record(current)
        release, base = None, None
        if record is not None:
            base = self._view.base_of(gang, pcs)
            release = plan_release(gang, groups, record, base)
        begun = has_ungated_pod(groups)
        wanted = self._view.placement(pcs, instance)
        placement = kept_placement(gang, wanted) if begun else wanted
        choice = self._view.choice(pcs, current, released=begun)
        return self._with_step(
            GangSnapshot(gang, pcs, cliques, groups, choice, record, release, placement, base),
            instance,
        )

    def _with_step(self, snapshot: GangSnapshot, instance: GangInstance) -> GangSnapshot:
        """Return the snapshot with the choice and the step of the set's placement policy, if any."""
        placing = self._places.placing(snapshot.pcs, instance)
        if placing is None:
            return snapshot
        gang, groups = snapshot.gang, snapshot.groups
        labelled = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        backend = released_on(pod for group in groups for pod in group.live) or labelled
        present = GangNow(
            gang,
            first_clique(gang, snapshot.cliques),
            groups,
            snapshot.release,
            backend,
            has_ungated_pod(groups),
        )
        now = self._context.now()
        choice, step = self._places.next_step(snapshot.pcs, placing, present, now)
        return replace(snapshot, choice=choice, step=step)

    def _must_leave(self, snapshot: GangSnapshot, step: Step) -> bool:
        """Tell whether a gang goes to another instance, or has begun to."""
        if any(pod.is_bound for group in snapshot.groups for pod in group.live):
            return False
        return (
            step.leaves_for is not None
            or snapshot.is_misplaced
            or self._mover.is_leaving(snapshot.gang, snapshot.cliques)
        )

    def _filling_delay(self, key: ObjectKey, snapshot: GangSnapshot) -> float:
        """Return the seconds to wait for pods that are being created: one write lists them all."""
        if snapshot.is_filling:
            return self._filling.remaining(key)
        self._filling.done(key)
        return 0.0

    async def _delete(
        self, found: Applied[PodGang], snapshot: GangSnapshot, behalf: Behalf
    ) -> None:
        await self._applier.delete(self._gangs, found, behalf)
        name, choice = found.metadata.name, snapshot.choice
        current = found.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        if choice.backend == current:
            note = f"PodGang {name} is recreated for the changed topology"
            self._context.record_event(snapshot.pcs, EVENT_TOPOLOGY_CHANGED, note)
            return
        self._context.metrics.moved.inc()
        note = f"PodGang {name} leaves backend '{current}': {choice.message}"
        self._context.record_event(snapshot.pcs, EVENT_MOVED, note)

    async def _write_status(
        self, snapshot: GangSnapshot, binding: BindPlan | None, behalf: Behalf
    ) -> None:
        gang, choice = snapshot.gang, snapshot.choice
        placement = snapshot.step.status if snapshot.step is not None else None
        now = self._context.now()
        status = podgang_status(
            gang, choice, snapshot.record, snapshot.release, now, binding, placement=placement
        )
        before = find(
            gang.status.conditions if gang.status else (), names.CONDITION_BACKEND_SELECTED
        )
        await self._applier.apply_status(self._gangs, status_of(gang, status), behalf)
        if before is None or before.reason != choice.reason:
            # About the set: one Event covers all its gangs.
            self._context.record_event(
                snapshot.pcs, choice.reason, choice.message, warning=not choice.ok
            )

    async def _recreate(self, snapshot: GangSnapshot, behalf: Behalf) -> None:
        if snapshot.release is not None:
            exemption = MinAvailableExemption.GANG_RECREATED
            await self._pod_writer.delete_exempt(snapshot.release.recreate, exemption, behalf)

    async def _give_back(self, snapshot: GangSnapshot, binding: BindPlan, behalf: Behalf) -> None:
        if binding.failure:
            self._context.record_event(
                snapshot.pcs, WaitingFor.BIND_TIMEOUT, binding.failure, warning=True
            )
        await self._pod_writer.give_back(binding.give_back, behalf)

    def _requeue(self, pause: float, binding: BindPlan | None, step: Step | None) -> Result | None:
        """Return when to look again: after a recreation, or when a timeout or its wait ends."""
        delays, now = [pause] if pause > 0 else [], self._context.now()
        dues = [plan.due for plan in (binding, step) if plan is not None]
        delays += [max((due - now).total_seconds(), _SOON) for due in dues if due is not None]
        return Result(requeue_after=min(delays)) if delays else None

    def _recreation_wait(self, key: ObjectKey, snapshot: GangSnapshot) -> float:
        """Return the seconds for which a gang that was recreated repeatedly stays gated."""
        if snapshot.release is not None and snapshot.release.starts_new_incarnation:
            self._recreations.note(key)
        elif all(group.is_scheduled for group in snapshot.groups):
            self._recreations.forget(key)
        return self._recreations.wait(key)

    async def _release(self, snapshot: GangSnapshot, behalf: Behalf, *, is_paused: bool) -> None:
        record, release = snapshot.record, snapshot.release
        if record is None or release is None:
            return
        parallel = self._context.settings.concurrency.writes

        gang = ObjectKey(snapshot.gang.metadata.namespace or "", snapshot.gang.metadata.name)

        async def ungate(pod: Pod) -> None:
            if self._context.turns.gives_back(gang):
                # Some of its pods are being deleted; the others must not start alone.
                raise WaitForEvent(
                    f"PodGang {gang} gives back its pods because the quota is exhausted"
                )
            steps = ungate_patch(pod, record.scheduling_gate, snapshot.required_fields(pod))
            patch = Patch(cast("list[JsonObject]", steps), PatchType.JSON)
            with self._context.expected_ungates.expect(pod):
                await self._applier.patch(self._pods, pod, patch, behalf)

        async def strip(entry: tuple[Pod, tuple[str, ...]]) -> None:
            pod, keys = entry
            metadata = {"uid": pod.metadata.uid, "annotations": dict.fromkeys(keys)}
            await self._applier.patch(self._pods, pod, Patch({"metadata": metadata}), behalf)

        if snapshot.may_release and not is_paused:
            # All at once: a scheduler must not see only some pods of a gang.
            await slow_start(release.ungate, ungate, limit=parallel, first=parallel)
            if release.ungate and not has_ungated_pod(snapshot.groups):
                self._context.metrics.released.inc()
        await slow_start(annotations_to_drop(snapshot.groups, record), strip, limit=parallel)
