"""The keyed work queue between the caches and the workers.

It owns when a key is reconciled and must not know what a key means. A key is in at most one state:
*ready*, *waiting* for its time, or *processing*. A key that is added while it is processed becomes
due when that ends. So no key is processed twice at once, and no add is lost. If a key is added
several times, the highest priority and the shortest delay win; `lanes` orders ready keys. Nothing
polls. A closed queue, that of a standby, keeps keys for the next leader, but drops those whose
objects are gone.
"""

import asyncio
import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.queueing.lanes import Lanes, Priority

K = TypeVar("K", bound=Hashable)

_FEW = 1024
"""A closed queue with fewer keys does not check whether their objects exist."""


class QueueClosed(Exception):  # noqa: N818 - it is a state, not a failure
    """The queue gives out no more keys."""


class QueueMetrics:
    """What a queue measures; this class discards it."""

    def added(self) -> None:
        """Count one add, merged or not."""

    def retried(self) -> None:
        """Count one add with back-off."""

    def started(self, waited: float) -> None:
        """Observe how long a key was due before its reconcile began."""

    def finished(self, worked: float) -> None:
        """Observe how long a key was processed."""


@dataclass(slots=True)
class _Entry:
    priority: int
    due: float
    ready: bool = False
    timer: int = -1
    """The number of the current timer; timers of earlier, longer delays are ignored."""

    def merge(self, priority: int, due: float) -> None:
        self.priority = max(self.priority, priority)
        self.due = min(self.due, due)


@dataclass(slots=True)
class _Work:
    since: float
    priority: int
    again: _Entry | None = None


