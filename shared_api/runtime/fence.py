"""The right to write, and its end.

Whoever writes asks for permission right before, and loses it when the time is up: the
write is refused, or cut off if it is still waiting for a connection, a slot or its next
attempt. A process that was frozen while it held a lease therefore finds the door closed
when it goes on. What remains is a freeze in the moment between the question and the send;
there the preconditions of the write itself (UID, create-only) are the last guard.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from typing import Protocol

from shared_api.runtime.outcome import Retry


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


@contextlib.asynccontextmanager
async def permitted(fence: Fence) -> AsyncIterator[None]:
    """Do the body with the right to write, and only while it lasts."""
    left = fence.remaining()
    if left <= 0:
        raise Fenced("the lease has run out")
    deadline = asyncio.timeout(None if math.isinf(left) else left)
    try:
        async with deadline:
            yield
    except TimeoutError as error:
        if deadline.expired():
            raise Fenced("the lease ran out during the write") from error
        raise
