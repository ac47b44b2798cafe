"""The ready keys of a queue, in the order in which they are due to be worked on.

The highest priority goes first. Inside a priority the namespaces take turns, and inside a
namespace the order is first in, first out; so a namespace with ten thousand keys delays
another one by a single key. Every operation takes constant time.
"""

import enum
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Priority(enum.IntEnum):
    """How urgent a key is; the highest wins."""

    RESYNC = 0
    """Nobody is waiting: initial lists and periodic checks."""
    EVENT = 1
    """Something that we watch has moved."""
    USER = 2
    """Somebody changed what they want."""


class Lanes(Generic[K]):
    """Keys by priority, then by turn, then by arrival."""

    def __init__(self, turn_of: Callable[[K], str]) -> None:
        self._turn_of = turn_of
        self._lanes: dict[int, OrderedDict[str, OrderedDict[K, None]]] = {}
        self._sizes: dict[int, int] = {}

    def push(self, key: K, priority: int) -> None:
        """Put a key at the end of its namespace's line."""
        lane = self._lanes.setdefault(priority, OrderedDict())
        lane.setdefault(self._turn_of(key), OrderedDict())[key] = None
        self._sizes[priority] = self._sizes.get(priority, 0) + 1

    def pop(self) -> K | None:
        """Take the key whose turn it is; its namespace goes to the back."""
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
        """Take a key out of its line."""
        lane = self._lanes[priority]
        turn = self._turn_of(key)
        del lane[turn][key]
        if not lane[turn]:
            del lane[turn]
        self._shrink(priority)

    def sizes(self) -> Mapping[int, int]:
        """How many keys each priority holds."""
        return dict(self._sizes)

    def _shrink(self, priority: int) -> None:
        self._sizes[priority] -= 1
        if not self._sizes[priority]:
            del self._lanes[priority], self._sizes[priority]
