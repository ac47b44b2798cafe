"""A gang from its creation to its release: references, conditions, gates, and moves.

It obeys an order that a crash at any point leaves intact: references first, the Initialized
condition once the server has them, gates last. What has been begun is finished, since every
step is decided from what is there, and before all else by whoever begins to work. A gang that is
not released and whose backend or placement is not the right one any more is deleted and made
anew: what the former backend wrote, in the status or as objects of its own, goes with it, also if
that backend is not there to clean up.
"""

from collections.abc import Callable, Iterator
from typing import cast

from core_operator.context import CoreContext
from core_operator.controllers.statuses import status_of
from core_operator.plan.expansion import GangInstance, gang_named
from core_operator.plan.gang_pods import has_begun, released_on
from core_operator.plan.placement import placement_in
from core_operator.plan.preparation import is_held
from core_operator.plan.release import annotations_to_drop, plan_release, ungate_patch
from core_operator.plan.statuses.podgang import podgang_status
from core_operator.state import caches as kinds
from core_operator.state.caches import BASE
from core_operator.state.expected_events import OwnDoing
from core_operator.state.gang_snapshot import Situation
from core_operator.state.recreation_backoff import Recreations
from core_operator.state.view import condition
from core_operator.watches.debounce import OnTheWay
from core_operator.writes.child_writer import Concern, telling
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

Wake = Callable[[ObjectKey], None]

EVENT_MOVED = "BackendMoved"
EVENT_PLACED_ANEW = "TopologyChanged"


