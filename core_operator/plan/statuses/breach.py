"""Whether a PodClique is below its minimum, and when that terminates it.

A clique is armed once its minimum was scheduled, as in Grove: pods that crash from the beginning are
recycled too. From then on a breach starts a countdown, which is a condition of its own with the
deadline. The countdown ends only after the minimum was met for a while, so a pod that is ready for
a moment does not restart it. Nothing is counted during an update. After a termination the minimum
must be scheduled again before the clique is armed.

The state is only in the conditions, so a restart loses nothing. The reason of MinAvailableBreached
shows whether a clique is armed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core_operator.plan.statuses.conditions import Observation, find
from shared_api import names
from shared_api.durations import after
from shared_api.models import Condition

_LONGEST_RECOVERY = timedelta(seconds=60)
_ARMED = frozenset(
    {
        names.REASON_SUFFICIENT_READY_PODS,
        names.REASON_SCHEDULED_BELOW_MIN_AVAILABLE,
        names.REASON_INSUFFICIENT_READY_PODS,
    }
)


@dataclass(frozen=True, slots=True)
class CliqueHealth:
    """The numbers of a PodClique's pods."""

    minimum: int
    ready: int
    scheduled: int
    serving: int
    """Pods that are ready, or that start and have not failed."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How long a PodClique may be below its minimum."""

    delay: timedelta = timedelta(hours=4)
    is_updating: bool = False
    is_unlimited: bool = False
    """In a set with jobs: pods end, and failures restart the gang instead."""

    @property
    def recovery(self) -> timedelta:
        """Return how long the minimum must be met before a breach is over."""
        return min(_LONGEST_RECOVERY, self.delay / 4)


def breach_conditions(
    health: CliqueHealth, tolerance: Tolerance, observation: Observation
) -> tuple[Condition, ...]:
    """Return MinAvailableBreached, and the countdown if one runs."""
    breached = _breached(health, tolerance, observation)
    since = _counting_since(breached, tolerance, observation)
    if since is None:
        return (breached,)
    deadline = timestamp(deadline_of(since, tolerance.delay))
    pending = Condition(
        type=names.CONDITION_GANG_TERMINATION_PENDING,
        status="True",
        reason=breached.reason
        if breached.status == "True"
        else names.REASON_MIN_AVAILABLE_RECOVERING,
        message=f"{breached.message}; terminated at {deadline} unless the minimum is met for"
        f" {tolerance.recovery.total_seconds():g} s before",
        last_transition_time=since,
        observed_generation=breached.observed_generation,
    )
    return (breached, pending)


def recheck_at(conditions: Sequence[Condition], tolerance: Tolerance) -> datetime | None:
    """Return when a countdown may end without another event; None if it cannot."""
    pending = find(conditions, names.CONDITION_GANG_TERMINATION_PENDING)
    breached = find(conditions, names.CONDITION_MIN_AVAILABLE_BREACHED)
    if pending is None or breached is None or breached.status != "False":
        return None
    return after(breached.last_transition_time, tolerance.recovery)


def deadline_of(since: datetime, delay: timedelta) -> datetime:
    """Return when a breach terminates: on a full second, like creation timestamps of pods."""
    exact = after(since, delay)
    return exact if not exact.microsecond else exact.replace(microsecond=0) + timedelta(seconds=1)


def timestamp(moment: datetime) -> str:
    """Return a moment as Kubernetes writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _breached(health: CliqueHealth, tolerance: Tolerance, observation: Observation) -> Condition:
    minimum = health.minimum
    kind = names.CONDITION_MIN_AVAILABLE_BREACHED
    if health.scheduled < minimum:
        reason = names.REASON_SCHEDULED_BELOW_MIN_AVAILABLE
        message = f"{health.scheduled} pods scheduled, minimum {minimum}"
    else:
        enough = health.serving >= minimum
        reason = (
            names.REASON_SUFFICIENT_READY_PODS if enough else names.REASON_INSUFFICIENT_READY_PODS
        )
        message = f"{health.serving} pods ready or starting, minimum {minimum}"
    if not minimum:
        # Not armed: pods that are wanted again start as a new gang.
        return observation.condition(
            kind, holds=False, reason=names.REASON_SCALED_TO_ZERO, message="scaled to zero"
        )
    if tolerance.is_unlimited:
        return observation.condition(
            kind, holds=False, reason=names.REASON_RUNS_TO_COMPLETION, message="part of a job"
        )
    if tolerance.is_updating:
        return observation.condition(
            kind, holds=None, reason=names.REASON_UPDATE_IN_PROGRESS, message=message
        )
    holds = reason != names.REASON_SUFFICIENT_READY_PODS
    if not _is_armed(health, observation):
        reason = _unarmed_reason(observation)
    return observation.condition(kind, holds=holds, reason=reason, message=message)


def _is_armed(health: CliqueHealth, observation: Observation) -> bool:
    if _is_terminated(observation):
        # Pods that are scheduled may be the terminated ones, whose deletion is not seen yet.
        return health.ready >= health.minimum
    return health.scheduled >= health.minimum or _was_armed(observation)


def _was_armed(observation: Observation) -> bool:
    before = find(observation.previous, names.CONDITION_MIN_AVAILABLE_BREACHED)
    return before is not None and before.reason in _ARMED


def _unarmed_reason(observation: Observation) -> str:
    if _is_terminated(observation):
        return names.REASON_GANG_TERMINATION_ACTIVE
    return names.REASON_MIN_AVAILABLE_NEVER_MET


def _is_terminated(observation: Observation) -> bool:
    found = find(observation.previous, names.CONDITION_GANG_TERMINATION_IN_PROGRESS)
    return found is not None and found.status == "True"


def _counting_since(
    breached: Condition, tolerance: Tolerance, observation: Observation
) -> datetime | None:
    if breached.reason not in _ARMED or _is_terminated(observation):
        return None
    before = find(observation.previous, names.CONDITION_GANG_TERMINATION_PENDING)
    if breached.status == "True":
        if before is not None:
            return before.last_transition_time
        # A breach from before the clique was armed does not count: terminated pods had it too.
        now = observation.now.replace(microsecond=0)
        return breached.last_transition_time if _was_armed(observation) else now
    if before is None or observation.now >= after(
        breached.last_transition_time, tolerance.recovery
    ):
        return None
    return before.last_transition_time
