"""Completed and Failed in the statuses of sets, scaling groups, PodCliques and PodGangs.

Both are absent while a job runs, and always absent from what serves. An object that ended has
Completed, which is False if it failed, so that one column of kubectl shows all three states. A
completed object is Ready: Flux, Argo CD and kstatus then count it as healthy. A failed one is
Stalled.
"""

from core_operator.plan.jobs.indexes import to_text
from core_operator.plan.jobs.runs import Ending, JobOutcome, Record
from core_operator.plan.statuses.conditions import Availability, Observation
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from shared_api import names
from shared_api.models import Condition, JsonObject


def ending_conditions(ending: Ending | None, observation: Observation) -> tuple[Condition, ...]:
    """Return Completed, and Failed if it failed; nothing while it runs."""
    if ending is None:
        return ()
    is_completed = ending.outcome is JobOutcome.COMPLETED
    completed = observation.condition(
        names.CONDITION_COMPLETED,
        holds=is_completed,
        reason=ending.reason,
        message=ending.message,
    )
    if is_completed:
        return (completed,)
    failed = observation.condition(
        names.CONDITION_FAILED, holds=True, reason=ending.reason, message=ending.message
    )
    return (completed, failed)


def ended(ending: Ending) -> Availability:
    """Return whether something that ended counts as ready."""
    if ending.outcome is JobOutcome.COMPLETED:
        return Availability(ready=True, message=ending.message, reason=names.CONDITION_COMPLETED)
    blocker = Blocker(BlockingReason.JOB_FAILED, ending.message)
    return Availability(ready=False, message=ending.message, blocker=blocker)


def record_fields(record: Record) -> JsonObject:
    """Return the fields of a status that record restarts and completed replicas."""
    fields: JsonObject = {}
    if record.restarts:
        fields["replicaRestartCounts"] = [*record.restarts]
    if record.completed:
        fields["completedIndexes"] = to_text(record.completed)
    return fields


def update_ignored(
    started_with: str | None, wanted: str, ending: Ending | None, observation: Observation
) -> Condition | None:
    """Return the condition of a set with jobs whose templates were changed after its start."""
    if started_with in (None, wanted):
        return None
    when = "has finished" if ending is not None else "is running"
    return observation.condition(
        names.CONDITION_UPDATE_IGNORED,
        holds=True,
        reason=names.REASON_JOB_FINISHED if ending is not None else names.REASON_JOB_RUNNING,
        message=f"the changed templates are not applied: a job {when} with those that it started with."
        " Delete the PodCliqueSet and create it again, or undo the change",
    )
