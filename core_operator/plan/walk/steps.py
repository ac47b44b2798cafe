"""Whether a gang with a placement policy stays with its backend instance or goes to the next one.

The walk has four outcomes. Capacity and Invalid: the instance does not take the gang, so it moves
on. Transient: the instance is down or fails, so a gang that no scheduler has seen moves on after a
while. Ambiguous: the instance is down and its scheduler may have the gang, so the gang stays, unless
`lost.action` is `Relocate`. A gang with a bound pod never moves. Under Locality a gated gang follows
its base gang once, which may have moved after both were created.

Everything follows from the ranking and from `status.placement` of the gang, so a restart changes
nothing. After the last candidate the gang stays where it is, and starts over later each time.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from core_operator.plan.bind_timeout import wait_seconds
from core_operator.plan.placement.candidates import Candidate, PassedOver, Ranking, Why
from core_operator.plan.statuses.breach import timestamp
from shared_api.durations import duration_of
from shared_api.models import (
    LostAction,
    PlacementAttempt,
    PlacementObjective,
    PlacementOutcome,
    PlacementPolicySpec,
    PlacementStatus,
)
from shared_api.truncation import without_middle

HOLD = timedelta(seconds=10)
"""How long an instance may be down before a gated gang leaves it: a restart takes less."""
SETTLE = timedelta(seconds=30)
"""How long an instance that was down is ordered after the others."""
ATTEMPTS = 10
"""Attempts that are kept."""
_MOST_TRIED = 64
_MESSAGE = 256
_BACK_OFF = timedelta(minutes=5)
_EMPTY = PlacementStatus()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an instance does not take a gang; without an outcome, why the gang leaves it."""

    outcome: PlacementOutcome | None
    text: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a gang is with its present instance."""

    uid: str
    backend: str
    is_bound: bool
    """A pod of it is bound."""
    is_released: bool
    """A pod of it is ungated, so that the scheduler may have seen it."""
    waits_for_backend: bool
    """All its pods exist, and its base gang is scheduled."""
    refusal: Refusal | None = None
    progress: str = ""
    """What the scheduler reports."""
    missing_since: datetime | None = None
    """Since when its instance has no record; None if it has one."""
    base: str | None = None
    """The instance of its base gang; None if it has no base gang."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to store now, and whether the gang leaves its instance."""

    status: PlacementStatus
    leaves_for: str | None = None
    due: datetime | None = None
    """When to plan again."""
    text: str = ""
    """What happens next, or why the gang leaves."""
    outcome: PlacementOutcome | None = None


def first(ranking: Ranking, before: PlacementStatus | None, now: datetime) -> str | None:
    """Return the instance for a gang that does not exist yet; `before` is left by its predecessor."""
    tried = before.tried if before is not None else ()
    found = _next(ranking, tried, now) or _next(ranking, (), now)
    return found.name if found is not None else None


def plan_step(
    policy: PlacementPolicySpec,
    ranking: Ranking,
    before: PlacementStatus | None,
    standing: Standing,
    now: datetime,
) -> Step:
    """Return the next step of a gang that has an instance."""
    status = _with_attempt(before or _EMPTY, standing.backend, now)
    if standing.is_bound:
        *former, last = status.attempts
        running = {"backend": last.backend, "from": last.began}
        return Step(_status((*former, PlacementAttempt.model_validate(running))))
    stay = _stay(policy, ranking, standing, now)
    if stay is not None:
        return Step(status, due=stay[0], text=stay[1])
    failure = _failure(policy, ranking, status, standing, now)
    if failure is not None:
        return _on(ranking, status, standing, failure, now)
    if policy.objective is PlacementObjective.LOCALITY and _follows(ranking, status, standing, now):
        moved = Refusal(None, f"its base gang is with backend '{standing.base}'")
        closed = _status(_closed(status.attempts, moved, now), status.tried, status.rounds)
        return Step(closed, standing.base, text=moved.text)
    limit, deadline = _limit(policy), None
    if limit is not None and standing.waits_for_backend:
        # The policy may have a shorter timeout by now.
        deadline = min(status.deadline or now + limit, now + limit)
    text = f"moves on at {timestamp(deadline)} if not scheduled" if deadline is not None else ""
    kept = _status(status.attempts, status.tried, status.rounds, deadline=deadline)
    return Step(kept, due=deadline, text=text)


def _stay(
    policy: PlacementPolicySpec, ranking: Ranking, standing: Standing, now: datetime
) -> tuple[datetime | None, str] | None:
    """Return until when a gang stays although its instance is down; None if it does not."""
    passed = _passed(ranking, standing)
    if standing.refusal is not None or passed is None or passed.why is not Why.DOWN:
        return None
    since = passed.since or now
    if not standing.is_released:
        return (since + HOLD, passed.text) if now < since + HOLD else None
    lost = policy.lost
    if lost is None or lost.action is not LostAction.RELOCATE:
        return None, f"{passed.text}; its scheduler may have the gang, so it stays"
    after = duration_of(lost.after) or timedelta(minutes=10)
    if now < since + after:
        return since + after, f"{passed.text}; relocated at {timestamp(since + after)}"
    return None


