"""Every metric of the runtime, in one registry that its owner passes around.

Names and labels are controller-runtime's and client-go's where those exist, so that
dashboards and alerts made for them work. Label values come from code (controllers,
resources, fixed words) or are folded into a bounded set; no object's name is ever a label.
Values that somebody already keeps, such as depths, ages and sizes, are read when the
registry is scraped and cost nothing in between.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue, QueueMetrics
from shared_api.runtime.telemetry.gauges import LiveGauges

METHODS = {
    "GET": "GET",
    "LIST": "GET",
    "WATCH": "GET",
    "POST": "POST",
    "DRYRUN": "POST",
    "APPLY": "PATCH",
    "PATCH": "PATCH",
    "DELETE": "DELETE",
}
"""The HTTP method of each verb; client-go labels with the method, people ask for the verb."""
RECONCILE_SECONDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
)  # fmt: skip
QUEUE_SECONDS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600)
REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)


def bounded_code(code: int) -> str:
    """A status code as a label value; no answer at all is client-go's `<error>`."""
    return str(code) if 100 <= code <= 599 else "<error>"


class Telemetry:
    """The metrics of one process."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry(auto_describe=True)
        self._live = LiveGauges()
        # Looking a child up by its labels costs more than counting.
        self._bound: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.registry.register(self._live)
        self._define_controllers()
        self._define_queues()
        self._define_rest()

    def controller(self, name: str, workers: int) -> "ControllerMetrics":
        """The metrics of one controller, present from the start with value zero."""
        self.max_concurrent.labels(name).set(workers)
        return ControllerMetrics(self, name)

    def queue(self, name: str) -> QueueMetrics:
        """The metrics of one work queue."""
        return _MeasuredQueue(self, name)

    def written(self, controller: str) -> Callable[[str, str], None]:
        """A function that counts an object handed to the apply engine, by resource and result."""
        bound: dict[tuple[str, str], Counter] = {}

        def count(resource: str, result: str) -> None:
            counter = bound.get((resource, result))
            if counter is None:
                counter = bound[resource, result] = self.writes.labels(controller, resource, result)
            counter.inc()

        return count

    def request(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Count one request to the API server; fits the client's `observe`."""
        found = self._bound.get((verb, resource, code))
        if found is None:
            found = self._bound[verb, resource, code] = self._bind(verb, resource, code)
        count, duration = found
        count.inc()
        duration.observe(seconds)

    def _bind(self, verb: str, resource: str, code: int) -> tuple[Counter, Histogram]:
        method = METHODS.get(verb)
        if method is None:
            verb = method = "OTHER"
        count = self.requests.labels(bounded_code(code), method, verb, resource)
        return count, self.request_seconds.labels(verb, resource)

    def watch_restarted(self, resource: str, reason: str) -> None:
        """Count a watch that was taken up again; fits the reflector's `on_restart`."""
        self.watch_restarts.labels(resource, reason).inc()

    def read_at_scrape(
        self, metric: str, labels: Mapping[str, str], read: Callable[[], float]
    ) -> None:
        """Export a value that somebody else keeps; `gauges.LIVE` names what there is."""
        self._live.add(metric, labels, read)

    def start_over(self) -> None:
        """Export nothing of those whose values were read so far: they are gone."""
        self._live.clear()

    def watch_queue(self, name: str, queue: Queue[Any]) -> None:
        """Export how deep a queue is, by priority, what waits, and how long keys are in work."""
        for priority in Priority:
            labels = {"name": name, "controller": name, "priority": priority.name.lower()}
            self.read_at_scrape("workqueue_depth", labels, _count(queue.depth, priority))

        def busy() -> Iterable[float]:
            return queue.processing().values()

        labels = {"name": name, "controller": name}
        self.read_at_scrape("workqueue_waiting", labels, queue.waiting)
        self.read_at_scrape("workqueue_unfinished_work_seconds", labels, lambda: math.fsum(busy()))
        self.read_at_scrape(
            "workqueue_longest_running_processor_seconds", labels, lambda: max(busy(), default=0.0)
        )

    def _define_controllers(self) -> None:
        registry, one = self.registry, ["controller"]
        self.reconciles = Counter(
            "controller_runtime_reconcile_total",
            "Reconciliations by controller and result.",
            ["controller", "result"],
            registry=registry,
        )
        self.reconcile_errors = Counter(
            "controller_runtime_reconcile_errors_total",
            "Reconciliations that ended in an error.",
            one,
            registry=registry,
        )
        self.terminal_errors = Counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Reconciliations that ended in an error which no retry can mend.",
            one,
            registry=registry,
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics_total",
            "Reconciliations that raised an exception outside the error tree.",
            one,
            registry=registry,
        )
        self.timeouts = Counter(
            "controller_runtime_reconcile_timeouts_total",
            "Reconciliations that were cut off at their deadline.",
            one,
            registry=registry,
        )
        self.reconcile_seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Time that a reconciliation took.",
            one,
            buckets=RECONCILE_SECONDS,
            registry=registry,
        )
        self.max_concurrent = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Number of workers of a controller.",
            one,
            registry=registry,
        )
        self.active_workers = Gauge(
            "controller_runtime_active_workers",
            "Workers that are reconciling now.",
            one,
            registry=registry,
        )

    def _define_queues(self) -> None:
        registry, two = self.registry, ["name", "controller"]
        self.queue_adds = Counter(
            "workqueue_adds_total", "Adds to a work queue.", two, registry=registry
        )
        self.queue_retries = Counter(
            "workqueue_retries_total", "Adds with back-off.", two, registry=registry
        )
        self.queue_seconds = Histogram(
            "workqueue_queue_duration_seconds",
            "Time that a key was due before a worker took it.",
            two,
            buckets=QUEUE_SECONDS,
            registry=registry,
        )
        self.work_seconds = Histogram(
            "workqueue_work_duration_seconds",
            "Time that a key was processed.",
            two,
            buckets=QUEUE_SECONDS,
            registry=registry,
        )

    def _define_rest(self) -> None:
        registry = self.registry
        self.requests = Counter(
            "rest_client_requests_total",
            "Requests to the API server by status code, method, verb and resource.",
            ["code", "method", "verb", "resource"],
            registry=registry,
        )
        self.request_seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Time until the API server's answer was there; for a watch, until it began.",
            ["verb", "resource"],
            buckets=REQUEST_SECONDS,
            registry=registry,
        )
        self.watch_restarts = Counter(
            "watch_restarts_total",
            "Watches that were started again, by what ended them.",
            ["resource", "reason"],
            registry=registry,
        )
        self.writes = Counter(
            "apply_writes_total",
            "Objects handed to the apply engine, by what came of it.",
            ["controller", "resource", "result"],
            registry=registry,
        )
        self.events = Counter(
            "events_recorded_total",
            "Events by what became of them.",
            ["result"],
            registry=registry,
        )
        self.leader = Gauge(
            "leader_election_master_status",
            "1 while this process holds the lease.",
            ["name"],
            registry=registry,
        )


