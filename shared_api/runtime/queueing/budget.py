"""A token bucket: a rate limit that allows bursts. The caller waits."""

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
        """Take a token, if there is one."""
        if self.wait() > 0:
            return False
        self._left -= 1.0
        return True

    def wait(self) -> float:
        """Return the seconds until there is a token."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return 0.0 if self._left >= 1.0 else (1.0 - self._left) / self._rate
