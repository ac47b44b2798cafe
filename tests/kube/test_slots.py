"""Who goes first when more requests wait than may be in flight."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from shared_api.kube.http.slots import Slots, Urgency

BEGIN, GO_ON, FINISH = Urgency


class Line:
    """Requests at the door, each of which stays until it is told to go."""

    def __init__(self, count: int, group: asyncio.TaskGroup) -> None:
        self.slots = Slots(count)
        self._group = group
        self.inside: list[str] = []
        self.most = 0
        self._going: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, urgency: Urgency) -> None:
        self._going[name] = asyncio.Event()
        self.tasks[name] = self._group.create_task(self._visit(name, urgency))
        await settled()

    async def leave(self, name: str) -> None:
        self._going[name].set()
        await settled()

    async def _visit(self, name: str, urgency: Urgency) -> None:
        await self.slots.acquire(urgency)
        self.inside.append(name)
        self.most = max(self.most, len(self.inside))
        try:
            await self._going[name].wait()
        finally:
            self.inside.remove(name)
            self.slots.release()


@contextlib.asynccontextmanager
async def line_before(count: int) -> AsyncIterator[Line]:
    """Callers that wait for a number of slots; those left at the end are cancelled."""
    async with asyncio.TaskGroup() as group:
        line = Line(count, group)
        yield line
        for task in line.tasks.values():
            task.cancel()


async def settled() -> None:
    """Let everybody go as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def served(line: Line) -> list[str]:
    """Release the slots one after the other; return the callers that got one, in order."""
    order = []
    while line.inside:
        order.append(line.inside[0])
        await line.leave(line.inside[0])
    return order


async def test_what_is_about_to_be_done_goes_before_what_is_begun() -> None:
    async with line_before(1) as line:
        for name, urgency in [("now", GO_ON), ("new", BEGIN), ("half", GO_ON), ("nearly", FINISH)]:
            await line.come(name, urgency)
        assert await served(line) == ["now", "nearly", "half", "new"]


async def test_among_equals_the_one_that_waits_longest_is_next() -> None:
    async with line_before(1) as line:
        for name in "abcdef":
            await line.come(name, GO_ON)
        assert await served(line) == list("abcdef")


async def test_one_slot_in_four_goes_to_the_caller_that_waits_longest() -> None:
    async with line_before(1) as line:
        await line.come("now", FINISH)
        await line.come("new", BEGIN)
        for number in range(8):
            await line.come(f"f{number}", FINISH)
        order = await served(line)
        assert order.index("new") == 4, "not before those who are urgent, and not after all of them"


async def test_a_free_slot_is_taken_at_once_by_anybody() -> None:
    async with line_before(2) as line:
        await line.come("a", BEGIN)
        await line.come("b", BEGIN)
        await line.come("c", FINISH)
        assert line.inside == ["a", "b"]


async def test_a_caller_that_gives_up_waiting_takes_no_slot() -> None:
    async with line_before(1) as line:
        for name in "abc":
            await line.come(name, GO_ON)
        line.tasks["b"].cancel()
        await settled()
        assert await served(line) == ["a", "c"]
        await line.come("d", GO_ON)
        assert line.inside == ["d"], "the slot came back"


async def test_a_slot_that_comes_in_the_moment_of_giving_up_goes_to_the_next() -> None:
    async with line_before(1) as line:
        for name in "abc":
            await line.come(name, GO_ON)
        line.slots.release()  # as "a" does when it leaves; "b" has the slot and does not know it
        line.tasks["b"].cancel()
        await settled()
        assert line.inside == ["a", "c"]
        assert line.tasks["b"].cancelled()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["come", "leave", "cancel"]), st.sampled_from(Urgency), st.integers(0)
    ),
    max_size=60,
)


@given(count=st.integers(1, 4), steps=STEPS)
def test_no_slot_is_lost_or_given_twice(count: int, steps: list[tuple[str, Urgency, int]]) -> None:
    async def story() -> None:
        async with line_before(count) as line:
            for number, (what, urgency, which) in enumerate(steps):
                if what == "come":
                    await line.come(str(number), urgency)
                elif what == "leave" and line.inside:
                    await line.leave(line.inside[which % len(line.inside)])
                elif what == "cancel" and line.tasks:
                    list(line.tasks.values())[which % len(line.tasks)].cancel()
                    await settled()
            left = [task for task in line.tasks.values() if not task.done()]
            assert len(line.inside) == min(count, len(left)), "nobody waits before a free slot"
            await served(line)
            assert all(task.done() for task in line.tasks.values())
            for number in range(count):
                await line.come(f"last-{number}", BEGIN)
            assert len(line.inside) == count, "all slots came back"
            assert line.most == count

    asyncio.run(story())
