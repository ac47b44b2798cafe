"""Events that one part of a process sends to others.

The part that produces a fact owns the Channel. A controller that cares lists the Channel in its
table of watches (`Builder.receives`). Sending calls every subscriber before it returns.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """One kind of event of this process, as controller-runtime's source.Channel."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._handlers: list[Callable[[T], None]] = []

    def subscribe(self, handler: Callable[[T], None]) -> None:
        """Call a function with every event from now on."""
        self._handlers.append(handler)

    def send(self, event: T) -> None:
        """Call every subscriber with an event."""
        for handler in self._handlers:
            handler(event)
