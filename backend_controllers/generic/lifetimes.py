"""How long gangs take from their creation to each station, for the metrics.

A gang whose creation this process has seen is timed by its own clock. One that was there
before is timed by the date in its metadata, which has whole seconds. Each station of a gang is
counted once, and not again by a process that finds a gang already there, nor when a gang that
was thrown back comes there again, as far as its status can tell.
"""

from datetime import datetime

from prometheus_client import Histogram

from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.generic.reports import OUR_CONDITIONS
from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.runtime.clock import Clock
from shared_api.runtime.watching.cache import Cache


class Lifetimes:
    """The ages of gangs."""

    def __init__(self, gangs: Cache[PodGang], metrics: BackendMetrics, clock: Clock) -> None:
        self._gangs = gangs
        self._clock = clock
        self._metrics = metrics
        self._seen: dict[str, float] = {}
        self._passed: dict[str, set[str]] = {}
        gangs.subscribe(self._on_gang)

    def written(self, gang: PodGang) -> None:
        """The scheduler's objects are there."""
        self._note(gang, names.CONDITION_PROGRAMMED, self._metrics.to_written)

    def scheduled(self, gang: PodGang) -> None:
        """Its minimum is placed."""
        self._note(gang, names.CONDITION_SCHEDULED, self._metrics.to_scheduled)

    def ready(self, gang: PodGang) -> None:
        """Its minimum is ready."""
        self._note(gang, names.CONDITION_READY, self._metrics.to_ready)

    def _note(self, gang: PodGang, station: str, histogram: Histogram) -> None:
        passed = self._passed.setdefault(gang.metadata.uid, set())
        if station in passed:
            return
        passed.add(station)
        if not _has_been_at(gang, station):
            histogram.observe(self._age(gang))

    def _age(self, gang: PodGang) -> float:
        seen = self._seen.get(gang.metadata.uid)
        if seen is not None:
            return self._clock.monotonic() - seen
        created = gang.metadata.creation_timestamp
        if not created:
            return 0.0
        age = self._clock.utc() - datetime.fromisoformat(created)
        return max(0.0, age.total_seconds())

    def _on_gang(self, old: PodGang | None, new: PodGang | None) -> None:
        if old is None and new is not None and self._gangs.is_synced:
            self._seen[new.metadata.uid] = self._clock.monotonic()
        elif new is None and old is not None:
            self._seen.pop(old.metadata.uid, None)
            self._passed.pop(old.metadata.uid, None)


def _has_been_at(gang: PodGang, station: str) -> bool:
    """Tell whether a backend has said of a gang that it is there, now or earlier.

    Everything is said for the first time at once. What does not hold, and has not since later
    than the rest was said, has held in between.
    """
    conditions = gang.status.conditions if gang.status is not None else ()
    said = {one.type: one for one in conditions if one.type in OUR_CONDITIONS}
    about = said.get(station)
    if about is None:
        return False
    # Backends write all of them in one form, in which texts compare like times.
    first = min(one.last_transition_time for one in said.values())
    return about.status == "True" or about.last_transition_time > first
