"""How long a gang is held that is made anew again and again.

A scheduler may give a gang up for a reason that stays, such as a queue that nobody has made: its
pods fail, are made anew, released, and fail again. The first time costs no wait, since most
often it is the last. It is forgotten when the gang is placed, and by a restart, after which the
wait begins anew.
"""

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff

_WAITS = Backoff(base=2.0, cap=60.0, jitter=0.0)


class Recreations:
    """Gangs that were made anew and have not been placed since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[ObjectKey, tuple[int, float]] = {}

    def note(self, gang: ObjectKey) -> None:
        """Its members are being made anew now."""
        times, _ = self._times.get(gang, (0, 0.0))
        self._times[gang] = (times + 1, self._clock.monotonic())

    def forget(self, gang: ObjectKey) -> None:
        """It is placed, or gone."""
        self._times.pop(gang, None)

    def wait(self, gang: ObjectKey) -> float:
        """Seconds until it may be released; not above zero if it may now."""
        times, last = self._times.get(gang, (0, 0.0))
        if times < 2:
            return 0.0
        return last + _WAITS.delay(times - 1) - self._clock.monotonic()
