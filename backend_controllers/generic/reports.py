"""The status of a gang as its backend applies it, and how urgent it is to say it.

Accepted and Programmed follow from writing the gang down, Scheduled and Ready from counting
its pods, in the scheduler's words where it has some. They are what is true now: a gang that
loses a member is no longer scheduled. A write costs the same whatever it says, so only what
flips is said at once; another reason for the same state waits a moment, in case it passes;
other words of the scheduler do too, unless something was said shortly before; our own numbers
wait for longer; and a generation alone is worth a write only for a gang that
runs, about which nothing else will be said soon.
"""

import enum
from datetime import datetime

import msgspec

from backend_controllers.contract.declaration import Words
from backend_controllers.contract.pod_counts import GangCount
from backend_controllers.generic.conditions import MESSAGE_LIMIT, Said, by_kind, rendered
from backend_controllers.generic.disruptions import REASON_PREEMPTED, Disruption
from backend_controllers.generic.gang_results import Programming, Stage
from shared_api import names
from shared_api.kube.podgangs import PodGang, PodGangStatus
from shared_api.kube.podgangs import PodPreparation as Published
from shared_api.models import JsonObject, PodGangPhase, PodPreparation
from shared_api.truncation import truncated

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
_NOTHING_SAID = PodGangStatus()


class Worth(enum.IntEnum):
    """How soon something is worth a write."""

    NOTHING = 0
    LATER = 1
    WORDS = 2
    """The scheduler says something else for the same reason, which it may do all the time."""
    SOON = 3
    NOW = 4


class Report(msgspec.Struct, frozen=True, gc=False):
    """What is to be said about a gang."""

    said: tuple[Said, ...]
    phase: PodGangPhase
    programming: Programming
    placement_score: float | None = None
    is_explained: bool = False
    """Whether the scheduler itself says why the gang is not placed."""
    words: str = ""
    """What it says then, without our numbers."""

    def about(self, kind: str) -> Said | None:
        """What is said about one aspect."""
        return next((one for one in self.said if one.kind == kind), None)

    def manifest(self, gang: PodGang, now: datetime) -> JsonObject:
        """The part of the status that is ours, as it is applied."""
        previous = gang.status or _NOTHING_SAID
        status: JsonObject = {
            "conditions": rendered(self.said, by_kind(previous.conditions), now),
            "phase": self.phase.value,
            "observedGeneration": self.programming.generation,
        }
        if self.placement_score is not None:
            status["placementScore"] = self.placement_score
        if preparations := self.programming.preparations:
            status["podPreparations"] = [preparation.manifest() for preparation in preparations]
        metadata: JsonObject = {
            "name": gang.metadata.name,
            "namespace": gang.metadata.namespace,
        }
        return {
            "apiVersion": gang.API_VERSION,
            "kind": gang.KIND,
            "metadata": metadata,
            "status": status,
        }


def report(
    gang: PodGang,
    programming: Programming,
    count: GangCount,
    words: Words,
    disruption: Disruption | None = None,
) -> Report:
    """What is to be said about a gang whose pods and whose scheduler say this."""
    if words.disruption:
        # The scheduler knows more than it writes on pods, such as for whom they make room.
        seen = REASON_PREEMPTED if disruption is None else disruption.reason
        disruption = Disruption(_word(words.disruption_reason) or seen, words.disruption)
    said = [
        _accepted(programming),
        _programmed(programming, words),
        _scheduled(programming, count, words),
        _ready(programming, count),
    ]
    if (disrupted := _disrupted(gang, programming, count, disruption)) is not None:
        said.append(disrupted)
    return Report(
        tuple(said),
        _phase(count),
        programming,
        _score(words.placement_score),
        is_explained=bool(words.reason),
        words=words.message,
    )


