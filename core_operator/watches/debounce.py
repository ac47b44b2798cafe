"""How long news is gathered before it is told, by how much else there is to tell.

The server's time is what a large start waits for: a write that says how far one of hundreds of
things has come makes all of them later. So progress is told after a delay that grows with the
number of those that wait to be told of, and most are done before their turn comes. What people
wait for, such as readiness, a loss or an error, is never held back by this.
"""

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock

# What a busy server brings to its end in about a second.
_A_FEW = 10
_LATEST = 30.0


def patience(delay: float, crowd: int) -> float:
    """Seconds before the progress of one is told while so many are on their way."""
    return min(delay * (1 + crowd / _A_FEW), max(_LATEST, delay))


class OnTheWay:
    """Those whose progress is to be told, and since when it is."""

    def __init__(self, clock: Clock, delay: float) -> None:
        self._clock = clock
        self._delay = delay
        self._since: dict[ObjectKey, float] = {}

    def __contains__(self, key: ObjectKey) -> bool:
        """Tell whether this one was put off, and so will be asked about again anyway."""
        return key in self._since

    def rest(self, key: ObjectKey, *, waited: float = 0.0) -> float:
        """Seconds for which this one is still not told of; `waited` before it was named first."""
        now = self._clock.monotonic()
        since = self._since.setdefault(key, now - waited)
        return since + patience(self._delay, len(self._since)) - now

    def arrived(self, key: ObjectKey) -> None:
        """Be told that there is more than progress to tell of it, or that it was told."""
        self._since.pop(key, None)
