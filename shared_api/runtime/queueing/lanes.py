"""The ready keys of a queue, in the order in which workers process them.

The highest priority is first. Inside a priority the namespaces take turns; inside a namespace the
order is first in, first out. So a namespace with ten thousand keys delays another one by a single
key. Every operation takes constant time.
"""

import enum
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Priority(enum.IntEnum):
    """The priority of a key; the highest is first."""

    RESYNC = 0
    """Initial lists and periodic checks."""
    EVENT = 1
    """A watched object changed."""
    USER = 2
    """A user changed a spec, or created or deleted an object."""


class Lanes(Generic[K]):
    """Keys by priority, then by namespace in turn, then by arrival."""

    def __init__(self, turn_of: Callable[[K], str]) -> None:
        self._turn_of = turn_of
        self._lanes: dict[int, OrderedDict[str, OrderedDict[K, None]]] = {}
        self._sizes: dict[int, int] = {}

    def push(self, key: K, priority: int) -> None:
        """Add a key behind the others of its namespace."""
        lane = self._lanes.setdefault(priority, OrderedDict())
        lane.setdefault(self._turn_of(key), OrderedDict())[key] = None
        self._sizes[priority] = self._sizes.get(priority, 0) + 1

    def pop(self) -> K | None:
        """Take the next key; its namespace goes behind the others."""
        if not self._lanes:
            return None
        priority = max(self._lanes)
        lane = self._lanes[priority]
        turn, keys = lane.popitem(last=False)
        key, _ = keys.popitem(last=False)
        if keys:
            lane[turn] = keys
        self._shrink(priority)
        return key

    def remove(self, key: K, priority: int) -> None:
        """Remove a key."""
        lane = self._lanes[priority]
        turn = self._turn_of(key)
        del lane[turn][key]
        if not lane[turn]:
            del lane[turn]
        self._shrink(priority)

    def sizes(self) -> Mapping[int, int]:
        """Return the number of keys by priority."""
        return dict(self._sizes)

    def _shrink(self, priority: int) -> None:
        self._sizes[priority] -= 1
        if not self._sizes[priority]:
            del self._lanes[priority], self._sizes[priority]
