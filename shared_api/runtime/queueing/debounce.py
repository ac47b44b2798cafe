"""For how long a key waits before it is reconciled or written, so that a burst is one write.

`Debouncer` counts from the first change of a key. Its delay grows with the number of keys that
wait, because the server's time is what a large start waits for, and with the time that a write
takes: an earlier write would only show a state in the middle of the burst. `MinimumInterval`
counts from the last reconcile of a key. Both keep keys only while they wait; neither may hold back
what people wait for, such as readiness, a loss or an error: callers write that at once.
"""

import math
from collections.abc import Hashable
from typing import Generic, TypeVar

from shared_api.runtime.clock import SYSTEM, Clock

K = TypeVar("K", bound=Hashable)

_RECENT = 0.25
"""Seconds for which the duration of a write is used: a busy server has had another write by then,
and one slow write must not delay the next key."""


class Debouncer(Generic[K]):
    """A delay between the first change of a key and its write."""

    def __init__(
        self,
        shortest: float,
        clock: Clock = SYSTEM,
        *,
        longest: float = math.inf,
        per_waiting: float = 0.0,
    ) -> None:
        self._shortest = shortest
        self._clock = clock
        self._longest = max(longest, shortest)
        self._per_waiting = per_waiting
        self._first_change: dict[K, float] = {}
        self._wrote_at = -math.inf
        self._write_took = 0.0

    def delay(self, waiting: int = 0) -> float:
        """Return the seconds from a first change to its write while so many keys wait.

        This is a `delay` of `Builder`: the shortest delay, longer by the share `per_waiting` of it
        for each waiting key, at least as long as a recent write took, and at most the longest.
        """
        is_recent = self._clock.monotonic() - self._wrote_at < _RECENT
        crowded = self._shortest * (1 + waiting * self._per_waiting)
        return min(max(crowded, self._write_took if is_recent else 0.0), self._longest)

    def wrote(self, since: float) -> None:
        """Note that a write ended that began at this time."""
        self._wrote_at = self._clock.monotonic()
        self._write_took = self._wrote_at - since

    def __contains__(self, key: K) -> bool:
        """Tell whether a key waits here, so that another change need not add it."""
        return key in self._first_change

    def first_change(self, key: K, *, ago: float = 0.0) -> float:
        """Return when a key began to wait; one that does not wait began `ago` seconds ago."""
        return self._first_change.setdefault(key, self._clock.monotonic() - ago)

    def remaining(self, key: K, *, ago: float = 0.0) -> float:
        """Return the seconds that a key must still wait, given how many keys wait here."""
        since = self.first_change(key, ago=ago)
        return since + self.delay(len(self._first_change)) - self._clock.monotonic()

    def done(self, key: K) -> None:
        """Note that a key was written, or needs no write any more."""
        self._first_change.pop(key, None)


class MinimumInterval(Generic[K]):
    """The least time between two reconciles of a key."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._started: dict[K, float] = {}

    def remaining(self, key: K, interval: float) -> float:
        """Return the seconds until `interval` has passed since the last start."""
        return self._started.get(key, -math.inf) + interval - self._clock.monotonic()

    def start(self, key: K) -> None:
        """Note that a key is reconciled now."""
        self._started[key] = self._clock.monotonic()

    def forget(self, key: K) -> None:
        """Note that the object of a key is gone."""
        self._started.pop(key, None)
