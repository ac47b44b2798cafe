"""What may happen in the middle of a scenario, to one scenario or to several at once.

A scenario says what is done while something is away; who that is, if anybody, it does not know.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from tests.backends.suite.bed import Bed

Away = Callable[[], AbstractAsyncContextManager[bool]]
"""A block in which something may be away; true if it is the backend."""


class Interruption(Protocol):
    """Something that goes, and comes back."""

    takes_backend: bool

    async def begin(self, bed: Bed) -> None: ...

    async def end(self, bed: Bed) -> None: ...


@dataclass(frozen=True)
class ScaledToZero:
    """The backend's Deployment is scaled 1, 0, 1: the process stops in an orderly way."""

    takes_backend = True

    async def begin(self, bed: Bed) -> None:
        await bed.scale(0)

    async def end(self, bed: Bed) -> None:
        await bed.scale(1)


@dataclass(frozen=True)
class Killed:
    """The backend's process is killed; another one starts, and waits for the Lease to end."""

    takes_backend = True

    async def begin(self, bed: Bed) -> None:
        await bed.delete_leader(force=True)

    async def end(self, bed: Bed) -> None:
        pass


@dataclass(frozen=True)
class SchedulerRestarted:
    """The scheduler itself is away."""

    takes_backend = False

    async def begin(self, bed: Bed) -> None:
        await bed.stop_scheduler()

    async def end(self, bed: Bed) -> None:
        await bed.start_scheduler()


@contextlib.asynccontextmanager
async def nobody() -> AsyncIterator[bool]:
    """Nobody is away."""
    yield False


class Together:
    """One interruption of several scenarios: it begins when all are in their middle."""

    def __init__(self, bed: Bed, interruption: Interruption, scenarios: int) -> None:
        self._bed = bed
        self._interruption = interruption
        self._barrier = asyncio.Barrier(scenarios)
        self._is_on = False

    @contextlib.asynccontextmanager
    async def away(self) -> AsyncIterator[bool]:
        """The block of one of the scenarios."""
        await self._once(self._begin)
        yield self._interruption.takes_backend
        await self._once(self.end)

    async def end(self) -> None:
        """End the interruption, also one that a failed scenario would leave behind."""
        if self._is_on:
            await self._interruption.end(self._bed)
        self._is_on = False

    async def _begin(self) -> None:
        self._is_on = True
        await self._interruption.begin(self._bed)

    async def _once(self, act: Callable[[], Awaitable[None]]) -> None:
        if await self._barrier.wait() == 0:
            await act()
        await self._barrier.wait()
