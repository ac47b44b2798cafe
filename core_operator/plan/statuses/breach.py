"""Whether a PodClique is below its minimum, and since when that counts.

A clique is armed once its minimum has been ready. From then on a breach starts a countdown: a
condition of its own, which says until when and stays while the breach does. A pod that is
ready for a moment and fails again does not start it over: the countdown ends only after the
minimum has held for a while. During our own update nothing is counted, and after a
termination the clique has to be ready once more before it is armed again.

The state is in the conditions and nowhere else, so a restart loses none of it. Whether a
clique is armed is in the reason of MinAvailableBreached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core_operator.plan.statuses.conditions import Observation, find
from shared_api import names
from shared_api.durations import after
from shared_api.models import Condition

_LONGEST_PROOF = timedelta(seconds=60)
_ARMED = frozenset(
    {
        names.REASON_SUFFICIENT_READY_PODS,
        names.REASON_SCHEDULED_BELOW_MIN_AVAILABLE,
        names.REASON_INSUFFICIENT_READY_PODS,
    }
)


@dataclass(frozen=True, slots=True)
class Health:
    """The numbers that decide."""

    minimum: int
    ready: int
    scheduled: int
    serving: int
    """Pods that are ready, or that start and have not failed."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What the set allows."""

    delay: timedelta = timedelta(hours=4)
    is_updating: bool = False

    @property
    def proof(self) -> timedelta:
        """How long the minimum must hold before a breach is over."""
        return min(_LONGEST_PROOF, self.delay / 4)


def breach_conditions(
    health: Health, tolerance: Tolerance, observation: Observation
) -> tuple[Condition, ...]:
    """MinAvailableBreached, and the countdown if one runs."""
    breached = _breached(health, tolerance, observation)
    since = _counting_since(breached, tolerance, observation)
    if since is None:
        return (breached,)
    deadline = spoken(deadline_of(since, tolerance.delay))
    held = breached.status == "False"
    pending = Condition(
        type=names.CONDITION_GANG_TERMINATION_PENDING,
        status="True",
        reason=names.REASON_MIN_AVAILABLE_RECOVERING if held else breached.reason,
        message=f"{breached.message}; terminated at {deadline} unless the minimum holds for"
        f" {tolerance.proof.total_seconds():g} s before",
        last_transition_time=since,
        observed_generation=breached.observed_generation,
    )
    return (breached, pending)


def recheck_at(conditions: Sequence[Condition], tolerance: Tolerance) -> datetime | None:
    """When a countdown may end without anything happening; None if it cannot."""
    pending = find(conditions, names.CONDITION_GANG_TERMINATION_PENDING)
    breached = find(conditions, names.CONDITION_MIN_AVAILABLE_BREACHED)
    if pending is None or breached is None or breached.status != "False":
        return None
    return after(breached.last_transition_time, tolerance.proof)


def deadline_of(since: datetime, delay: timedelta) -> datetime:
    """When a breach since then leads to termination: on a full second, as pods are dated."""
    exact = after(since, delay)
    return exact if not exact.microsecond else exact.replace(microsecond=0) + timedelta(seconds=1)


def spoken(moment: datetime) -> str:
    """A moment as conditions spell it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _breached(health: Health, tolerance: Tolerance, observation: Observation) -> Condition:
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
    if tolerance.is_updating:
        return observation.condition(
            kind, holds=None, reason=names.REASON_UPDATE_IN_PROGRESS, message=message
        )
    holds = reason != names.REASON_SUFFICIENT_READY_PODS
    if health.ready < minimum and not _is_armed(observation):
        reason = _unarmed_reason(observation)
    return observation.condition(kind, holds=holds, reason=reason, message=message)


def _is_armed(observation: Observation) -> bool:
    if _is_terminated(observation):
        return False
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
        return breached.last_transition_time if before is None else before.last_transition_time
    if before is None or observation.now >= after(breached.last_transition_time, tolerance.proof):
        return None
    return before.last_transition_time
