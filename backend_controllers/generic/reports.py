"""The status of a gang as its backend applies it, and how soon it must be written.

Accepted and Programmed come from the result of the gang, Scheduled and Ready from the count of its
pods, with the scheduler's message where it has one, and the container that fails. Conditions describe the present: a gang that
loses a member is no longer scheduled. Every write costs the same, so only a condition that changes
its status is written at once. Another reason waits a moment, since it may pass. Another message of
the scheduler waits too, and longer after a recent write. Our own numbers wait longest. A generation
alone is written only for a gang that runs, about which nothing else will be written soon.
"""

import enum
from collections.abc import Mapping
from datetime import datetime

import msgspec

from backend_controllers.contract.declaration import Report
from backend_controllers.contract.pod_counts import GangCount
from backend_controllers.generic.conditions import (
    MESSAGE_LIMIT,
    ReportedCondition,
    by_type,
    rendered,
)
from backend_controllers.generic.disruptions import REASON_PREEMPTED, Disruption
from backend_controllers.generic.endings import ended_phase
from backend_controllers.generic.gang_results import GangResult, GangStage
from shared_api import names
from shared_api.kube.container_causes import listed
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGangStatus, ObservedPodPreparation
from shared_api.models import JsonObject, PodGangPhase, PodPreparation
from shared_api.truncation import without_middle

REASON_ACCEPTED = names.CONDITION_ACCEPTED
REASON_NOT_ACCEPTED = "NotAccepted"
REASON_PLACED = "MinimumPlaced"
REASON_NOT_PLACED = "PodsPending"
REASON_READY = "MinimumReady"
REASON_NOT_READY = "PodsNotReady"
REASON_NOT_DISRUPTED = "NotDisrupted"

OUR_CONDITIONS = frozenset(
    {
        names.CONDITION_ACCEPTED,
        names.CONDITION_PROGRAMMED,
        names.CONDITION_SCHEDULED,
        names.CONDITION_READY,
        names.CONDITION_DISRUPTION_TARGET,
    }
)
_STAGES = (
    names.CONDITION_ACCEPTED,
    names.CONDITION_PROGRAMMED,
    names.CONDITION_SCHEDULED,
    names.CONDITION_READY,
)
_NO_STATUS = ObservedPodGangStatus()


class WriteUrgency(enum.IntEnum):
    """How soon a status must be written."""

    NOTHING = 0
    LATER = 1
    MESSAGE = 2
    """The scheduler has another message for the same reason, which it may change all the time."""
    SOON = 3
    NOW = 4


class ReportedStatus(msgspec.Struct, frozen=True, gc=False):
    """The part of a gang's status that a backend writes."""

    conditions: tuple[ReportedCondition, ...]
    phase: PodGangPhase
    result: GangResult
    placement_score: float | None = None
    is_explained: bool = False
    """Whether the scheduler itself reports why the gang is not scheduled."""
    message: str = ""
    """The scheduler's message, without our numbers."""

    def condition(self, kind: str) -> ReportedCondition | None:
        """The condition of this type."""
        return next((one for one in self.conditions if one.kind == kind), None)

    def _blocking(self) -> ReportedCondition | None:
        """The first stage that the gang has not passed. It changes only with a condition."""
        found = (one for one in self.conditions if one.kind in _STAGES and not one.holds)
        return min(found, key=lambda one: _STAGES.index(one.kind), default=None)

    def manifest(self, gang: ObservedPodGang, now: datetime) -> JsonObject:
        """The status as it is applied."""
        previous = gang.status or _NO_STATUS
        status: JsonObject = {
            "conditions": rendered(self.conditions, by_type(previous.conditions), now),
            "phase": self.phase.value,
            "observedGeneration": self.result.generation,
        }
        if (blocking := self._blocking()) is not None:
            message = without_middle(blocking.message, MESSAGE_LIMIT)
            status["backendBlocker"] = {"reason": blocking.reason, "message": message}
        if self.placement_score is not None:
            status["placementScore"] = self.placement_score
        if preparations := self.result.preparations:
            status["podPreparations"] = [preparation.manifest() for preparation in preparations]
        return {
            "apiVersion": gang.API_VERSION,
            "kind": gang.KIND,
            "metadata": {"name": gang.metadata.name, "namespace": gang.metadata.namespace},
            "status": status,
        }


def report(
    gang: ObservedPodGang,
    result: GangResult,
    count: GangCount,
    scheduler: Report,
    disruption: Disruption | None = None,
    failures: Mapping[str, int] | None = None,
) -> ReportedStatus:
    """Return the status of a gang with this result, these pods and this scheduler message.

    `failures` counts the bound pods with a container that fails, by cause.
    """
    if scheduler.disruption:
        # The scheduler knows more than it writes on pods, such as which gang preempts.
        observed = REASON_PREEMPTED if disruption is None else disruption.reason
        reason = _camel_case(scheduler.disruption_reason) or observed
        disruption = Disruption(reason, scheduler.disruption)
    conditions = [
        _accepted(result),
        _programmed(result, scheduler),
        _scheduled(result, count, scheduler),
        _ready(result, count, failures or {}),
    ]
    if (disrupted := _disrupted(gang, result, count, disruption)) is not None:
        conditions.append(disrupted)
    score = scheduler.placement_score
    # Not before the scheduler's objects are deleted: then the queue of the gang is free.
    phase = ended_phase(gang) if result.stage is GangStage.ENDED else None
    if phase is not None:
        # Its pods have ended, so no count of them is reported.
        conditions = [_accepted(result), _programmed(result, scheduler), *_ended(result, phase)]
    return ReportedStatus(
        tuple(conditions),
        _phase(count) if phase is None else phase,
        result,
        # The API takes 0 to 1.
        None if score is None else min(max(score, 0.0), 1.0),
        is_explained=bool(scheduler.reason),
        message=scheduler.message,
    )


