"""Core's own metrics: how many gangs wait, and for what.

The reasons are the words of `Blocking`, so the number of series is fixed. A gang is counted
under at most one of them, by UID, and leaves the count when it runs or is gone.
"""

from prometheus_client import Counter, Gauge, Histogram

from core_operator.plan.disruption import Cause
from core_operator.plan.statuses.reasons import Blocking
from shared_api.runtime.telemetry.metrics import Telemetry

_REPAIR_BUCKETS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
_MIN_AVAILABLE = "min_available"


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

        self.terminated = Counter(
            "grove_gang_terminations_total",
            "Replicas and copies that were terminated after too long below their minimum.",
            registry=telemetry.registry,
        )
        self.lost = Counter(
            "grove_pods_lost_total",
            "Pods that served and were taken without our doing, by what took them.",
            ["cause"],
            registry=telemetry.registry,
        )
        for cause in Cause:
            self.lost.labels(cause.value)
        self.repair_seconds = Histogram(
            "grove_gang_repair_seconds",
            "Time from the loss of a pod until its gang was whole again.",
            buckets=_REPAIR_BUCKETS,
            registry=telemetry.registry,
        )
        self._violations = Counter(
            "grove_invariant_violations_total",
            "Deletions that were planned, would have broken a promise, and were not done.",
            ["invariant"],
            registry=telemetry.registry,
        )
        self._violations.labels(_MIN_AVAILABLE)

    def broken_promise(self) -> None:
        """Count a deletion that would have taken something below its minimum."""
        self._violations.labels(_MIN_AVAILABLE).inc()

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
