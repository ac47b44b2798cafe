"""The metrics of a backend, beside those of the runtime.

All have the label `backend`. States are a fixed set. Reasons may come from a scheduler's API, so
their number is limited. A gang is counted under one state and one reason, by UID, until it is gone.
"""

from prometheus_client import Counter, Gauge, Histogram

from shared_api.runtime.telemetry.metrics import Telemetry

STEP_SECONDS = (1e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5)
LIFE_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)
_REASONS = 32
OTHER_REASON = "Other"


class BackendMetrics:
    """The metrics of one backend."""

    def __init__(self, telemetry: Telemetry, backend: str) -> None:
        self._define(telemetry, backend)
        self._states: dict[str, tuple[str, str]] = {}
        self._reasons: set[str] = set()
        # Finding a counter by its labels takes longer than counting.
        self._written: dict[tuple[str, str], Counter] = {}
        self._backend = backend

    def _define(self, telemetry: Telemetry, backend: str) -> None:
        registry = telemetry.registry
        self._gangs = Gauge(
            "backend_gangs",
            "Gangs by state, and the reason why they are not further.",
            ["backend", "state", "reason"],
            registry=registry,
        )
        self._dialect = Gauge(
            "backend_dialect_info",
            "1 for the form of the scheduler's API that is in use.",
            ["backend", "dialect"],
            registry=registry,
        )

        def histogram(name: str, help_: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, help_, ["backend"], buckets=buckets, registry=registry).labels(
                backend
            )

        def counter(name: str, help_: str) -> Counter:
            return Counter(name, help_, ["backend"], registry=registry).labels(backend)

        self.translate = histogram(
            "backend_translate_seconds", "Time to translate a gang.", STEP_SECONDS
        )
        self.apply = histogram(
            "backend_apply_seconds",
            "Time to write the scheduler's objects of a gang.",
            STEP_SECONDS,
        )
        self.mirror = histogram(
            "backend_mirror_seconds",
            "Time from finding that a gang's status must change to its being written.",
            STEP_SECONDS,
        )
        self.to_written = histogram(
            "backend_gang_written_seconds",
            "Time from a PodGang's creation to the scheduler's objects being written.",
            LIFE_SECONDS,
        )
        self.to_scheduled = histogram(
            "backend_gang_scheduled_seconds",
            "Time from a PodGang's creation to its minimum being scheduled.",
            LIFE_SECONDS,
        )
        self.to_ready = histogram(
            "backend_gang_ready_seconds",
            "Time from a PodGang's creation to its minimum being ready.",
            LIFE_SECONDS,
        )
        self.conflicts = counter(
            "backend_conflicts_total",
            "Objects that were not written because a foreign object has their name.",
        )
        self.replacements = counter(
            "backend_replacements_total",
            "Objects that were replaced because they cannot be changed.",
        )
        self.orphans = counter(
            "backend_orphans_removed_total",
            "Objects that were deleted because their gang was gone.",
        )
        self._writes = Counter(
            "backend_writes_total",
            "Writes to the API server, by resource and result.",
            ["backend", "resource", "result"],
            registry=registry,
        )

    def set_dialect(self, dialect: str) -> None:
        """Show the dialect that is in use; empty if none is."""
        self._dialect.clear()
        if dialect:
            self._dialect.labels(self._backend, dialect).set(1)

    def wrote(self, resource: str, result: str) -> None:
        """Count a write."""
        counter = self._written.get((resource, result))
        if counter is None:
            counter = self._writes.labels(self._backend, resource, result)
            self._written[resource, result] = counter
        counter.inc()

    def note(self, uid: str, state: str, reason: str) -> None:
        """Count a gang under its present state and reason."""
        now = (state, self._bounded(reason))
        before = self._states.get(uid)
        if before == now:
            return
        if before is not None:
            self._gangs.labels(self._backend, *before).dec()
        self._states[uid] = now
        self._gangs.labels(self._backend, *now).inc()

    def forget(self, uid: str) -> None:
        """Stop counting a gang that is gone."""
        if (before := self._states.pop(uid, None)) is not None:
            self._gangs.labels(self._backend, *before).dec()

    def start_over(self) -> None:
        """Count no gang; the next controllers count them again."""
        self._states.clear()
        self._gangs.clear()

    def _bounded(self, reason: str) -> str:
        if reason in self._reasons:
            return reason
        if len(self._reasons) >= _REASONS:
            return OTHER_REASON
        self._reasons.add(reason)
        return reason