class Queue(Generic[K]):
    """Keys that need work, each at most once."""

    def __init__(
        self,
        turn_of: Callable[[K], str],
        *,
        backoff: Backoff | None = None,
        clock: Clock = SYSTEM,
        metrics: QueueMetrics | None = None,
        exists: Callable[[K], bool] = lambda _: True,
    ) -> None:
        self._exists = exists
        self._backoff = backoff or Backoff()
        self._now = clock.monotonic
        self._metrics = metrics or QueueMetrics()
        self._entries: dict[K, _Entry] = {}
        self._ready = Lanes(turn_of)
        self._timers: list[tuple[float, int, K]] = []
        self._order = itertools.count()
        self._processing: dict[K, _Work] = {}
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._closed = False
        self._many = _FEW

    def add(self, key: K, *, priority: int | None = None, delay: float = 0.0) -> None:
        """Add a key, now or after a delay.

        Without a priority a key in work keeps its own; another key gets that of an event.
        """
        self._metrics.added()
        now = self._now()
        due = now + max(0.0, delay)
        work = self._processing.get(key)
        if priority is None:
            priority = Priority.EVENT if work is None else work.priority
        if work is None:
            self._put(key, priority, due, now)
        elif work.again is None:
            work.again = _Entry(priority, due)
        else:
            work.again.merge(priority, due)

    def retry(self, key: K, *, at_least: float = 0.0) -> float:
        """Add a key that failed, after its back-off; return the delay."""
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        delay = max(at_least, self._backoff.delay(failures))
        self._metrics.retried()
        self.add(key, delay=delay)
        return delay

    def forget(self, key: K) -> None:
        """Reset the back-off of a key."""
        self._failures.pop(key, None)

    def take(self) -> K | None:
        """Take the next ready key and mark it as processing; None when there is none."""
        now = self._now()
        self._promote(now)
        if self._closed or (key := self._ready.pop()) is None:
            return None
        entry = self._entries.pop(key)
        self._processing[key] = _Work(now, entry.priority)
        self._metrics.started(now - entry.due)
        return key

    def done(self, key: K) -> None:
        """End the work on a key; if it was added meanwhile, it becomes due."""
        work = self._processing.pop(key)
        now = self._now()
        self._metrics.finished(now - work.since)
        if work.again is not None:
            self._put(key, work.again.priority, work.again.due, now)

    async def get(self) -> K:
        """Wait for a ready key; raise QueueClosed once the queue is closed."""
        loop = asyncio.get_running_loop()
        while (key := self.take()) is None:
            if self._closed:
                raise QueueClosed
            getter: asyncio.Future[None] = loop.create_future()
            self._getters.append(getter)
            self._set_alarm()
            try:
                await getter
            except asyncio.CancelledError:
                # A getter that was notified and cancelled at once passes the notification on.
                if not getter.cancelled():
                    self._notify()
                raise
        return key

    def close(self) -> None:
        """Give out no more keys; keys in work may finish."""
        self._closed = True
        self._cancel_alarm()
        while self._getters:
            self._notify()

    def reopen(self) -> None:
        """Give out keys again, also those that were added meanwhile."""
        self._closed = False
        self._many = _FEW

    def __len__(self) -> int:
        """Return how many keys are ready or wait for their time."""
        return len(self._entries)

    def depth(self) -> Mapping[int, int]:
        """Return how many keys are ready, by priority."""
        self._promote(self._now())
        return self._ready.sizes()

    def waiting(self) -> int:
        """Return how many keys wait for their time."""
        return len(self._entries) - sum(self.depth().values())

    def timers(self) -> int:
        """Return how many timers are set, also those that are ignored."""
        return len(self._timers)

    def processing(self) -> Mapping[K, float]:
        """Return the keys in work, and for how long."""
        now = self._now()
        return {key: now - work.since for key, work in self._processing.items()}

    def _put(self, key: K, priority: int, due: float, now: float) -> None:
        entry = self._entries.get(key)
        if entry is None:
            if self._closed and len(self._entries) >= self._many:
                self._drop_gone()
            entry = self._entries[key] = _Entry(priority, due)
        elif entry.ready:
            if priority > entry.priority:
                self._ready.remove(key, entry.priority)
                self._ready.push(key, priority)
                entry.priority = priority
            return
        else:
            has_timer = due >= entry.due
            entry.merge(priority, due)
            if has_timer and entry.due > now:
                return
        if entry.due <= now:
            self._make_ready(key, entry)
        else:
            self._set_timer(key, entry)

    def _drop_gone(self) -> None:
        """Drop keys whose objects are gone; check again when the rest has doubled."""
        for key in [key for key in self._entries if not self._exists(key)]:
            entry = self._entries.pop(key)
            if entry.ready:
                self._ready.remove(key, entry.priority)
        self._many = max(_FEW, 2 * len(self._entries))

    def _make_ready(self, key: K, entry: _Entry) -> None:
        entry.ready = True
        self._ready.push(key, entry.priority)
        self._notify()

    def _set_timer(self, key: K, entry: _Entry) -> None:
        # A shorter delay leaves the longer timer in the heap. Without this, a key that is added
        # often and requeued far ahead each time would fill the heap.
        if len(self._timers) > 64 and len(self._timers) > 2 * len(self._entries):
            self._timers = [
                (other.due, other.timer, waiting)
                for waiting, other in self._entries.items()
                if not other.ready and waiting != key
            ]
            heapq.heapify(self._timers)
        entry.timer = next(self._order)
        heapq.heappush(self._timers, (entry.due, entry.timer, key))
        if self._getters:
            self._set_alarm()

    def _promote(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            _, timer, key = heapq.heappop(self._timers)
            entry = self._entries.get(key)
            if entry is not None and not entry.ready and entry.timer == timer:
                self._make_ready(key, entry)

    def _set_alarm(self) -> None:
        # An alarm that rings too early is set again, which is cheaper than moving it each time.
        if self._timers and self._timers[0][0] < self._alarm_at:
            self._cancel_alarm()
            self._alarm_at = self._timers[0][0]
            delay = max(0.0, self._alarm_at - self._now())
            self._alarm = asyncio.get_running_loop().call_later(delay, self._on_alarm)

    def _cancel_alarm(self) -> None:
        self._alarm_at = math.inf
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _on_alarm(self) -> None:
        self._alarm, self._alarm_at = None, math.inf
        self._promote(self._now())
        if self._getters:
            self._set_alarm()

    def _notify(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
