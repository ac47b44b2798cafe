"""Which request goes next when more wait than may be in flight.

Work that was begun goes before work that is begun anew: in a large start everything waits for the
same server, and what is finished early serves early and is in nobody's way. Among equals the one
that waits longest is next. One slot in four goes to whoever waits longest of all, so that nobody
waits for ever while others keep coming.
"""

import asyncio
import enum
from collections import deque
from types import TracebackType

_FAIR_TURN = 4


class Urgency(enum.IntEnum):
    """How far the work is that a request belongs to."""

    BEGIN = 0
    """It brings more work."""
    GO_ON = 1
    FINISH = 2
    """It is about to be done, or somebody waits to hear of it."""


class Slots:
    """So many at once, and the rest in turn."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._turn = 0
        self._arrivals = 0
        self._waiting: dict[Urgency, deque[tuple[int, asyncio.Future[None]]]] = {
            urgency: deque() for urgency in sorted(Urgency, reverse=True)
        }

    def taken(self, urgency: Urgency) -> "_Turn":
        """Do the body in a slot."""
        return _Turn(self, urgency)

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
                # It came in the same moment, and is not needed any more.
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back, or on to whoever is next."""
        while (queue := self._next()) is not None:
            _, given = queue.popleft()
            # Whoever was cancelled is still in line.
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


class _Turn:
    """A slot while a block lasts."""

    __slots__ = ("_slots", "_urgency")

    def __init__(self, slots: Slots, urgency: Urgency) -> None:
        self._slots = slots
        self._urgency = urgency

    async def __aenter__(self) -> None:
        await self._slots.acquire(self._urgency)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._slots.release()
