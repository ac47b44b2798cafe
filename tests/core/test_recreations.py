"""A gang that is recreated again and again is released after longer and longer pauses."""

from dataclasses import replace

from core_operator.state.recreation_backoff import Recreations
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM

GANG, OTHER = ObjectKey("n", "g"), ObjectKey("n", "h")


class Hands:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_first_time_costs_nothing_and_every_next_one_twice_as_much() -> None:
    hands = Hands()
    recreations = Recreations(replace(SYSTEM, monotonic=hands))
    waits = []
    for _ in range(8):
        recreations.note(GANG)
        waits.append(recreations.wait(GANG))
    assert waits == [0, 2, 4, 8, 16, 32, 60, 60]
    assert recreations.wait(OTHER) == 0


def test_the_wait_passes_and_is_over_for_good_once_the_gang_is_scheduled() -> None:
    hands = Hands()
    recreations = Recreations(replace(SYSTEM, monotonic=hands))
    for _ in range(3):
        recreations.note(GANG)
    hands.now += 3
    assert recreations.wait(GANG) == 1
    hands.now += 1
    assert recreations.wait(GANG) <= 0
    recreations.forget(GANG)
    recreations.note(GANG)
    assert recreations.wait(GANG) == 0