class PodGangReconciler:
    """Gangs that exist."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._gangs = Target(kinds.GANGS, context.view.caches.gangs)
        self._pods = Target(PODS, context.view.caches.pods)
        self._filling = OnTheWay(context.clock, context.settings.timing.progress_delay_seconds)
        self._recreations = Recreations(context.clock)
        self.lifts = OwnDoing()
        self.wake: Wake = lambda _: None
        """Has a gang looked at that waits for this one."""

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Bring one gang as far as it can go now."""
        found = self._view.caches.gangs.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        if found is None or pcs is None or self._view.gang(key.namespace, key.name, pcs) is None:
            self._filling.arrived(key)
            self._recreations.forget(key)
            return None
        expansion = self._view.expansion(pcs)
        instance = gang_named(expansion, key.name)
        if instance is None and expansion.too_large:
            raise WaitForEvent(expansion.too_large)
        if instance is None:
            # About to be deleted with its replica.
            return None
        situation = self._look(found.object, pcs, instance)
        with telling(self._context, Concern(found.object, pcs)):
            return await self._bring_on(found, situation, instance)

    def interrupted(self) -> Iterator[ObjectKey]:
        """The gangs of which some pods are released and others are held."""
        for found in self._view.caches.gangs:
            pcs = self._view.set_of(found)
            if pcs is None:
                continue
            cliques = self._view.cliques_of(found.object, pcs)
            groups = self._view.group_pods(found.object, cliques)
            if len({is_held(pod) for group in groups for pod in group.live}) > 1:
                yield key_of(found)

    async def _bring_on(
        self, found: Applied[PodGang], situation: Situation, instance: GangInstance
    ) -> Result | None:
        key = key_of(found)
        behalf = Behalf(key, identity(kinds.SETS, situation.pcs))
        if situation.is_misplaced:
            await self._move(found, situation, behalf)
            return None
        if (wait := self._patience(key, situation)) > 0:
            return Result(requeue_after=wait)
        manifest = situation.manifest(instance)
        if await self._applier.apply(self._gangs, manifest, behalf) is not Written.UNCHANGED:
            settled = situation.as_written(instance)
            if settled is None:
                # What follows is decided from the gang as the cache will show it.
                return None
            situation = settled
        # Before it is told, which ends the recreation: a crash in between only repeats it.
        await self._recreate(situation, behalf)
        await self._tell(situation, behalf)
        pause = self._pause(key, situation)
        await self._release(situation, behalf, hold=pause > 0)
        self._wake_scaled(situation)
        # Only here, where everything was tried.
        self._context.note_problem(found.object, None)
        return Result(requeue_after=pause) if pause > 0 else None

    def _look(self, gang: PodGang, pcs: PodCliqueSet, instance: GangInstance) -> Situation:
        cliques = self._view.cliques_of(gang, pcs)
        groups = self._view.group_pods(gang, cliques)
        labelled = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        current = released_on(pod for group in groups for pod in group.live) or labelled
        record = self._view.record(current)
        release, base = None, None
        if record is not None:
            base = self._view.base_of(gang, pcs)
            release = plan_release(gang, groups, record, base)
        begun = has_begun(groups)
        choice = self._view.choice(pcs, current, released=begun)
        placement = placement_in(gang) if begun else self._view.placement(pcs, instance)
        return Situation(gang, pcs, cliques, groups, choice, record, release, placement, base)

    def _patience(self, key: ObjectKey, situation: Situation) -> float:
        """Seconds to wait for pods that are being created: one write tells of all of them."""
        if situation.is_filling:
            return self._filling.rest(key)
        self._filling.arrived(key)
        return 0.0

    async def _move(self, found: Applied[PodGang], situation: Situation, behalf: Behalf) -> None:
        await self._applier.delete(self._gangs, found, behalf)
        name, choice = found.metadata.name, situation.choice
        current = found.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        if choice.backend == current:
            note = f"gang {name} is made anew for the topology as it is now"
            self._context.tell(situation.pcs, EVENT_PLACED_ANEW, note)
            return
        self._context.metrics.moved.inc()
        note = f"gang {name} leaves backend '{current}': {choice.message}"
        self._context.tell(situation.pcs, EVENT_MOVED, note)

    async def _tell(self, situation: Situation, behalf: Behalf) -> None:
        gang, choice = situation.gang, situation.choice
        status = podgang_status(
            gang, choice, situation.record, situation.release, self._context.now()
        )
        before = condition(
            gang.status.conditions if gang.status else (), names.CONDITION_BACKEND_SELECTED
        )
        await self._applier.apply_status(self._gangs, status_of(gang, status), behalf)
        if before is None or before.reason != choice.reason:
            # About the set, where one Event speaks for all its gangs.
            self._context.tell(situation.pcs, choice.reason, choice.message, warning=not choice.ok)

    async def _recreate(self, situation: Situation, behalf: Behalf) -> None:
        async def delete(pod: Pod) -> None:
            await self._applier.delete(self._pods, pod, behalf)

        parallel = self._context.settings.concurrency.writes
        stranded = situation.release.recreate if situation.release is not None else ()
        await slow_start(stranded, delete, limit=parallel)

    def _pause(self, key: ObjectKey, situation: Situation) -> float:
        """Seconds for which a gang stays held that its scheduler gives up time and again."""
        if situation.release is not None and situation.release.afresh:
            self._recreations.note(key)
        elif all(group.is_placed for group in situation.groups):
            self._recreations.forget(key)
        return self._recreations.wait(key)

    async def _release(self, situation: Situation, behalf: Behalf, *, hold: bool) -> None:
        record, release = situation.record, situation.release
        if record is None or release is None:
            return
        parallel = self._context.settings.concurrency.writes

        gang = ObjectKey(situation.gang.metadata.namespace or "", situation.gang.metadata.name)

        async def ungate(pod: Pod) -> None:
            if self._context.turns.gives_back(gang):
                # Some of its pods are being deleted: the others alone are no gang.
                raise WaitForEvent(f"gang {gang} gives back its pods for want of quota")
            steps = ungate_patch(pod, record.scheduling_gate, situation.must_have(pod))
            patch = Patch(cast("list[JsonObject]", steps), PatchType.JSON)
            with self.lifts.to(pod):
                await self._applier.patch(self._pods, pod, patch, behalf)

        async def strip(entry: tuple[Pod, tuple[str, ...]]) -> None:
            pod, keys = entry
            metadata = {"uid": pod.metadata.uid, "annotations": dict.fromkeys(keys)}
            await self._applier.patch(self._pods, pod, Patch({"metadata": metadata}), behalf)

        if situation.may_release and not hold:
            # All at once: a gang is no gang while some of its pods are held.
            await slow_start(release.ungate, ungate, limit=parallel, first=parallel)
            if release.ungate and not has_begun(situation.groups):
                self._context.metrics.released.inc()
        await slow_start(annotations_to_drop(situation.groups, record), strip, limit=parallel)

    def _wake_scaled(self, situation: Situation) -> None:
        """Have the gangs looked at that have said that they wait for this one."""
        if not all(group.is_placed for group in situation.groups):
            return
        gang = situation.gang.metadata
        for scaled in self._view.caches.gangs.by_index(BASE, f"{gang.namespace}/{gang.name}"):
            status = scaled.object.status
            said = condition(status.conditions if status else (), names.CONDITION_RELEASED)
            if said is not None and said.status == "False":
                self.wake(ObjectKey(gang.namespace or "", scaled.metadata.name))
