"""Jobs of sets: records what has ended, restarts replicas, and removes finished sets.

It writes only statuses: the count of restarts, what is completed, and the conditions Completed and
Failed of sets and scaling groups. Other controllers act on them: PodCliques delete pods of earlier
attempts and of replicas that have ended, PodGangs report the end to their backend. So every write is
a step of its own, and a crash between two of them delays the next one and changes nothing else.

Limits of time requeue the set for when they end. It has its own field manager, so that it and the
status writers never remove each other's fields. Sets without jobs cost nothing here.
"""

from collections.abc import Mapping
from datetime import datetime

from core_operator.context import CoreContext
from core_operator.controllers.job_events import EVENT_RESTARTED, record_ending
from core_operator.controllers.statuses import status_of
from core_operator.plan.job_outcomes import JobDecision, plan_jobs, removal_time
from core_operator.plan.jobs.modes import has_jobs
from core_operator.plan.jobs.runs import Record, outcome_of
from core_operator.plan.statuses.conditions import Observation, find, rendered
from core_operator.plan.statuses.jobs import ending_conditions, record_fields, update_ignored
from core_operator.state import caches as kinds
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import (
    JsonObject,
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    PodCliqueSet,
    PodCliqueSetStatus,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.queueing.debounce import MinimumInterval
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import controller_of

_OURS = (names.CONDITION_COMPLETED, names.CONDITION_FAILED, names.CONDITION_UPDATE_IGNORED)
# A timer may fire a little before the moment that it was set for.
_SOON = 0.01
_SECONDS_PER_GANG = 0.002


class JobReconciler:
    """Reconciles the jobs of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        # The caches keep fingerprints of the other field manager only, so values are compared.
        self._sets = Target(kinds.SETS, context.view.caches.sets, _is_unchanged_set)
        self._groups = Target(kinds.GROUPS, context.view.caches.groups, _is_unchanged_group)
        self._interval: MinimumInterval[ObjectKey] = MinimumInterval(context.clock)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Record what has ended in one set, and restart what may be restarted."""
        pcs = self._view.live_set(key)
        if pcs is None or not has_jobs(pcs):
            self._interval.forget(key)
            return None
        # All PodCliques of a set are reconciled after each record, so a large set has fewer of them.
        interval = _SECONDS_PER_GANG * len(self._view.expansion(pcs).gangs)
        if (wait := self._interval.remaining(key, interval)) > 0:
            return Result(requeue_after=wait)
        self._interval.start(key)
        now = self._context.now()
        removal = removal_time(pcs, now)
        found = self._view.caches.sets.get(key)
        if _has_ended(pcs) and removal is not None and removal <= now and found is not None:
            await self._applier.delete(self._sets, found, Behalf(key))
            return None
        groups = {group.metadata.name: group for group in self._view.groups_of(pcs)}
        plan = plan_jobs(pcs, self._view.expansion(pcs), self._view.all_cliques(pcs), groups, now)
        for name, record in plan.groups.items():
            if name in groups:
                await self._write_group(groups[name], record, key)
        await self._write_set(pcs, plan, now)
        return _requeue(pcs, plan, now)

    async def _write_group(
        self, group: PodCliqueScalingGroup, record: Record, key: ObjectKey
    ) -> None:
        before = group.status.conditions if group.status is not None else ()
        observation = Observation(self._context.now(), before, group.metadata.generation)
        status: JsonObject = {"attempt": record.attempt, **record_fields(record)}
        if record.ending is not None:
            status["conditions"] = rendered(ending_conditions(record.ending, observation))
        live = self._view.caches.groups.get(key_of(group))
        behalf = Behalf(key, controller_of(live) if live is not None else None)
        await self._applier.apply_status(self._groups, status_of(group, status), behalf)
        record_ending(self._context, group, record.ending)

    async def _write_set(self, pcs: PodCliqueSet, plan: JobDecision, now: datetime) -> None:
        record, before = plan.record, pcs.status or PodCliqueSetStatus()
        observation = Observation(now, before.conditions, pcs.metadata.generation)
        conditions = [*ending_conditions(record.ending, observation)]
        hashes = (before.current_generation_hash, self._view.revision_hash(pcs))
        ignored = update_ignored(*hashes, record.ending, observation)
        if ignored is not None:
            conditions.append(ignored)
        status: JsonObject = {**record_fields(record)}
        if record.started is not None:
            status["jobStartTime"] = f"{record.started:%Y-%m-%dT%H:%M:%SZ}"
        if conditions:
            status["conditions"] = rendered(conditions)
        behalf = Behalf(key_of(pcs), force=True)
        await self._applier.apply_status(self._sets, status_of(pcs, status), behalf)
        for restart in plan.restarts:
            self._context.metrics.restarted.inc()
            self._context.record_event(pcs, EVENT_RESTARTED, restart.message, warning=True)
        if ignored is not None and find(before.conditions, ignored.type) is None:
            self._context.record_event(pcs, ignored.type, ignored.message, warning=True)
        if record_ending(self._context, pcs, record.ending) and record.ending is not None:
            self._context.metrics.jobs.labels(record.ending.outcome.value).inc()


def _has_ended(pcs: PodCliqueSet) -> bool:
    return outcome_of(pcs.status.conditions if pcs.status is not None else ()) is not None


def _requeue(pcs: PodCliqueSet, plan: JobDecision, now: datetime) -> Result | None:
    """Return when to look again: at the end of maxRuntime, or to delete a finished set."""
    due = plan.deadline
    if plan.record.ending is not None:
        due = removal_time(pcs, now)
    return None if due is None else Result(max((due - now).total_seconds(), _SOON))


def _is_unchanged_set(observed: Applied[PodCliqueSet], manifest: Mapping[str, object]) -> bool:
    """Tell whether the fields of this controller in a set's status are as wanted."""
    wanted = PodCliqueSetStatus.model_validate(manifest["status"])
    live = observed.object.status or PodCliqueSetStatus()
    return _of_set(live) == _of_set(wanted)


def _is_unchanged_group(
    observed: Applied[PodCliqueScalingGroup], manifest: Mapping[str, object]
) -> bool:
    """Tell whether the fields of this controller in a scaling group's status are as wanted."""
    wanted = PodCliqueScalingGroupStatus.model_validate(manifest["status"])
    live = observed.object.status or PodCliqueScalingGroupStatus()
    return _of_group(live) == _of_group(wanted)


def _of_set(status: PodCliqueSetStatus) -> object:
    return (
        status.job_start_time,
        status.replica_restart_counts,
        status.completed_indexes,
        [find(status.conditions, kind) for kind in _OURS],
    )


def _of_group(status: PodCliqueScalingGroupStatus) -> object:
    return (
        status.attempt,
        status.replica_restart_counts,
        status.completed_indexes,
        [find(status.conditions, kind) for kind in _OURS],
    )
