"""Core's own metrics: how many gangs wait, and for what.

The reasons are the words of `Blocking`, so the number of series is fixed. A gang is counted
under at most one of them, by UID, and leaves the count when it runs or is gone.
"""

from prometheus_client import Counter, Gauge

from core_operator.plan.statuses.reasons import Blocking
from shared_api.runtime.telemetry import Telemetry


class CoreMetrics:
    """What an operator of the operator looks at first."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._reasons: dict[str, Blocking] = {}
        self._blocked = Gauge(
            "grove_gangs_blocked",
            "Gangs that do not run, by what they wait for.",
            ["reason"],
            registry=telemetry.registry,
        )
        for reason in Blocking:
            self._blocked.labels(reason.value).set(0)
        self.released = Counter(
            "grove_gangs_released_total",
            "Gangs whose pods were handed to their scheduler.",
            registry=telemetry.registry,
        )
        self.moved = Counter(
            "grove_gangs_moved_total",
            "Gangs that were given to another backend before they were released.",
            registry=telemetry.registry,
        )

    def note(self, gang_uid: str, reason: Blocking | None) -> None:
        """Count a gang under what it waits for, or no more."""
        before = self._reasons.get(gang_uid)
        if before is reason:
            return
        if before is not None:
            self._blocked.labels(before.value).dec()
        if reason is None:
            self._reasons.pop(gang_uid, None)
        else:
            self._reasons[gang_uid] = reason
            self._blocked.labels(reason.value).inc()
