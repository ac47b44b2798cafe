"""A token bucket: bursts are fine, a steady stream is not.

It owns arithmetic only; the clock comes in, and waiting is up to the caller.
"""

from shared_api.runtime.clock import SYSTEM, Clock


class Budget:
    """At most `burst` at once, and `rate` per second in the long run."""

    def __init__(self, burst: float, rate: float, clock: Clock = SYSTEM) -> None:
        self._burst = burst
        self._rate = rate
        self._now = clock.monotonic
        self._left = burst
        self._at = self._now()

    def spend(self) -> bool:
        """Take one, if there is one."""
        if self.wait() > 0:
            return False
        self._left -= 1.0
        return True

    def wait(self) -> float:
        """Seconds until there is one."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return 0.0 if self._left >= 1.0 else (1.0 - self._left) / self._rate
