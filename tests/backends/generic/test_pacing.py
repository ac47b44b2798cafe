"""Who is told of first, how long news are gathered, and what a new generation is worth."""

from typing import Any

import pytest

from backend_controllers.generic.debounce import Gathering, mere_news, news_of_writing
from backend_controllers.generic.gang_results import Board, Programming, Stage
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.queue import Queue
from tests.backends.generic.samples import NAMESPACE, gang

GANG = gang(("a", 1, 1))


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
    news_of_writing(queue)(GANG)
    assert queue.take() == ObjectKey(NAMESPACE, "w-0")


def _is_told(board: Board, **changes: Any) -> bool:
    told: list[object] = []
    board.subscribe(told.append)
    board.post(GANG, Programming(**{"stage": Stage.PROGRAMMED, "generation": 1, **changes}))
    return told == [GANG]


@pytest.mark.parametrize(
    ("changes", "running", "told"),
    [
        ({}, True, False),
        ({"generation": 2}, False, False),
        ({"generation": 2}, True, True),
        ({"generation": 2, "message": "other"}, False, True),
        ({"stage": Stage.REPLACING}, False, True),
    ],
    ids=["nothing", "generation", "generation-of-one-that-runs", "more", "stage"],
)
def test_a_new_generation_alone_is_told_of_gangs_that_run(
    changes: dict[str, Any], running: bool, told: bool
) -> None:
    board = Board()
    board.post(GANG, Programming(Stage.PROGRAMMED, generation=1))
    board.read("gang", is_running=running)
    assert _is_told(board, **changes) is told
    known = board.get("gang")
    assert known is not None
    assert known.generation == changes.get("generation", 1)


def test_a_gang_that_no_longer_runs_waits_for_its_next_news() -> None:
    board = Board()
    board.post(GANG, Programming(Stage.PROGRAMMED, generation=1))
    board.read("gang", is_running=True)
    board.read("gang", is_running=False)
    assert not _is_told(board, generation=2)


def test_the_first_post_is_told() -> None:
    assert _is_told(Board())
