"""When changes of each gang were seen, and the delays between them. Pure.

All times are those of watch events in this process. So a delay is from the event that a controller
reacts to until the event of its write. Two watches have no order, so a delay may be negative, which
counts as zero.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TypeVar

from shared_api import names

K = TypeVar("K")
STATIONS = (names.CONDITION_SCHEDULED, names.CONDITION_READY)


@dataclass(frozen=True, slots=True)
class Delays:
    """In seconds, one for each gang and station that was seen from both sides."""

    written: tuple[float, ...]
    """From a PodGang to its scheduler's last object."""
    reported: tuple[float, ...]
    """From the pod that made the gang scheduled, or ready, to the gang's status reporting it."""


@dataclass(slots=True)
class Sightings:
    """What was seen since it was made."""

    pods_per_gang: int
    _made: dict[str, float] = field(default_factory=dict)
    _written: dict[str, float] = field(default_factory=dict)
    _reached: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _decided: dict[tuple[str, str], float] = field(default_factory=dict)
    _told: dict[tuple[str, str], float] = field(default_factory=dict)

    def gang(self, name: str, holds: Collection[str], now: float) -> None:
        """A gang was seen, of which these conditions hold."""
        self._made.setdefault(name, now)
        for station in STATIONS:
            if station in holds:
                self._told.setdefault((name, station), now)

    def written(self, gang: str, now: float) -> None:
        """The scheduler's object of a gang was seen."""
        self._written.setdefault(gang, now)

    def pod(self, gang: str, name: str, reached: Collection[str], now: float) -> None:
        """A pod of a gang was seen, which has reached these stations."""
        for station in reached:
            pods = self._reached.setdefault((gang, station), set())
            pods.add(name)
            if len(pods) == self.pods_per_gang:
                self._decided.setdefault((gang, station), now)

    def delays(self) -> Delays:
        """What lay between."""
        return Delays(_between(self._made, self._written), _between(self._decided, self._told))


def _between(earlier: dict[K, float], later: dict[K, float]) -> tuple[float, ...]:
    return tuple(max(0.0, later[key] - earlier[key]) for key in earlier if key in later)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else 0.0
