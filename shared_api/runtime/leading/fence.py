"""The right to write, and its end.

Whoever writes asks for permission right before, and loses it when the time is up: the
write is refused, or cut off if it is still waiting for a connection, a slot or its next
attempt. A process that was frozen while it held a lease therefore finds the door closed
when it goes on. What remains is a freeze in the moment between the question and the send;
there the preconditions of the write itself (UID, create-only) are the last guard.
"""

import asyncio
import math
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

from shared_api.runtime.reconciling.outcome import Retry


class Fenced(Retry):
    """The lease has run out; nothing may be written."""


class Fence(Protocol):
    """Something that grants the right to write for a time."""

    def remaining(self) -> float:
        """Seconds for which writing is allowed; not positive once it is not."""


class Unfenced:
    """The right to write of a process that needs no lease."""

    def remaining(self) -> float:
        """For ever."""
        return math.inf


class _Permit:
    """The right to write while a block lasts; it is asked for too often for a generator."""

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
    """Do the body with the right to write, and only while it lasts."""
    return _Permit(fence)
