"""How long to wait after a failure. Jitter only shortens a delay, so the cap holds."""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays of repeated failures: `base · 2ⁿ`, at most `cap`, less the jitter."""

    base: float = 0.01
    cap: float = 60.0
    jitter: float = 0.25
    random: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """Return the delay after this many failures in a row, counted from one."""
        # The exponent is bounded: failures of days must not overflow a float.
        full = min(self.cap, self.base * 2.0 ** min(failures - 1, 64))
        return self.shorten(full)

    def shorten(self, delay: float) -> float:
        """Return a delay less its share of jitter."""
        return delay * (1.0 - self.jitter * self.random())
