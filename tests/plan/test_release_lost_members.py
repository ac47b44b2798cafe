"""Members that are lost before or after a gang is scheduled."""

import pytest

from core_operator.plan.release import (
    WaitingFor,
)
from tests.plan.pod_samples import (
    BOUND,
    GATED,
    READY,
    RELEASED,
    PodState,
    condition,
)
from tests.plan.release_kit import (
    AFTER_RELEASE,
    PROGRAMMED,
    RECREATE,
    gang_of,
    indexes,
    pods_in,
    released,
)

RELEASED_ONCE = condition("Released")


@pytest.mark.parametrize(
    ("states", "ungated"),
    [
        ([GATED, GATED], []),
        ([RELEASED, GATED], []),
        ([GATED, GATED, READY], []),
        ([BOUND, GATED], ["1"]),
        ([RELEASED, RELEASED, GATED], ["2"]),
    ],
    ids=["all lost", "one lost while it waits", "surplus runs", "one of two", "surplus is held"],
)
def test_a_gang_that_was_lost_is_released_again_only_when_it_is_withdrawn(
    states: list[PodState], ungated: list[str]
) -> None:
    pods, accepted = pods_in(*states), condition("Accepted")
    known = gang_of(pods, 2, accepted, PROGRAMMED)
    plan = released(pods, known, AFTER_RELEASE)
    assert indexes(plan.ungate) == ungated
    if not ungated:
        assert plan.reason is WaitingFor.WITHDRAWAL
        assert plan.message == "backend example has not withdrawn the lost gang"
    withdrawn = gang_of(pods, 2, accepted, condition("Programmed", "False"))
    free = released(pods, withdrawn, AFTER_RELEASE)
    assert indexes(free.ungate) == [str(i) for i, state in enumerate(states) if state is GATED]
    # Where objects come first, they are there all the time.
    usual = released(pods, known)
    assert indexes(usual.ungate) == indexes(free.ungate)


def test_a_gang_of_one_is_released_again_at_once() -> None:
    pods = pods_in(GATED)
    known = gang_of(pods, 1, condition("Accepted"), PROGRAMMED)
    assert indexes(released(pods, known, AFTER_RELEASE).ungate) == ["0"]


def test_a_gang_that_lost_a_member_before_placement_is_recreated_on_request() -> None:
    pods = pods_in(RELEASED, GATED, BOUND, RELEASED)
    of = gang_of(pods, 3, PROGRAMMED, condition("Released"))
    assert released(pods, of).recreate == ()
    plan = released(pods, of, RECREATE)
    # Index 3 is surplus, index 2 is bound: both stay.
    assert indexes(plan.recreate) == ["0"]
    assert plan.ungate == ()
    assert plan.reason is WaitingFor.RECREATED_MEMBERS


@pytest.mark.parametrize(
    ("states", "conditions", "now", "placed", "starts_new_incarnation"),
    [
        # Lost while none was placed.
        ((RELEASED, GATED), (RELEASED_ONCE,), None, None, True),
        ((), (RELEASED_ONCE,), 3, None, True),
        # Lost one after the other: the condition tells of the first loss alone.
        ((GATED, GATED), (), None, 0, True),
        ((RELEASED, GATED), (), 2, 2, True),
        ((RELEASED, RELEASED), (), 2, 2, True),
        # A surplus pod is no member.
        ((RELEASED, GATED, BOUND), (), None, 0, True),
        # Its scheduler still has something of the gang, and goes on with it.
        ((BOUND, GATED), (RELEASED_ONCE,), None, 0, False),
        ((BOUND, RELEASED), (), None, 0, False),
        # It waits to be placed.
        ((RELEASED, RELEASED), (RELEASED_ONCE,), None, None, False),
        ((RELEASED, RELEASED), (RELEASED_ONCE,), 1, 0, False),
        ((GATED, GATED), (), 1, 0, False),
    ],
)
def test_a_gang_that_was_seen_and_of_which_nothing_is_scheduled_is_another_one_from_then_on(
    states: tuple[PodState, ...],
    conditions: tuple[object, ...],
    now: int | None,
    placed: int | None,
    starts_new_incarnation: bool,
) -> None:
    pods = pods_in(*states)
    of = gang_of(pods, 2, PROGRAMMED, *conditions)
    assert of.status is not None
    status = of.status.model_copy(update={"incarnation": now, "placed_incarnation": placed})
    of = of.model_copy(update={"status": status})
    plan = released(pods, of, RECREATE, wanted=max(2, len(pods)))
    assert plan.starts_new_incarnation is starts_new_incarnation
    assert not released(pods, of, wanted=2).starts_new_incarnation, (
        "only where the record asks for it"
    )
    if starts_new_incarnation:
        # Members that wait by themselves would be of the former one.
        waiting = [i for i, state in enumerate(states[:2]) if state is RELEASED]
        assert indexes(plan.recreate) == [str(i) for i in waiting]
        assert plan.ungate == ()
        assert plan.reason is WaitingFor.RECREATED_MEMBERS


def test_an_interrupted_release_is_not_taken_for_a_lost_member() -> None:
    pods = pods_in(RELEASED, GATED)
    plan = released(pods, gang_of(pods, 2, PROGRAMMED), RECREATE)
    assert (indexes(plan.recreate), indexes(plan.ungate)) == ([], ["1"])


def test_recreated_members_wait_for_the_backend_again() -> None:
    pods = pods_in(GATED, BOUND)
    of = gang_of(pods, 2, condition("Released", "False"), condition("Programmed", "False"))
    assert released(pods, of, RECREATE).reason is WaitingFor.PROGRAM


def test_a_member_lost_after_placement_is_only_replaced() -> None:
    pods = pods_in(READY, GATED, READY)
    plan = released(pods, gang_of(pods, 2, condition("Released")), RECREATE)
    assert (plan.recreate, indexes(plan.ungate)) == ((), ["1"])
