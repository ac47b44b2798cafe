"""What counts as a breach of the minimum, since when, and what ends it."""

from datetime import datetime, timedelta

import pytest

from core_operator.plan.statuses.breach import (
    CliqueHealth,
    Tolerance,
    breach_conditions,
    deadline_of,
    recheck_at,
)
from core_operator.plan.statuses.conditions import Observation, find
from shared_api import names
from shared_api.durations import duration_of
from shared_api.models import Condition
from tests.plan.pod_samples import NOW

WHOLE = CliqueHealth(minimum=2, ready=2, scheduled=2, serving=2)
STARTING = CliqueHealth(minimum=2, ready=0, scheduled=2, serving=2)
CRASHING = CliqueHealth(minimum=2, ready=0, scheduled=2, serving=0)
LOST = CliqueHealth(minimum=2, ready=1, scheduled=1, serving=1)
TOLERANCE = Tolerance(timedelta(seconds=100))


def told(
    *seen: tuple[int, CliqueHealth], tolerance: Tolerance = TOLERANCE, marked: bool = False
) -> dict[str, Condition]:
    """What is said in the end, after these states at these seconds."""
    conditions: tuple[Condition, ...] = ()
    for second, health in seen:
        previous = (*conditions, _mark()) if marked else conditions
        observation = Observation(_at(second), previous)
        conditions = breach_conditions(health, tolerance, observation)
    return {found.type: found for found in conditions}


def _at(second: int) -> datetime:
    return NOW.replace(microsecond=0) + timedelta(seconds=second)


def _mark() -> Condition:
    kind = names.CONDITION_GANG_TERMINATION_IN_PROGRESS
    return Observation(NOW, ()).condition(kind, holds=True, reason="Any")


def counting_since(said: dict[str, Condition]) -> datetime | None:
    pending = said.get(names.CONDITION_GANG_TERMINATION_PENDING)
    return None if pending is None else pending.last_transition_time


def test_a_breach_counts_down_from_when_it_was_seen() -> None:
    said = told((0, WHOLE), (5, LOST), (30, LOST))
    assert counting_since(said) == _at(5)
    message = said[names.CONDITION_GANG_TERMINATION_PENDING].message
    assert message.startswith("1 pods scheduled, minimum 2; terminated at 2026-03-01T12:01:45Z")


@pytest.mark.parametrize(
    "seen",
    [
        ((0, LOST), (500, LOST)),
        ((0, STARTING), (500, STARTING)),
        ((0, WHOLE), (5, WHOLE)),
    ],
    ids=["never-scheduled", "starting", "whole"],
)
def test_nothing_counts_before_the_minimum_was_scheduled_nor_while_it_starts_or_is_ready(
    seen: tuple[tuple[int, CliqueHealth], ...],
) -> None:
    assert counting_since(told(*seen)) is None


def test_a_minimum_that_crashes_from_the_beginning_counts_down() -> None:
    assert counting_since(told((0, CRASHING), (30, CRASHING))) == _at(0)
    assert counting_since(told((0, STARTING), (7, CRASHING), (30, CRASHING))) == _at(7)
    assert counting_since(told((0, LOST), (9, CRASHING), (30, CRASHING))) == _at(9)


def test_a_flapping_pod_does_not_start_the_countdown_over() -> None:
    said = told((0, WHOLE), (5, LOST), (10, WHOLE), (20, LOST), (30, WHOLE), (40, LOST))
    assert counting_since(said) == _at(5)


def test_a_minimum_that_holds_for_a_while_ends_the_countdown() -> None:
    recovering = told((0, WHOLE), (5, LOST), (10, WHOLE))
    assert counting_since(recovering) == _at(5)
    assert recheck_at(tuple(recovering.values()), TOLERANCE) == _at(35)
    over = told((0, WHOLE), (5, LOST), (10, WHOLE), (35, WHOLE))
    assert counting_since(over) is None
    assert recheck_at(tuple(over.values()), TOLERANCE) is None
    again = told((0, WHOLE), (5, LOST), (10, WHOLE), (35, WHOLE), (50, LOST))
    assert counting_since(again) == _at(50)


def test_our_own_update_counts_nothing_and_disarms() -> None:
    updating = Tolerance(timedelta(seconds=100), is_updating=True)
    said = told((0, WHOLE), (5, LOST), tolerance=updating)
    breached = said[names.CONDITION_MIN_AVAILABLE_BREACHED]
    assert (breached.status, breached.reason) == ("Unknown", names.REASON_UPDATE_IN_PROGRESS)
    assert counting_since(said) is None


def test_what_was_terminated_counts_from_when_it_is_scheduled_again() -> None:
    before = breach_conditions(
        CRASHING, TOLERANCE, Observation(_at(0), (*told((0, LOST)).values(), _mark()))
    )
    assert counting_since({found.type: found for found in before}) is None
    later = breach_conditions(CRASHING, TOLERANCE, Observation(_at(40), before))
    assert counting_since({found.type: found for found in later}) == _at(40)


def test_what_was_terminated_does_not_count_while_it_is_marked() -> None:
    said = told((0, LOST), (5, LOST), marked=True)
    breached = said[names.CONDITION_MIN_AVAILABLE_BREACHED]
    assert breached.reason == names.REASON_GANG_TERMINATION_ACTIVE
    assert counting_since(said) is None
    ready = tuple(told((0, LOST), (5, WHOLE), marked=True).values())
    found = find(ready, names.CONDITION_MIN_AVAILABLE_BREACHED)
    assert found is not None
    assert found.reason == names.REASON_SUFFICIENT_READY_PODS


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("250ms", 0.25), ("1.5m", 90), ("99999999h", 315360000)],
)
def test_durations_are_read_as_go_writes_them(text: str, seconds: float) -> None:
    assert duration_of(text) == timedelta(seconds=seconds)


def test_a_deadline_is_on_a_full_second() -> None:
    assert deadline_of(_at(0), timedelta(milliseconds=1500)) == _at(2)