def urgency(previous: ObservedPodGangStatus | None, report: ReportedStatus) -> WriteUrgency:
    """Return how soon a report must be written, given the status that is there."""
    known = previous or _NO_STATUS
    conditions = by_type(known.conditions)
    result, prepared = report.result, report.result.preparations
    found = WriteUrgency.NOTHING
    if known.phase != report.phase or (prepared and known.pod_preparations != _published(prepared)):
        return WriteUrgency.NOW
    for wanted in report.conditions:
        condition = conditions.get(wanted.kind)
        if condition is None or (
            condition.status != wanted.status and not _is_brief(wanted, report)
        ):
            return WriteUrgency.NOW
        if condition.reason != wanted.reason:
            found = WriteUrgency.SOON
        elif condition.message != without_middle(wanted.message, MESSAGE_LIMIT):
            is_written = not report.message or condition.message.endswith(f": {report.message}")
            is_new = wanted.kind == names.CONDITION_SCHEDULED and not (wanted.holds or is_written)
            found = max(found, WriteUrgency.MESSAGE if is_new else WriteUrgency.LATER)
    if known.placement_score != report.placement_score:
        found = max(found, WriteUrgency.LATER)
    if known.observed_generation != result.generation and report.phase is PodGangPhase.RUNNING:
        found = max(found, WriteUrgency.LATER)
    return found


def _published(preparations: tuple[PodPreparation, ...]) -> tuple[ObservedPodPreparation, ...]:
    """Preparations as they are read after a write: an unset field has its default."""
    return msgspec.convert(preparations, tuple[ObservedPodPreparation, ...], from_attributes=True)


def _is_brief(wanted: ReportedCondition, report: ReportedStatus) -> bool:
    """Tell whether a condition most often ends within moments."""
    return wanted.kind == names.CONDITION_PROGRAMMED and report.result.stage is GangStage.REPLACING


def _accepted(result: GangResult) -> ReportedCondition:
    if result.is_accepted:
        ignored = "; ".join(result.remarks)
        message = f"not applied: {ignored}" if ignored else ""
        reason, holds = REASON_ACCEPTED, True
    else:
        message = "; ".join(result.refusals)
        if result.stage is GangStage.UNSUPPORTED:
            message = f"not supported by the scheduler: {message}"
        reason, holds = result.stage.value, False
    return ReportedCondition(names.CONDITION_ACCEPTED, holds, reason, message, result.generation)


def _programmed(result: GangResult, scheduler: Report) -> ReportedCondition:
    reason = result.stage.value if result.is_accepted else REASON_NOT_ACCEPTED
    message = "; ".join(part for part in (result.message, *scheduler.remarks) if part)
    kind = names.CONDITION_PROGRAMMED
    return ReportedCondition(kind, result.is_done, reason, message, result.generation)


def _scheduled(result: GangResult, count: GangCount, scheduler: Report) -> ReportedCondition:
    holds, message, reason = count.is_scheduled, count.scheduled_text(), REASON_PLACED
    if not holds:
        message = f"{message}: {scheduler.message}" if scheduler.message else message
        reason = _camel_case(scheduler.reason) or REASON_NOT_PLACED
    return ReportedCondition(names.CONDITION_SCHEDULED, holds, reason, message, result.generation)


def _camel_case(reason: str) -> str:
    """A reason as the API takes it, whatever a scheduler calls it."""
    word = "".join(character for character in reason if character.isascii() and character.isalnum())
    return word.lstrip("0123456789")


def _ready(result: GangResult, count: GangCount, failures: Mapping[str, int]) -> ReportedCondition:
    holds, message = count.is_ready, count.ready_text()
    if not holds:
        message += listed(failures)
    reason = REASON_READY if holds else REASON_NOT_READY
    return ReportedCondition(names.CONDITION_READY, holds, reason, message, result.generation)


def _ended(result: GangResult, phase: PodGangPhase) -> tuple[ReportedCondition, ...]:
    kinds = (names.CONDITION_SCHEDULED, names.CONDITION_READY)
    message = f"the jobs of the gang have ended: {phase.value}"
    return tuple(
        ReportedCondition(kind, False, phase.value, message, result.generation)  # noqa: FBT003
        for kind in kinds
    )


def _disrupted(
    gang: ObservedPodGang, result: GangResult, count: GangCount, disruption: Disruption | None
) -> ReportedCondition | None:
    kind, generation = names.CONDITION_DISRUPTION_TARGET, result.generation
    if disruption is not None:
        return ReportedCondition(kind, True, disruption.reason, disruption.message, generation)  # noqa: FBT003
    before = gang.condition(kind)
    if before is None:
        # Written from the first disruption on; most gangs never have one.
        return None
    if before.status == "True" and not count.is_scheduled:
        # The pods are gone, and their conditions with them; the gang has not got its capacity back.
        return ReportedCondition(kind, True, before.reason, before.message, generation)  # noqa: FBT003
    return ReportedCondition(kind, False, REASON_NOT_DISRUPTED, "", generation)  # noqa: FBT003


def _phase(count: GangCount) -> PodGangPhase:
    if not count.is_scheduled:
        return PodGangPhase.PENDING
    return PodGangPhase.RUNNING if count.is_ready else PodGangPhase.STARTING
