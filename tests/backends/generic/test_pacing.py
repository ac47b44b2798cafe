"""Who is told of first, how long news are gathered, and what a new generation is worth."""

from typing import Any

import pytest

from backend_controllers.generic.pacing import Gathering, mere_news, news_of_writing
from backend_controllers.generic.programming import Board, Programming, Stage
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodGang
from shared_api.runtime.clock import Clock
from shared_api.runtime.queue import Queue
from tests.backends.generic.samples import NAMESPACE, gang

GANG = gang(("a", 1, 1))
KEY = ObjectKey(NAMESPACE, "w-0")
WRITTEN = Programming(Stage.PROGRAMMED, generation=1)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.time)


@pytest.mark.parametrize(
    ("took", "idle", "seconds"),
    [(0.005, 0.0, 0.02), (0.08, 0.0, 0.08), (0.08, 0.2, 0.08), (0.08, 0.3, 0.02), (3.0, 0.0, 0.1)],
    ids=["quick", "slow", "a-moment-ago", "long-ago", "very-slow"],
)
def test_news_are_gathered_for_as_long_as_a_write_takes_just_now(
    took: float, idle: float, seconds: float
) -> None:
    hand = Hand()
    gathering = Gathering(0.02, hand.clock())
    assert gathering.seconds() == 0.02
    began = hand.time
    hand.time += took
    gathering.wrote(began)
    hand.time += idle
    assert gathering.seconds() == pytest.approx(seconds)


def test_a_gang_that_was_written_down_goes_before_those_that_moved_on() -> None:
    queue = Queue[ObjectKey](lambda key: key.namespace)
    for name in ("x", "y"):
        queue.add(ObjectKey(NAMESPACE, name), priority=mere_news(None, GANG))
    news_of_writing(queue, 5.0)(GANG, is_urgent=True)
    assert queue.take() == KEY


def test_what_is_not_urgent_comes_with_the_next_news() -> None:
    hand = Hand()
    queue = Queue[ObjectKey](lambda key: key.namespace, clock=hand.clock())
    news_of_writing(queue, 5.0)(GANG, is_urgent=False)
    assert queue.take() is None
    queue.add(KEY, priority=mere_news(None, None), delay=0.02)
    hand.time += 0.03
    assert queue.take() == KEY
    queue.done(KEY)
    hand.time += 10
    assert queue.take() is None


def _told(board: Board, value: PodGang, **changes: Any) -> list[bool]:
    told: list[bool] = []

    def wake(woken: PodGang, /, *, is_urgent: bool) -> None:
        assert woken is value
        told.append(is_urgent)

    board.subscribe(wake)
    board.post(value, Programming(**{"stage": Stage.PROGRAMMED, "generation": 1, **changes}))
    return told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"generation": 2}, [False]),
        ({"generation": 2, "message": "other"}, [True]),
        ({"stage": Stage.REPLACING}, [True]),
    ],
    ids=["nothing", "generation", "more", "stage"],
)
def test_a_new_generation_alone_is_not_urgent(changes: dict[str, Any], told: list[bool]) -> None:
    board = Board()
    board.post(GANG, WRITTEN)
    assert _told(board, GANG, **changes) == told
    known = board.get("gang")
    assert known is not None
    assert known.generation == changes.get("generation", 1)


def test_of_a_gang_that_runs_a_new_generation_is_told() -> None:
    running = gang(("a", 1, 1), status={"phase": "Running"})
    board = Board()
    board.post(running, WRITTEN)
    assert _told(board, running, generation=2) == [True]


def test_the_first_post_is_urgent() -> None:
    assert _told(Board(), GANG) == [True]
