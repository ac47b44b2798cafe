"""How long gangs take from their creation until they are programmed, scheduled and ready.

A gang whose creation this process has seen is timed by the clock of the process. An older one is
timed by its creationTimestamp, which has whole seconds. Each condition of a gang is counted once:
not again after a restart, nor when a gang loses the condition and gets it back.
"""

from datetime import datetime

from prometheus_client import Histogram

from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.generic.reports import OUR_CONDITIONS
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.runtime.clock import Clock
from shared_api.runtime.watching.cache import Cache


class Lifetimes:
    """The ages of gangs at their conditions."""

    def __init__(
        self, gangs: Cache[ObservedPodGang], metrics: BackendMetrics, clock: Clock
    ) -> None:
        self._gangs = gangs
        self._clock = clock
        self._metrics = metrics
        self._seen: dict[str, float] = {}
        self._counted: dict[str, set[str]] = {}
        gangs.subscribe(self._on_gang)

    def written(self, gang: ObservedPodGang) -> None:
        """Count a gang whose objects are written."""
        self._count(gang, names.CONDITION_PROGRAMMED, self._metrics.to_written)

    def scheduled(self, gang: ObservedPodGang) -> None:
        """Count a gang whose minimum is scheduled."""
        self._count(gang, names.CONDITION_SCHEDULED, self._metrics.to_scheduled)

    def ready(self, gang: ObservedPodGang) -> None:
        """Count a gang whose minimum is ready."""
        self._count(gang, names.CONDITION_READY, self._metrics.to_ready)

    def _count(self, gang: ObservedPodGang, kind: str, histogram: Histogram) -> None:
        counted = self._counted.setdefault(gang.metadata.uid, set())
        if kind in counted:
            return
        counted.add(kind)
        if not _was_true(gang, kind):
            histogram.observe(self._age(gang))

    def _age(self, gang: ObservedPodGang) -> float:
        seen = self._seen.get(gang.metadata.uid)
        if seen is not None:
            return self._clock.monotonic() - seen
        created = gang.metadata.creation_timestamp
        if not created:
            return 0.0
        age = self._clock.utc() - datetime.fromisoformat(created)
        return max(0.0, age.total_seconds())

    def _on_gang(self, old: ObservedPodGang | None, new: ObservedPodGang | None) -> None:
        if old is None and new is not None and self._gangs.is_synced:
            self._seen[new.metadata.uid] = self._clock.monotonic()
        elif new is None and old is not None:
            self._seen.pop(old.metadata.uid, None)
            self._counted.pop(old.metadata.uid, None)


def _was_true(gang: ObservedPodGang, kind: str) -> bool:
    """Tell whether a condition of a gang is True, or was True earlier.

    A backend writes all its conditions for the first time at once. One that is False since later
    than the first of them was True in between.
    """
    condition = gang.condition(kind)
    if condition is None or gang.status is None:
        return False
    # Backends write all times in one format, in which strings compare like times.
    first = min(
        one.last_transition_time for one in gang.status.conditions if one.type in OUR_CONDITIONS
    )
    return condition.status == "True" or condition.last_transition_time > first
