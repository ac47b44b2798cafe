"""The fence: writes are allowed only while this process is the leader.

Every write checks the fence right before it is sent. When the time of the Lease is over, the write
is refused, or cancelled if it still waits for a connection, a slot or its next attempt. So a leader
that was frozen cannot write after its Lease has expired. A freeze between the check and the send
remains; there the preconditions of the write (UID, create-only) protect the objects.
"""

import asyncio
import math
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

from shared_api.runtime.reconciling.outcome import Retry


class Fenced(Retry):
    """The Lease has expired; no write is allowed."""


class Fence(Protocol):
    """The right to write for a limited time."""

    def remaining(self) -> float:
        """Return the seconds for which writes are allowed; zero or less if they are not."""


class Unfenced:
    """The right to write of a process that needs no Lease."""

    def remaining(self) -> float:
        """Return infinity: writes are always allowed."""
        return math.inf


class _Permit:
    """The right to write during a block; a class, because a generator per write costs more."""

    __slots__ = ("_deadline", "_fence")

    def __init__(self, fence: Fence) -> None:
        self._fence = fence
        self._deadline: asyncio.Timeout | None = None

    async def __aenter__(self) -> None:
        left = self._fence.remaining()
        if left <= 0:
            raise Fenced("the lease has run out")
        if not math.isinf(left):
            self._deadline = asyncio.timeout(left)
            await self._deadline.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._deadline is None:
            return
        try:
            await self._deadline.__aexit__(kind, error, trace)
        except TimeoutError as expired:
            raise Fenced("the lease ran out during the write") from expired


def permitted(fence: Fence) -> AbstractAsyncContextManager[None]:
    """Run a block with the right to write; cancel it when the right ends."""
    return _Permit(fence)