def worth(previous: PodGangStatus | None, report: Report) -> Worth:
    """How soon a report is worth a write, given what is said already."""
    known = previous or _NOTHING_SAID
    conditions = by_kind(known.conditions)
    programming = report.programming
    found = Worth.NOTHING
    prepared = programming.preparations
    if known.phase != report.phase or (prepared and known.pod_preparations != _published(prepared)):
        return Worth.NOW
    for said in report.said:
        condition = conditions.get(said.kind)
        if condition is None or (condition.status != said.status and not _is_brief(said, report)):
            return Worth.NOW
        if condition.reason != said.reason:
            found = Worth.SOON
        elif condition.message != truncated(said.message, MESSAGE_LIMIT):
            is_said = not report.words or condition.message.endswith(f": {report.words}")
            is_other = said.kind == names.CONDITION_SCHEDULED and not said.holds and not is_said
            found = max(found, Worth.WORDS if is_other else Worth.LATER)
    if known.placement_score != report.placement_score:
        found = max(found, Worth.LATER)
    if known.observed_generation != programming.generation and report.phase is PodGangPhase.RUNNING:
        found = max(found, Worth.LATER)
    return found


def _published(preparations: tuple[PodPreparation, ...]) -> tuple[Published, ...]:
    """Preparations as they are read once they are written: what is unset is its default."""
    return msgspec.convert(preparations, tuple[Published, ...], from_attributes=True)


def _is_brief(said: Said, report: Report) -> bool:
    """Tell whether something is most often over before anybody has read of it."""
    return said.kind == names.CONDITION_PROGRAMMED and report.programming.stage is Stage.REPLACING


def _accepted(programming: Programming) -> Said:
    if programming.is_accepted:
        left_undone = "; ".join(programming.remarks)
        message = f"left undone: {left_undone}" if left_undone else ""
        reason, holds = REASON_ACCEPTED, True
    else:
        message = "; ".join(programming.refusals)
        if programming.stage is Stage.UNSUPPORTED:
            message = f"the scheduler cannot do: {message}"
        reason, holds = programming.stage.value, False
    return Said(names.CONDITION_ACCEPTED, holds, reason, message, programming.generation)


def _programmed(programming: Programming, words: Words) -> Said:
    reason = programming.stage.value if programming.is_accepted else REASON_NOT_ACCEPTED
    parts = (programming.message, *words.remarks)
    message = "; ".join(part for part in parts if part)
    return Said(
        names.CONDITION_PROGRAMMED, programming.is_done, reason, message, programming.generation
    )


def _scheduled(programming: Programming, count: GangCount, words: Words) -> Said:
    kind, text = names.CONDITION_SCHEDULED, count.scheduled_text()
    if count.is_scheduled:
        return Said(kind, True, REASON_PLACED, text, programming.generation)  # noqa: FBT003
    message = f"{text}: {words.message}" if words.message else text
    reason = _word(words.reason) or REASON_NOT_PLACED
    return Said(kind, False, reason, message, programming.generation)  # noqa: FBT003


def _word(reason: str) -> str:
    """A reason as the API takes it, whatever a scheduler calls it."""
    word = "".join(character for character in reason if character.isascii() and character.isalnum())
    return word.lstrip("0123456789")


def _ready(programming: Programming, count: GangCount) -> Said:
    reason = REASON_READY if count.is_ready else REASON_NOT_READY
    message = count.ready_text()
    return Said(names.CONDITION_READY, count.is_ready, reason, message, programming.generation)


def _disrupted(
    gang: PodGang, programming: Programming, count: GangCount, disruption: Disruption | None
) -> Said | None:
    kind, generation = names.CONDITION_DISRUPTION_TARGET, programming.generation
    if disruption is not None:
        return Said(kind, True, disruption.reason, disruption.message, generation)  # noqa: FBT003
    before = by_kind(gang.status.conditions if gang.status is not None else ()).get(kind)
    if before is None:
        # Said from the first disruption on; most gangs never see one.
        return None
    if before.status == "True" and not count.is_scheduled:
        # The pods are gone, and with them what they said; the room is still another's.
        return Said(kind, True, before.reason, before.message, generation)  # noqa: FBT003
    return Said(kind, False, REASON_NOT_DISRUPTED, "", generation)  # noqa: FBT003


def _score(score: float | None) -> float | None:
    """A score as the API takes it."""
    return None if score is None else min(max(score, 0.0), 1.0)


def _phase(count: GangCount) -> PodGangPhase:
    if not count.is_scheduled:
        return PodGangPhase.PENDING
    return PodGangPhase.RUNNING if count.is_ready else PodGangPhase.STARTING