def _count(depth: Callable[[], Mapping[int, int]], priority: int) -> Callable[[], float]:
    return lambda: depth().get(priority, 0)


class ControllerMetrics:
    """The bound metrics of one controller."""

    def __init__(self, telemetry: Telemetry, name: str) -> None:
        # Children are created here, so that a rate() over them starts from zero.
        self.success = telemetry.reconciles.labels(name, "success")
        self.requeue_after = telemetry.reconciles.labels(name, "requeue_after")
        self.error = telemetry.reconciles.labels(name, "error")
        self.errors = telemetry.reconcile_errors.labels(name)
        self.terminal = telemetry.terminal_errors.labels(name)
        self.panics = telemetry.panics.labels(name)
        self.timeouts = telemetry.timeouts.labels(name)
        self.seconds = telemetry.reconcile_seconds.labels(name)
        self.active = telemetry.active_workers.labels(name)


class _MeasuredQueue(QueueMetrics):
    def __init__(self, telemetry: Telemetry, name: str) -> None:
        self._adds = telemetry.queue_adds.labels(name, name)
        self._retries = telemetry.queue_retries.labels(name, name)
        self._waited = telemetry.queue_seconds.labels(name, name)
        self._worked = telemetry.work_seconds.labels(name, name)

    def added(self) -> None:
        self._adds.inc()

    def retried(self) -> None:
        self._retries.inc()

    def started(self, waited: float) -> None:
        self._waited.observe(waited)

    def finished(self, worked: float) -> None:
        self._worked.observe(worked)
