"""When a gang is told of: how soon after there is news, and before which others.

A gang that was just written down goes first, since its pods wait to be released; what merely
happened to a gang can wait. News are gathered for a moment so that a burst of them is one
write. On a busy server that moment is as long as a write takes just now: nobody would be told
sooner, and what is written is the state after the burst instead of one in the middle of it.
"""

import math

from backend_controllers.generic.gang_results import Waker
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import key_of

_LONGEST = 5
"""How many times as long as on an idle server news are gathered at most."""
_RECENT = 0.25
"""Seconds after which the time that a write took says nothing about the server any more: on a busy one
there is another write by then, and a single slow one must not slow down the next gang."""


class Gathering:
    """For how long news about a gang are gathered."""

    def __init__(self, shortest: float, clock: Clock) -> None:
        self._shortest = shortest
        self._clock = clock
        self._wrote_at = -math.inf
        self._took = 0.0

    def wrote(self, since: float) -> None:
        """A write that was begun at this time has ended."""
        self._wrote_at = self._clock.monotonic()
        self._took = self._wrote_at - since

    def seconds(self) -> float:
        """How long to wait for more after the first news."""
        is_recent = self._clock.monotonic() - self._wrote_at < _RECENT
        took = self._took if is_recent else 0.0
        return min(max(took, self._shortest), self._shortest * _LONGEST)


def news_of_writing(queue: Queue[ObjectKey]) -> Waker:
    """Has a queue told of gangs that were written down."""
    return lambda gang: queue.add(key_of(gang), priority=Priority.USER)


def mere_news(old: object, new: object) -> Priority:
    """How urgent it is to tell of what has happened to a gang."""
    del old, new
    return Priority.EVENT
