"""A burst is one write: how long a key waits for more."""

import pytest

from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.debounce import Debouncer, MinimumInterval


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.clock = Clock(monotonic=lambda: self.now)


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.mark.parametrize(("waiting", "seconds"), [(0, 1.0), (10, 2.0), (100, 11.0), (10_000, 30.0)])
def test_the_delay_grows_with_those_that_wait(waiting: int, seconds: float, hand: Hand) -> None:
    debouncer: Debouncer[str] = Debouncer(1.0, hand.clock, longest=30.0, per_waiting=0.1)
    assert debouncer.delay(waiting) == pytest.approx(seconds)


def test_no_delay_never_becomes_one_and_the_shortest_is_never_cut(hand: Hand) -> None:
    assert Debouncer[str](0.0, hand.clock, longest=30.0, per_waiting=0.1).delay(10_000) == 0.0
    assert Debouncer[str](60.0, hand.clock, longest=30.0, per_waiting=0.1).delay(10_000) == 60.0


@pytest.mark.parametrize(
    ("took", "ago", "seconds"),
    [(0.01, 0.0, 0.02), (0.05, 0.0, 0.05), (3.0, 0.0, 0.1), (0.05, 0.3, 0.02)],
)
def test_a_recent_write_reports_how_busy_the_server_is(
    took: float, ago: float, seconds: float, hand: Hand
) -> None:
    debouncer: Debouncer[str] = Debouncer(0.02, hand.clock, longest=0.1)
    since = hand.now
    hand.now += took
    debouncer.wrote(since)
    hand.now += ago
    assert debouncer.delay() == pytest.approx(seconds)


def test_a_key_waits_from_its_first_change_until_it_is_done(hand: Hand) -> None:
    debouncer: Debouncer[str] = Debouncer(1.0, hand.clock)
    assert "x" not in debouncer
    assert debouncer.remaining("x", ago=0.25) == pytest.approx(0.75)
    hand.now += 0.5
    assert debouncer.remaining("x") == pytest.approx(0.25)
    assert debouncer.first_change("x") == pytest.approx(99.75)
    assert "x" in debouncer
    debouncer.done("x")
    assert "x" not in debouncer
    debouncer.done("x")
    assert debouncer.remaining("x") == pytest.approx(1.0)


def test_those_that_wait_together_wait_longer(hand: Hand) -> None:
    debouncer: Debouncer[int] = Debouncer(1.0, hand.clock, per_waiting=0.1)
    for key in range(9):
        debouncer.remaining(key)
    assert debouncer.remaining(9) == pytest.approx(2.0)
    for key in range(9):
        debouncer.done(key)
    assert debouncer.remaining(9) == pytest.approx(1.1)


def test_an_interval_counts_from_the_last_start(hand: Hand) -> None:
    interval: MinimumInterval[str] = MinimumInterval(hand.clock)
    assert interval.remaining("x", 5.0) < 0
    interval.start("x")
    hand.now += 2.0
    assert interval.remaining("x", 5.0) == pytest.approx(3.0)
    assert interval.remaining("y", 5.0) < 0
    interval.forget("x")
    assert interval.remaining("x", 5.0) < 0
