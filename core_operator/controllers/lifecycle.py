"""Updates and terminations of sets.

It records in the set's status which replica is being updated, and other controllers act on that.
It deletes the pods of gangs that were below minAvailable for longer than terminationDelay. Pure
plans decide both. Both survive a restart, because the record and the countdowns are in statuses. A
countdown requeues its set for when it ends.

It has its own field manager, so that it and the status writers never remove each other's fields.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from core_operator.context import CoreContext
from core_operator.controllers.statuses import status_of
from core_operator.plan.pods.replicas import ReplicaFacts
from core_operator.plan.statuses.conditions import Observation, find, rendered
from core_operator.plan.statuses.scaling_group import clique_blocker
from core_operator.plan.termination import (
    PendingTermination,
    breaches_of,
    due_terminations,
    plan_terminations,
    pods_to_terminate,
    termination_delay,
)
from core_operator.plan.updates.progress import (
    REASON_DEADLINE_EXCEEDED,
    UpdateProgressPlan,
    plan_progress,
)
from core_operator.state import caches as kinds
from core_operator.state.update_turns import Updates
from core_operator.writes.child_events import record_replica_deletion
from core_operator.writes.child_writer import AT_ONCE
from core_operator.writes.pod_writer import MinAvailableExemption, PodWriter
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import (
    Condition,
    JsonObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodCliqueSetStatus,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.queueing.debounce import MinimumInterval
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import controller_of, identity

EVENT_UPDATE_STARTED = "UpdateStarted"
EVENT_UPDATE_ENDED = "UpdateEnded"
EVENT_TERMINATED = "GangTerminated"

_SECONDS_PER_GANG = 0.002


class LifecycleReconciler:
    """Reconciles updates and terminations of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._updates = Updates(context.view)
        # The cache keeps fingerprints of the other field manager only, so values are compared.
        self._sets = Target(kinds.SETS, context.view.caches.sets, _is_unchanged)
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._groups = Target(kinds.GROUPS, context.view.caches.groups)
        self._pod_writer = PodWriter(context, applier)
        self._interval: MinimumInterval[ObjectKey] = MinimumInterval(context.clock)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Take the next step of the update and of the terminations of one set."""
        pcs = self._view.live_set(key)
        if pcs is None:
            self._interval.forget(key)
            return None
        interval = _SECONDS_PER_GANG * len(self._view.expansion(pcs).gangs)
        if (wait := self._interval.remaining(key, interval)) > 0:
            return Result(requeue_after=wait)
        self._interval.start(key)
        now = self._context.now()
        replicas = self._updates.replicas(pcs)
        cliques = self._members(pcs, replicas)
        blockers = {name: why for name, c in cliques.items() if (why := clique_blocker(c))}
        progress = plan_progress(pcs, self._view.revision_hash(pcs), replicas, blockers, now)
        delay = termination_delay(pcs)
        pending = plan_terminations(replicas, breaches_of(cliques.values()), delay)
        await self._write_status(pcs, progress, pending)
        for termination in due_terminations(replicas, breaches_of(cliques.values()), delay, now):
            await self._terminate(pcs, termination, cliques)
        await self._unmark(pcs, replicas, cliques)
        return _requeue(pending, progress.deadline, now)

    def _members(
        self, pcs: PodCliqueSet, replicas: Sequence[ReplicaFacts]
    ) -> Mapping[str, PodClique]:
        found = (
            self._view.clique(clique.name, pcs)
            for replica in replicas
            for clique in replica.cliques
        )
        return {clique.metadata.name: clique for clique in found if clique is not None}

    async def _write_status(
        self, pcs: PodCliqueSet, progress: UpdateProgressPlan, pending: Sequence[PendingTermination]
    ) -> None:
        previous = pcs.status.conditions if pcs.status is not None else ()
        observation = Observation(self._context.now(), previous, pcs.metadata.generation)
        conditions = _conditions(progress, pending, observation)
        status = progress.manifest()
        if conditions:
            status["conditions"] = rendered(conditions)
        behalf = Behalf(key_of(pcs), force=True)
        await self._applier.apply_status(self._sets, status_of(pcs, status), behalf)
        began = find(previous, names.CONDITION_GANG_TERMINATION_PENDING) is None
        if pending and began:
            kind = names.CONDITION_GANG_TERMINATION_PENDING
            self._context.record_event(pcs, kind, pending[0].message, warning=True)
        updating = find(previous, names.CONDITION_UPDATING)
        was_updating = updating is not None
        was_late = updating is not None and updating.reason == REASON_DEADLINE_EXCEEDED
        if progress.is_active and not was_updating:
            self._context.record_event(pcs, EVENT_UPDATE_STARTED, progress.message)
        elif progress.reason == REASON_DEADLINE_EXCEEDED and not was_late:
            self._context.record_event(pcs, progress.reason, progress.message, warning=True)
        elif was_updating and not progress.is_active:
            self._context.record_event(
                pcs, EVENT_UPDATE_ENDED, f"all pods are of revision {progress.set_hash}"
            )

    async def _terminate(
        self, pcs: PodCliqueSet, termination: PendingTermination, cliques: Mapping[str, PodClique]
    ) -> None:
        members = [cliques[name] for name in termination.cliques if name in cliques]
        pods = [pod for clique in members for pod in self._view.pods_of(clique)]
        behalf = Behalf(key_of(pcs))
        parallel = self._context.settings.concurrency.writes

        async def mark(clique: PodClique) -> None:
            await self._mark(pcs, clique, termination)

        terminated = pods_to_terminate(termination, pods)
        # The mark ends the countdown, so it comes last: a crash must not end it too early.
        exemption = MinAvailableExemption.GANG_TERMINATED
        await self._pod_writer.delete_exempt(terminated, exemption, behalf)
        for group in self._view.groups_of(pcs):
            if group.metadata.name in termination.groups:
                await self._mark_group(pcs, group, termination)
        await slow_start(members, mark, limit=parallel, first=AT_ONCE)
        self._context.metrics.terminated.inc()
        note = f"{termination.subject} was terminated, {len(terminated)} pods: {termination.cause}"
        self._context.record_event(pcs, EVENT_TERMINATED, note, warning=True)
        record_replica_deletion(
            self._context, pcs, termination.subject, is_of_set=termination.is_whole
        )

    async def _mark(
        self, pcs: PodCliqueSet, clique: PodClique, termination: PendingTermination | None
    ) -> None:
        """Set the condition that a PodClique was terminated, or remove it."""
        live = self._view.caches.cliques.get(key_of(clique))
        behalf = Behalf(key_of(pcs), controller_of(live) if live is not None else None)
        status = _terminated(termination, self._context.now())
        await self._applier.apply_status(self._cliques, status_of(clique, status), behalf)

    async def _mark_group(
        self,
        pcs: PodCliqueSet,
        group: PodCliqueScalingGroup,
        termination: PendingTermination | None,
    ) -> None:
        """Set the same condition on a scaling group, or remove it."""
        behalf = Behalf(key_of(pcs), identity(kinds.SETS, pcs))
        status = _terminated(termination, self._context.now())
        await self._applier.apply_status(self._groups, status_of(group, status), behalf)

    async def _unmark(
        self,
        pcs: PodCliqueSet,
        replicas: Sequence[ReplicaFacts],
        cliques: Mapping[str, PodClique],
    ) -> None:
        """Remove the mark of PodCliques that are scheduled again, and of groups that are available."""
        for facts in (clique for replica in replicas for clique in replica.cliques):
            clique = cliques.get(facts.name)
            if clique is not None and facts.is_scheduled and _is_marked(clique):
                await self._mark(pcs, clique, None)
        groups = {group.metadata.name: group for group in self._view.groups_of(pcs)}
        for of_group in (group for replica in replicas for group in replica.groups):
            group = groups.get(of_group.name)
            if group is not None and of_group.available >= of_group.minimum and _is_marked(group):
                await self._mark_group(pcs, group, None)


def _is_unchanged(observed: Applied[PodCliqueSet], manifest: Mapping[str, object]) -> bool:
    """Tell whether the fields of this controller in a set's status are as wanted."""
    wanted = PodCliqueSetStatus.model_validate(manifest["status"])
    live = observed.object.status or PodCliqueSetStatus()
    return _ours(live) == _ours(wanted)


