"""Core's own metrics.

The labels are values of enums, so the number of series is fixed. A gang is counted as blocked under
at most one reason, by its UID, until it runs or is gone.
"""

from prometheus_client import Counter, Gauge, Histogram

from core_operator.plan.jobs.runs import JobOutcome
from core_operator.plan.pods.disruption import DisruptionCause
from core_operator.plan.statuses.reasons import BlockingReason
from shared_api.models import PlacementOutcome
from shared_api.runtime.telemetry.metrics import Telemetry

_REPAIR_BUCKETS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
_MIN_AVAILABLE = "min_available"


class CoreMetrics:
    """The metrics of one process."""

    def __init__(self, telemetry: Telemetry) -> None:
        registry = telemetry.registry
        self._reasons: dict[str, BlockingReason] = {}
        self._blocked = Gauge(
            "grove_gangs_blocked",
            "Gangs that do not run, by the reason why they wait.",
            ["reason"],
            registry=registry,
        )
        for reason in BlockingReason:
            self._blocked.labels(reason.value).set(0)
        self.released = Counter(
            "grove_gangs_released_total", "Gangs whose pods were ungated.", registry=registry
        )
        self.moved = Counter(
            "grove_gangs_moved_total",
            "Gangs that were given to another backend before they were released.",
            registry=registry,
        )
        self.placement_outcomes = Counter(
            "grove_placement_outcomes_total",
            "Gangs with a placement policy that left a backend instance, by the reason.",
            ["outcome"],
            registry=registry,
        )
        for outcome in PlacementOutcome:
            self.placement_outcomes.labels(outcome.value)
        self.terminated = Counter(
            "grove_gang_terminations_total",
            "Replicas that were terminated after too long below minAvailable.",
            registry=registry,
        )
        self.restarted = Counter(
            "grove_job_restarts_total",
            "Replicas with jobs that were restarted as a whole after a pod failed.",
            registry=registry,
        )
        self.jobs = Counter(
            "grove_jobs_finished_total",
            "PodCliqueSets with jobs that have ended, by outcome.",
            ["outcome"],
            registry=registry,
        )
        for ending in JobOutcome:
            self.jobs.labels(ending.value)
        self.lost = Counter(
            "grove_pods_lost_total",
            "Ready pods that were lost and not deleted by core, by cause.",
            ["cause"],
            registry=registry,
        )
        for cause in DisruptionCause:
            self.lost.labels(cause.value)
        self.repair_seconds = Histogram(
            "grove_gang_repair_seconds",
            "Time from the loss of a pod until all pods of its gang were ready again.",
            buckets=_REPAIR_BUCKETS,
            registry=registry,
        )
        self.deleted = Counter(
            "grove_pods_deleted_total",
            "Pods that core deleted, by reason.",
            ["reason"],
            registry=registry,
        )
        self._violations = Counter(
            "grove_invariant_violations_total",
            "Deletions that were refused because they would have broken an invariant.",
            ["invariant"],
            registry=registry,
        )
        self._violations.labels(_MIN_AVAILABLE)

    def count_violation(self) -> None:
        """Count a deletion that was refused because it would have broken minAvailable."""
        self._violations.labels(_MIN_AVAILABLE).inc()

    def note(self, gang_uid: str, reason: BlockingReason | None) -> None:
        """Count a gang under the reason why it is blocked, or no more."""
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
