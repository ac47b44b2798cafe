"""How long a gang stays gated that is recreated again and again.

A scheduler may give up a gang for a reason that stays, such as a missing queue: its pods fail, are
recreated, ungated, and fail again. The first recreation does not wait, since it is mostly the last.
A wait is forgotten when the gang is scheduled, and by a restart. It has no subscriber to lost pods:
only the reconciler of gangs knows that a gang is recreated.
"""

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff

_WAITS = Backoff(base=2.0, cap=60.0, jitter=0.0)


class Recreations:
    """Gangs that were recreated and not scheduled since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[ObjectKey, tuple[int, float]] = {}

    def note(self, gang: ObjectKey) -> None:
        """Note that its pods are being recreated now."""
        times, _ = self._times.get(gang, (0, 0.0))
        self._times[gang] = (times + 1, self._clock.monotonic())

    def forget(self, gang: ObjectKey) -> None:
        """Note that it is scheduled, or gone."""
        self._times.pop(gang, None)

    def wait(self, gang: ObjectKey) -> float:
        """Return the seconds until it may be ungated; not above zero if it may now."""
        times, last = self._times.get(gang, (0, 0.0))
        if times < 2:
            return 0.0
        return last + _WAITS.delay(times - 1) - self._clock.monotonic()
