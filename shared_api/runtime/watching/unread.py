"""Bytes that somebody may want to read later, within a budget.

Whoever keeps bytes to read them when asked registers here. Those that are gone by then cost
nothing; if those that are left hold more than the budget, the oldest are told to read theirs
now. So laziness costs a bounded amount of memory, however many objects there are.
"""

import weakref
from typing import Protocol


class Reader(Protocol):
    """Somebody who holds bytes."""

    def read(self) -> None:
        """Read them, and let them go."""


class Unread:
    """The readers of one process, by age."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._size = 0
        self._held: dict[int, tuple[weakref.ref[Reader], int]] = {}

    @property
    def size(self) -> int:
        """How many bytes are held."""
        return self._size

    def keep(self, reader: Reader, size: int) -> None:
        """Somebody new holds bytes."""
        number = id(reader)
        # A number is free for others only after this has been called.
        self._held[number] = (weakref.ref(reader, lambda _: self._forget(number)), size)
        self._size += size
        while self._size > self._budget:
            oldest = next(iter(self._held))
            found = self._held[oldest][0]()
            self._forget(oldest)
            if found is not None:
                found.read()

    def _forget(self, number: int) -> None:
        _, size = self._held.pop(number)
        self._size -= size
