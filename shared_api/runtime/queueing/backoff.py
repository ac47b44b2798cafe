"""How long to wait after a failure.

Pure arithmetic: the random source comes in, so that a test can fix it. The full delay is
never exceeded; jitter only shortens it, so that a cap stays a cap.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays of something that keeps failing: `base · 2ⁿ`, at most `cap`, less the jitter."""

    base: float = 0.01
    cap: float = 60.0
    jitter: float = 0.25
    random: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """The delay after this many failures in a row, counted from one."""
        # The exponent is cut so that what fails for days cannot overflow a float.
        full = min(self.cap, self.base * 2.0 ** min(failures - 1, 64))
        return self.shorten(full)

    def shorten(self, delay: float) -> float:
        """A delay less its share of jitter."""
        return delay * (1.0 - self.jitter * self.random())
