"""Detects that a watch may be missing events, for code that acts on the absence of an event.

A backend whose Lease shows no renewal is down only if this process would have seen one. After a
broken stream, or after more silence than the patience allows (a frozen process, a dead network),
nothing is certain until the server is heard again. Then there was a gap, in which others may have
been cut off like us; subscribers are called.
"""

from collections.abc import Callable

from shared_api.runtime.clock import SYSTEM, Clock

# No event is missed when the server ends a stream in time, or we end one for its silence, if the
# next stream follows soon.
_ORDERLY = frozenset({"Ended", "Timeout"})


class WatchHealth:
    """Whether one watch works; `patience` is how many seconds of silence are normal."""

    def __init__(self, patience: float, clock: Clock = SYSTEM) -> None:
        self._patience = patience
        self._clock = clock
        self._heard_at = float("-inf")
        self._is_broken = False
        self._handlers: list[Callable[[], None]] = []

    @property
    def may_miss_events(self) -> bool:
        """Tell whether objects may be changing without an event here."""
        return self._is_broken or self._clock.monotonic() - self._heard_at > self._patience

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Call a function whenever a gap has ended."""
        self._handlers.append(handler)

    def heard(self) -> None:
        """Note that the server sent something."""
        had_gap = self.may_miss_events
        self._heard_at, self._is_broken = self._clock.monotonic(), False
        if had_gap:
            for handler in self._handlers:
                handler()

    def broke(self, reason: str) -> None:
        """Note that a stream ended, or could not be opened."""
        self._is_broken = self._is_broken or reason not in _ORDERLY