def _ours(status: PodCliqueSetStatus) -> object:
    kinds_ = (names.CONDITION_UPDATING, names.CONDITION_GANG_TERMINATION_PENDING)
    return (
        status.current_generation_hash,
        status.update_progress,
        [find(status.conditions, kind) for kind in kinds_],
    )


def _conditions(
    progress: UpdateProgressPlan, pending: Sequence[PendingTermination], observation: Observation
) -> list[Condition]:
    found: list[Condition] = []
    if progress.is_active:
        found.append(
            observation.condition(
                names.CONDITION_UPDATING,
                holds=True,
                reason=progress.reason,
                message=progress.message,
            )
        )
    if pending:
        others = f" (and {len(pending) - 1} more)" if len(pending) > 1 else ""
        found.append(
            observation.condition(
                names.CONDITION_GANG_TERMINATION_PENDING,
                holds=True,
                reason=names.CONDITION_MIN_AVAILABLE_BREACHED,
                message=f"{pending[0].message}{others}",
            )
        )
    return found


def _requeue(
    pending: Sequence[PendingTermination], progress: datetime | None, now: datetime
) -> Result | None:
    deadlines = [termination.deadline for termination in pending]
    if progress is not None:
        deadlines.append(progress)
    ahead = [deadline for deadline in deadlines if deadline > now]
    if not ahead:
        return None
    return Result(requeue_after=(min(ahead) - now).total_seconds())


def _terminated(termination: PendingTermination | None, now: datetime) -> JsonObject:
    """Return the status that marks what was terminated; without a termination it has no mark."""
    if termination is None:
        return {}
    mark = Observation(now, ()).condition(
        names.CONDITION_GANG_TERMINATION_IN_PROGRESS,
        holds=True,
        reason=names.REASON_GANG_TERMINATION_ACTIVE,
        message=f"{termination.subject} was terminated: {termination.cause}",
    )
    return {"conditions": rendered((mark,))}


def _is_marked(about: PodClique | PodCliqueScalingGroup) -> bool:
    """Tell whether an object has the mark and no countdown."""
    conditions = about.status.conditions if about.status is not None else ()
    counting = find(conditions, names.CONDITION_GANG_TERMINATION_PENDING)
    marked = find(conditions, names.CONDITION_GANG_TERMINATION_IN_PROGRESS)
    return marked is not None and counting is None
