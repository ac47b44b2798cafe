"""Many calls at once begin with few, and stop beginning after a failure."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from shared_api.runtime.reconciling.slowstart import slow_start
from tests.runtime.writes import refusal

pytestmark = pytest.mark.virtual_time


async def test_calls_that_are_known_to_be_welcome_may_start_faster() -> None:
    starts: list[float] = []

    async def call(number: int) -> None:
        starts.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)

    await slow_start(range(20), call, limit=8, first=5)
    assert [starts.count(second) for second in range(3)] == [5, 8, 7]


async def test_what_is_under_way_when_one_fails_may_finish_and_all_errors_are_reported() -> None:
    finished: list[int] = []

    async def call(number: int) -> None:
        await asyncio.sleep(1)
        if number in (3, 4):
            raise refusal(500, f"Broken{number}")
        finished.append(number)

    with pytest.raises(ExceptionGroup, match="2 of 7 writes failed"):
        await slow_start(range(100), call, limit=8)
    assert finished == [0, 1, 2, 5, 6]


async def test_an_item_is_asked_for_when_its_turn_comes_and_dropped_afterwards() -> None:
    class Item:
        """What one call needs."""

    alive: weakref.WeakSet[Item] = weakref.WeakSet()
    most = 0

    def items() -> Iterator[Item]:
        nonlocal most
        for _ in range(1000):
            item = Item()
            alive.add(item)
            most = max(most, len(alive))
            yield item
            del item

    async def call(item: Item) -> None:
        await asyncio.sleep(1)

    await slow_start(items(), call, limit=8)
    # Those under way, the one that is being made, and two that tell whether there are many.
    assert most <= 8 + 1 + 2


async def test_what_runs_may_finish_when_the_next_item_cannot_be_made() -> None:
    finished: list[int] = []

    def items() -> Iterator[int]:
        yield from range(4)
        raise LookupError("no fifth")

    async def call(number: int) -> None:
        await asyncio.sleep(1)
        finished.append(number)

    with pytest.raises(LookupError, match="no fifth"):
        await slow_start(items(), call, limit=8, first=8)
    assert sorted(finished) == [0, 1, 2, 3]


async def test_a_defect_in_a_call_is_not_taken_for_a_refusal() -> None:
    async def call(number: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        await slow_start(range(3), call, limit=8)
    assert caught.group_contains(ZeroDivisionError)


async def test_nothing_of_finished_work_is_left_to_the_collector() -> None:
    class Held:
        """What a call knows."""

    async def work() -> "weakref.ref[Held]":
        held = Held()

        async def call(number: int) -> None:
            assert isinstance(held, Held), number

        await slow_start(range(3), call, limit=2)
        return weakref.ref(held)

    gc.disable()
    try:
        assert (await work())() is None
    finally:
        gc.enable()


async def test_nothing_to_do_is_done_at_once() -> None:
    async def call(number: int) -> None:
        raise AssertionError

    await slow_start([], call, limit=8)
