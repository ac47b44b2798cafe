"""When what was seen of each gang, and how far one thing was behind another.

The moments come from one clock, that of the onlooker, and are those at which a watch brought
the news. So a delay is from the news that a controller had to the news of its answer; as two
watches have no order between them, it may come out below zero, which counts as zero. Pure.
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
    told: tuple[float, ...]
    """From the pod that made the gang scheduled, or ready, to the gang's status saying so."""


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
