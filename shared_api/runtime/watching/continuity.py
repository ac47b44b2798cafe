"""Whether a watch shows what happens, for whoever draws conclusions from silence.

That nothing was heard of an object proves something only while the watch works. It may not: a
broken stream is known to have, and one that is silent for longer than somebody would be may
have, as after this process was frozen. Until the server is heard again nothing is certain.
Then there was a gap, in which others may have been cut off just like us; subscribers are told.
"""

from collections.abc import Callable

from shared_api.runtime.clock import SYSTEM, Clock

# Nothing is missed when the server ends a stream in time, or we give one up for its silence, if
# the next one is there soon after.
_ORDERLY = frozenset({"Ended", "Timeout"})


class Continuity:
    """How one watch fares; `patience` is how many seconds of silence are no news."""

    def __init__(self, patience: float, clock: Clock = SYSTEM) -> None:
        self._patience = patience
        self._clock = clock
        self._heard_at = float("-inf")
        self._is_broken = False
        self._handlers: list[Callable[[], None]] = []

    @property
    def is_doubtful(self) -> bool:
        """Tell whether things may be happening that the watch does not show."""
        return self._is_broken or self._clock.monotonic() - self._heard_at > self._patience

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Have a function told when a gap has ended."""
        self._handlers.append(handler)

    def heard(self) -> None:
        """Be told that the server was heard."""
        was_doubtful = self.is_doubtful
        self._heard_at, self._is_broken = self._clock.monotonic(), False
        if was_doubtful:
            for handler in self._handlers:
                handler()

    def broke(self, reason: str) -> None:
        """Be told that a stream has ended, or could not be opened."""
        self._is_broken = self._is_broken or reason not in _ORDERLY
