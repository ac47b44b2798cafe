"""Decides which request is sent next when more wait than may be in flight.

Requests of work in progress go before requests that begin new work. In a large start everything
waits for the same server, and a gang that is finished early serves early. Among equals the request
that waits longest is next. One slot in four goes to the request that waits longest of all, so that
each of them is sent.
"""

import asyncio
import enum
from collections import deque

_FAIR_TURN = 4


class Urgency(enum.IntEnum):
    """The stage of the work that a request belongs to."""

    BEGIN = 0
    """It causes more work."""
    GO_ON = 1
    FINISH = 2
    """It ends work, or reports a result."""


class Slots:
    """A bounded number of requests in flight; the others wait in turn."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._turn = 0
        self._arrivals = 0
        self._waiting: dict[Urgency, deque[tuple[int, asyncio.Future[None]]]] = {
            urgency: deque() for urgency in sorted(Urgency, reverse=True)
        }

    async def acquire(self, urgency: Urgency) -> None:
        """Wait for a slot."""
        if self._free:
            self._free -= 1
            return
        given = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        self._waiting[urgency].append((self._arrivals, given))
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                # The slot was given in the same moment; pass it on.
                self.release()
            raise

    def release(self) -> None:
        """Free a slot, or give it to the next request."""
        while (queue := self._next()) is not None:
            _, given = queue.popleft()
            # A cancelled request is still in the queue.
            if not given.done():
                given.set_result(None)
                return
        self._free += 1

    def _next(self) -> deque[tuple[int, asyncio.Future[None]]] | None:
        queues = [queue for queue in self._waiting.values() if queue]
        if not queues:
            return None
        self._turn = (self._turn + 1) % _FAIR_TURN
        return queues[0] if self._turn else min(queues, key=lambda queue: queue[0][0])
