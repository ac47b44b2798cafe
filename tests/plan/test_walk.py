"""When a gang leaves its instance, where it goes, and what is kept about it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.placement.candidates import Candidate, PassedOver, Ranking, Why
from core_operator.plan.walk.steps import (
    ATTEMPTS,
    HOLD,
    SETTLE,
    Refusal,
    Standing,
    Step,
    first,
    plan_step,
)
from shared_api.models import PlacementOutcome, PlacementStatus
from tests.plan.placement_samples import NOW, policy

WITH = Standing("uid", "a", is_bound=False, is_released=False, waits_for_backend=True)
INVALID = Refusal(PlacementOutcome.INVALID, "no queue set")
TIMED = policy(admissionTimeout="5m")


def ranking(*candidates: str, down: str = "", since: datetime | None = NOW) -> Ranking:
    passed = (PassedOver(down, Why.DOWN, "down: no holder", since),) if down else ()
    return Ranking(tuple(Candidate(name, "weight 1") for name in candidates), passed)


def stored(step: Step) -> PlacementStatus:
    """The status as it is read again after a restart."""
    return PlacementStatus.model_validate_json(step.status.model_dump_json(by_alias=True))


def test_a_gang_that_is_refused_goes_to_the_next_candidate_at_once() -> None:
    step = plan_step(policy(), ranking("a", "b"), None, replace(WITH, refusal=INVALID), NOW)
    assert (step.leaves_for, step.outcome, step.text) == (
        "b",
        PlacementOutcome.INVALID,
        "no queue set",
    )
    (attempt,) = step.status.attempts
    assert attempt.manifest() == {
        "backend": "a",
        "from": "2026-05-01T12:00:00Z",
        "until": "2026-05-01T12:00:00Z",
        "outcome": "Invalid",
        "message": "no queue set",
    }


def test_a_gang_that_is_not_scheduled_in_time_goes_to_the_next_candidate() -> None:
    step = plan_step(TIMED, ranking("a", "b"), None, WITH, NOW)
    assert (step.leaves_for, step.due) == (None, NOW + timedelta(minutes=5))
    assert step.text == "moves on at 2026-05-01T12:05:00Z if not scheduled"
    late = replace(WITH, is_released=True, progress="0/2 pods scheduled")
    early, again = (
        plan_step(TIMED, ranking("a", "b"), stored(step), late, NOW + timedelta(minutes=minutes))
        for minutes in (4, 5)
    )
    assert (early.leaves_for, again.leaves_for) == (None, "b")
    assert again.text == "not scheduled within 5m: 0/2 pods scheduled"
    assert again.outcome is PlacementOutcome.CAPACITY


def test_time_in_which_a_gang_waits_for_its_own_pods_does_not_count() -> None:
    step = plan_step(TIMED, ranking("a", "b"), None, replace(WITH, waits_for_backend=False), NOW)
    assert (step.status.deadline, step.due) == (None, None)


def test_a_timeout_that_is_removed_or_shortened_counts_at_once() -> None:
    known = ranking("a", "b")
    waits = stored(plan_step(TIMED, known, None, WITH, NOW))
    for later in (NOW, NOW + timedelta(hours=1)):
        step = plan_step(policy(), known, waits, WITH, later)
        assert (step.leaves_for, step.due, step.text) == (None, None, "")
        assert step.status.deadline is None
    step = plan_step(policy(admissionTimeout="1m"), known, waits, WITH, NOW)
    assert step.due == step.status.deadline == NOW + timedelta(minutes=1)
    step = plan_step(policy(admissionTimeout="1h"), known, waits, WITH, NOW)
    assert step.due == NOW + timedelta(minutes=5), "it is not known when the time began"


def test_a_gang_that_waits_for_its_own_pods_again_gets_the_whole_time() -> None:
    known, late = ranking("a", "b"), NOW + timedelta(minutes=6)
    waits = stored(plan_step(TIMED, known, None, WITH, NOW))
    step = plan_step(TIMED, known, waits, replace(WITH, waits_for_backend=False), late)
    assert (step.leaves_for, step.due, step.status.deadline) == (None, None, None)
    again = plan_step(TIMED, known, stored(step), WITH, late)
    assert again.due == late + timedelta(minutes=5)


def test_a_gang_with_a_bound_pod_never_moves() -> None:
    late = PlacementStatus.model_validate(
        {"attempts": [{"backend": "a", "from": NOW}], "deadline": NOW - timedelta(hours=1)}
    )
    bound = replace(WITH, is_bound=True, is_released=True, refusal=INVALID)
    step = plan_step(TIMED, ranking("b", down="a"), late, bound, NOW)
    assert step.leaves_for is None
    assert step.status.manifest() == {
        "attempts": [{"backend": "a", "from": "2026-05-01T12:00:00Z"}]
    }


def test_a_gated_gang_leaves_an_instance_that_stays_down() -> None:
    known = ranking("b", down="a")
    step = plan_step(policy(), known, None, WITH, NOW)
    assert (step.leaves_for, step.due) == (None, NOW + HOLD)
    step = plan_step(policy(), known, stored(step), WITH, NOW + HOLD)
    assert (step.leaves_for, step.outcome) == ("b", PlacementOutcome.TRANSIENT)


def test_a_released_gang_stays_with_an_instance_that_is_down_unless_it_is_to_be_relocated() -> None:
    known, seen = ranking("b", down="a"), replace(WITH, is_released=True)
    step = plan_step(TIMED, known, None, seen, NOW + timedelta(days=1))
    assert step.leaves_for is None
    assert step.text == "down: no holder; its scheduler may have the gang, so it stays"
    eager = policy(lost={"after": "10m", "action": "Relocate"})
    step = plan_step(eager, known, None, seen, NOW)
    assert (step.leaves_for, step.due) == (None, NOW + timedelta(minutes=10))
    step = plan_step(eager, known, stored(step), seen, NOW + timedelta(minutes=10))
    assert (step.leaves_for, step.outcome) == ("b", PlacementOutcome.AMBIGUOUS)


@pytest.mark.parametrize("is_released", [True, False])
def test_a_gang_leaves_an_instance_whose_record_is_deleted(is_released: bool) -> None:
    eager = policy(lost={"after": "10s", "action": "Relocate"})
    lost = replace(WITH, is_released=is_released, missing_since=NOW)
    early, late = (
        plan_step(eager, ranking("b"), None, lost, NOW + timedelta(seconds=seconds))
        for seconds in (9, 10)
    )
    assert (early.leaves_for, early.due) == (None, NOW + timedelta(seconds=10))
    assert (late.leaves_for, late.text) == ("b", "backend 'a' has no record")
    stays = plan_step(policy(), ranking("b"), None, replace(lost, is_released=True), NOW + 2 * HOLD)
    assert stays.leaves_for is None, "its scheduler may have the gang"


NEAR = policy(objective="Locality")
SCALED = replace(WITH, base="b")


def test_under_locality_a_gated_gang_follows_its_base_gang() -> None:
    step = plan_step(NEAR, ranking("b", "a"), None, SCALED, NOW)
    assert (step.leaves_for, step.outcome) == ("b", None)
    assert step.text == "its base gang is with backend 'b'"
    assert step.status.attempts[0].manifest() == {
        "backend": "a",
        "from": "2026-05-01T12:00:00Z",
        "until": "2026-05-01T12:00:00Z",
        "message": "its base gang is with backend 'b'",
    }
    assert first(ranking("b", "a"), stored(step), NOW) == "b"


@pytest.mark.parametrize(
    ("standing", "known"),
    [
        (replace(SCALED, is_released=True), ranking("b", "a")),
        (replace(SCALED, waits_for_backend=False), ranking("b", "a")),
        (replace(SCALED, base=None), ranking("b", "a")),
        (SCALED, ranking("a", down="b")),
    ],
    ids=["released", "base gang not scheduled", "no base gang", "base gang's instance is down"],
)
def test_a_gang_does_not_follow_its_base_gang(standing: Standing, known: Ranking) -> None:
    assert plan_step(NEAR, known, None, standing, NOW).leaves_for is None


def test_a_gang_does_not_follow_its_base_gang_to_where_it_was_refused() -> None:
    refused = plan_step(NEAR, ranking("b", "a"), None, replace(WITH, backend="b"), NOW)
    refused = plan_step(
        NEAR,
        ranking("b", "a"),
        stored(refused),
        replace(SCALED, backend="b", refusal=INVALID),
        NOW,
    )
    assert refused.leaves_for == "a"
    assert plan_step(NEAR, ranking("b", "a"), stored(refused), SCALED, NOW).leaves_for is None
    without = PlacementStatus.model_validate({**stored(refused).manifest(), "tried": []})
    assert plan_step(NEAR, ranking("b", "a"), without, SCALED, NOW).leaves_for is None


def test_a_gang_that_is_recreated_without_a_refusal_ends_its_former_attempt() -> None:
    open_ = PlacementStatus.model_validate({"attempts": [{"backend": "a", "from": NOW}]})
    later = NOW + timedelta(minutes=1)
    step = plan_step(policy(), ranking("a", "b"), open_, replace(WITH, backend="b"), later)
    assert [(one.backend, one.until) for one in step.status.attempts] == [("a", later), ("b", None)]


def test_after_the_last_candidate_the_gang_waits_and_starts_over() -> None:
    tried = PlacementStatus.model_validate(
        {"attempts": [{"backend": "b", "from": NOW}], "tried": ["a"], "deadline": NOW}
    )
    last = replace(WITH, backend="b", is_released=True)
    step = plan_step(TIMED, ranking("a", "b"), tried, last, NOW)
    assert step.leaves_for is None
    assert step.due is not None
    assert NOW + timedelta(seconds=30) <= step.due <= NOW + timedelta(seconds=60)
    assert "all candidates were tried, starts over at" in step.text
    between = plan_step(TIMED, ranking("a", "b"), stored(step), last, NOW + timedelta(seconds=1))
    assert (between.due, between.status) == (step.due, step.status)
    again = plan_step(TIMED, ranking("a", "b"), stored(between), last, step.due)
    assert (again.leaves_for, again.status.tried, again.status.rounds) == ("a", (), 1)


def test_waits_between_rounds_grow() -> None:
    last, waits = replace(WITH, backend="b", refusal=INVALID), []
    for rounds in range(6):
        before = {"attempts": [{"backend": "b", "from": NOW}], "tried": ["a"], "rounds": rounds}
        status = PlacementStatus.model_validate(before)
        due = plan_step(policy(), ranking("a", "b"), status, last, NOW).due
        assert due is not None
        waits.append(due - NOW)
    assert waits == sorted(waits)
    assert waits[-1] <= timedelta(minutes=30)


def test_an_instance_that_was_just_down_comes_after_the_others() -> None:
    back = Candidate("a", "weight 9", since=NOW)
    known = Ranking((back, Candidate("b", "weight 1")))
    assert first(known, None, NOW + timedelta(seconds=1)) == "b"
    assert first(known, None, NOW + SETTLE) == "a"
    assert first(Ranking((back,)), None, NOW) == "a", "alone it is the best"


def test_a_gang_without_another_candidate_stays_and_reports_it() -> None:
    step = plan_step(policy(), ranking("a"), None, replace(WITH, refusal=INVALID), NOW)
    assert (step.leaves_for, step.due) == (None, None)
    assert step.text == "no queue set; there is no other candidate"


@pytest.mark.parametrize("is_released", [True, False])
def test_a_gang_leaves_an_instance_that_the_policy_forbids_by_now(is_released: bool) -> None:
    passed = PassedOver("a", Why.FORBIDDEN, "the policy avoids it")
    known = Ranking((Candidate("b", "weight 1"),), (passed,))
    step = plan_step(policy(), known, None, replace(WITH, is_released=is_released), NOW)
    assert (step.leaves_for, step.outcome) == ("b", PlacementOutcome.INVALID)


NAMES = ("a", "b", "c")
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["wait", "refuse", "no capacity", "down", "bound", "lost"]),
        st.integers(0, 900),
        st.sets(st.sampled_from(NAMES)),
        st.sampled_from([None, "1m", "5m"]),
    ),
    max_size=40,
)


@given(EVENTS, st.booleans())
def test_whatever_happens_the_walk_is_bounded_and_keeps_its_promises(
    events: list[tuple[str, int, set[str], str | None]],
    relocate: bool,
) -> None:
    lost: dict[str, Any] = {"lost": {"after": "1m", "action": "Relocate"}} if relocate else {}
    now, status = NOW, None
    backend, bound, released = "a", False, False
    for event, seconds, up, timeout in events:
        # The policy may be edited at any time.
        wish = policy(**lost, **({"admissionTimeout": timeout} if timeout else {}))
        now += timedelta(seconds=seconds)
        bound = event == "bound" or (bound and event != "lost")
        released = bound or released or event == "wait"
        known = Ranking(
            tuple(Candidate(name, "weight 1") for name in NAMES if name in up),
            tuple(
                PassedOver(name, Why.DOWN, "down", now - timedelta(seconds=seconds))
                for name in NAMES
                if name not in up
            ),
        )
        refusals = {
            "refuse": INVALID,
            "no capacity": Refusal(PlacementOutcome.CAPACITY, "full"),
        }
        standing = Standing(
            "uid", backend, bound, released, waits_for_backend=True, refusal=refusals.get(event)
        )
        step = plan_step(wish, known, status, standing, now)
        assert plan_step(wish, known, status, standing, now) == step, (
            "the same input, the same step"
        )
        assert step.due is None or step.due > now, "or the gang would be reconciled without end"
        status = stored(step)
        assert len(status.attempts) <= ATTEMPTS
        assert len(set(status.tried)) == len(status.tried) <= len(NAMES)
        assert all(one.until is not None for one in status.attempts[:-1])
        if step.leaves_for is None:
            assert status.attempts[-1].until is None
            continue
        assert not bound
        assert step.leaves_for in up - {backend}
        assert status.attempts[-1].outcome is step.outcome
        if released and backend not in up and standing.refusal is None:
            assert relocate, "a scheduler that may have the gang keeps it"
        backend, released = step.leaves_for, False
