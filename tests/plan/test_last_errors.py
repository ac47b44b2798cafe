"""lastErrors has the current problem of an object, and nothing once it has ended."""

import pytest

from core_operator.plan.statuses.last_errors import last_errors
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from shared_api.models import LastError
from tests.plan.pod_samples import LATER, NOW

REFUSED = Blocker(BlockingReason.CHILD_REFUSED, "the server refuses a child: no")
STALLED = Blocker(BlockingReason.UNSUPPORTED, "no backend has Gang")
WAITING = Blocker(BlockingReason.UNSCHEDULABLE, "0/2 pods scheduled")
AGAIN = Blocker(BlockingReason.REPLACED_LATER, "lost 3 times")


@pytest.mark.parametrize(
    ("problem", "blocker", "code"),
    [
        (REFUSED, None, "ChildRefused"),
        (REFUSED, STALLED, "ChildRefused"),
        (AGAIN, AGAIN, "ReplacedLater"),
        (None, STALLED, "Unsupported"),
    ],
)
def test_a_problem_is_an_error(problem: Blocker | None, blocker: Blocker | None, code: str) -> None:
    [error] = _errors(problem, blocker)
    assert error.code == code
    assert error.description == (problem or blocker or WAITING).message
    assert error.observed_at == NOW.replace(microsecond=0)


@pytest.mark.parametrize("blocker", [None, WAITING])
def test_progress_is_no_error(blocker: Blocker | None) -> None:
    assert last_errors(None, blocker, (), NOW) == {}


def test_an_error_that_ended_is_removed() -> None:
    assert last_errors(None, None, _errors(REFUSED, None), LATER) == {}


def test_the_time_of_an_error_stays_until_it_changes() -> None:
    first = _errors(REFUSED, None)
    assert last_errors(REFUSED, None, first, LATER) == last_errors(REFUSED, None, (), NOW)
    assert last_errors(STALLED, None, first, LATER) == last_errors(STALLED, None, (), LATER)


def _errors(problem: Blocker | None, blocker: Blocker | None) -> list[LastError]:
    found = last_errors(problem, blocker, (), NOW)["lastErrors"]
    assert isinstance(found, list)
    return [LastError.model_validate(one) for one in found]