def _failure(
    policy: PlacementPolicySpec,
    ranking: Ranking,
    status: PlacementStatus,
    standing: Standing,
    now: datetime,
) -> Refusal | None:
    if standing.refusal is not None:
        return standing.refusal
    passed = _passed(ranking, standing)
    if passed is not None:
        released = standing.is_released
        if passed.why is Why.DOWN:
            outcome = PlacementOutcome.AMBIGUOUS if released else PlacementOutcome.TRANSIENT
            return Refusal(outcome, passed.text)
        # A gang that the scheduler has stays, whatever capability the scheduler lacks by now.
        if passed.why is Why.FORBIDDEN or not released:
            return Refusal(PlacementOutcome.INVALID, passed.text)
    limit = _limit(policy) if standing.waits_for_backend else None
    if limit is not None and status.deadline is not None and status.deadline <= now:
        text = f"not scheduled within {policy.admission_timeout}"
        if standing.progress:
            text = f"{text}: {standing.progress}"
        return Refusal(PlacementOutcome.CAPACITY, text)
    return None


def _on(
    ranking: Ranking, status: PlacementStatus, standing: Standing, why: Refusal, now: datetime
) -> Step:
    """Return the step of a gang that its instance does not take."""
    backend = standing.backend
    tried = tuple(dict.fromkeys((*status.tried, backend)))[-_MOST_TRIED:]
    following = _next(ranking, tried, now)
    if following is None and not any(one.name != backend for one in ranking.candidates):
        marked = _marked(status.attempts, why)
        kept = _status(marked, status.tried, status.rounds, deadline=status.deadline)
        return Step(kept, text=f"{why.text}; there is no other candidate", outcome=why.outcome)
    if following is None and (status.retry_at is None or now < status.retry_at):
        rounds = (status.rounds or 0) + (status.retry_at is None)
        base = int(_BACK_OFF.total_seconds())
        wait = timedelta(seconds=wait_seconds(standing.uid, rounds, base))
        again = status.retry_at or now + wait
        marked = _marked(status.attempts, why)
        kept = _status(marked, tried, rounds, deadline=status.deadline, retry_at=again)
        text = f"{why.text}; all candidates were tried, starts over at {timestamp(again)}"
        return Step(kept, due=again, text=text, outcome=why.outcome)
    if following is None:
        tried, following = (), _next(ranking, (backend,), now)
        assert following is not None, "there is another candidate"
    closed = _status(_closed(status.attempts, why, now), tried, status.rounds)
    return Step(closed, following.name, text=why.text, outcome=why.outcome)


def _follows(ranking: Ranking, status: PlacementStatus, standing: Standing, now: datetime) -> bool:
    """Tell whether a gang that is about to be released goes to the instance of its base gang."""
    if standing.is_released or not standing.waits_for_backend or standing.base is None:
        return False
    if any(one.backend == standing.base for one in status.attempts):
        # It is there, or was refused there.
        return False
    nearest = _next(ranking, status.tried, now)
    return nearest is not None and nearest.name == standing.base


def _next(ranking: Ranking, tried: Collection[str], now: datetime) -> Candidate | None:
    """Return the best candidate that was not tried; one that was just down only if there is no other."""
    left = [one for one in ranking.candidates if one.name not in tried]
    settled = (one for one in left if one.since is None or one.since + SETTLE <= now)
    return next(settled, None) or next(iter(left), None)


def _passed(ranking: Ranking, standing: Standing) -> PassedOver | None:
    name = standing.backend
    if ranking.has(name):
        return None
    # An instance without a record is not known to be gone for good.
    text = f"backend '{name}' has no record"
    return ranking.passed(name) or PassedOver(name, Why.DOWN, text, standing.missing_since)


def _limit(policy: PlacementPolicySpec) -> timedelta | None:
    return duration_of(policy.admission_timeout) if policy.admission_timeout else None


def _with_attempt(status: PlacementStatus, backend: str, now: datetime) -> PlacementStatus:
    """Return the status with an open attempt of this instance."""
    attempts = status.attempts
    if attempts and attempts[-1].backend == backend and attempts[-1].until is None:
        return status
    if attempts and attempts[-1].until is None:
        # Such as a changed topology.
        text = attempts[-1].message or "the gang was recreated for another reason"
        attempts = (*attempts[:-1], _attempt(attempts[-1], {"until": now, "message": text}))
    opened = PlacementAttempt.model_validate({"backend": backend, "from": now})
    return _status((*attempts, opened), status.tried, status.rounds)


def _marked(attempts: tuple[PlacementAttempt, ...], why: Refusal) -> tuple[PlacementAttempt, ...]:
    *former, last = attempts
    given: dict[str, object] = {"message": without_middle(why.text, _MESSAGE)}
    if why.outcome is not None:
        given["outcome"] = why.outcome
    return (*former, _attempt(last, given))


def _closed(
    attempts: tuple[PlacementAttempt, ...], why: Refusal, now: datetime
) -> tuple[PlacementAttempt, ...]:
    *former, last = _marked(attempts, why)
    return (*former, _attempt(last, {"until": now}))


def _attempt(attempt: PlacementAttempt, given: Mapping[str, object]) -> PlacementAttempt:
    # Validated again, not copied, so that the set fields are those that a manifest has.
    return PlacementAttempt.model_validate({**attempt.manifest(), **given})


def _status(
    attempts: tuple[PlacementAttempt, ...],
    tried: tuple[str, ...] = (),
    rounds: int | None = None,
    *,
    deadline: datetime | None = None,
    retry_at: datetime | None = None,
) -> PlacementStatus:
    fields: dict[str, object] = {"attempts": attempts[-ATTEMPTS:]}
    more = {"tried": tried, "rounds": rounds, "deadline": deadline, "retry_at": retry_at}
    return PlacementStatus.model_validate(fields | {k: v for k, v in more.items() if v})
