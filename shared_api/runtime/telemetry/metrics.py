"""Every metric of the runtime, in one registry that its owner passes around.

Names and labels are those of controller-runtime and client-go where these exist, so that their
dashboards and alerts work. Label values come from code (controllers, resources, results) or from
a bounded set; the name of an object must never be a label. Depths, ages and sizes are read when
the registry is scraped.
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
"""The HTTP method of each verb; client-go labels with the method."""
RECONCILE_SECONDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
)  # fmt: skip
QUEUE_SECONDS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600)
REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)


def bounded_code(code: int) -> str:
    """Return a status code as a label value; no answer is `<error>`, as in client-go."""
    return str(code) if 100 <= code <= 599 else "<error>"


class Telemetry:
    """The metrics of one process."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry(auto_describe=True)
        self._live = LiveGauges()
        # Finding a child by its labels costs more than counting.
        self._bound: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.registry.register(self._live)
        self._define_controllers()
        self._define_queues()
        self._define_rest()

    def controller(self, name: str, workers: int) -> "ControllerMetrics":
        """Return the metrics of one controller; they exist from the start with value zero."""
        self.max_concurrent.labels(name).set(workers)
        return ControllerMetrics(self, name)

    def queue(self, name: str) -> QueueMetrics:
        """Return the metrics of one work queue."""
        return _MeasuredQueue(self, name)

    def written(self, controller: str) -> Callable[[str, str], None]:
        """Return a function that counts a write by resource and result."""
        bound: dict[tuple[str, str], Counter] = {}

        def count(resource: str, result: str) -> None:
            counter = bound.get((resource, result))
            if counter is None:
                counter = bound[resource, result] = self.writes.labels(controller, resource, result)
            counter.inc()

        return count

    def request(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Count one request to the API server; an `Observer` of the client."""
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
        """Count a watch that was started again; an `on_restart` of the reflector."""
        self.watch_restarts.labels(resource, reason).inc()

    def read_at_scrape(
        self, metric: str, labels: Mapping[str, str], read: Callable[[], float]
    ) -> None:
        """Export a value that is read at scrape time; `gauges.LIVE` lists the metrics."""
        self._live.add(metric, labels, read)

    def start_over(self) -> None:
        """Drop all readers; their owners are gone."""
        self._live.clear()

    def watch_queue(self, name: str, queue: Queue[Any]) -> None:
        """Export the depth of a queue by priority, its waiting keys and the keys in work."""
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
        one = ["controller"]
        self.reconciles = self._counter(
            "controller_runtime_reconcile_total",
            "Reconciliations by controller and result.",
            ["controller", "result"],
        )
        self.reconcile_errors = self._counter(
            "controller_runtime_reconcile_errors_total",
            "Reconciliations that ended in an error.",
            one,
        )
        self.terminal_errors = self._counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Reconciliations that ended in an error which no retry can fix.",
            one,
        )
        self.panics = self._counter(
            "controller_runtime_reconcile_panics_total",
            "Reconciliations that raised an exception outside the error tree.",
            one,
        )
        self.timeouts = self._counter(
            "controller_runtime_reconcile_timeouts_total",
            "Reconciliations that were cut off at their deadline.",
            one,
        )
        self.reconcile_seconds = self._histogram(
            "controller_runtime_reconcile_time_seconds",
            "Time that a reconciliation took.",
            one,
            RECONCILE_SECONDS,
        )
        self.max_concurrent = self._gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Number of workers of a controller.",
            one,
        )
        self.active_workers = self._gauge(
            "controller_runtime_active_workers", "Workers that are reconciling now.", one
        )

    def _define_queues(self) -> None:
        two = ["name", "controller"]
        self.queue_adds = self._counter("workqueue_adds_total", "Adds to a work queue.", two)
        self.queue_retries = self._counter("workqueue_retries_total", "Adds with back-off.", two)
        self.queue_seconds = self._histogram(
            "workqueue_queue_duration_seconds",
            "Time that a key was due before a worker took it.",
            two,
            QUEUE_SECONDS,
        )
        self.work_seconds = self._histogram(
            "workqueue_work_duration_seconds",
            "Time that a key was processed.",
            two,
            QUEUE_SECONDS,
        )

    def _define_rest(self) -> None:
        self.requests = self._counter(
            "rest_client_requests_total",
            "Requests to the API server by status code, method, verb and resource.",
            ["code", "method", "verb", "resource"],
        )
        self.request_seconds = self._histogram(
            "rest_client_request_duration_seconds",
            "Time until the API server's answer was there; for a watch, until it began.",
            ["verb", "resource"],
            REQUEST_SECONDS,
        )
        self.watch_restarts = self._counter(
            "watch_restarts_total",
            "Watches that were started again, by what ended them.",
            ["resource", "reason"],
        )
        self.writes = self._counter(
            "apply_writes_total",
            "Objects handed to the Applier, by result.",
            ["controller", "resource", "result"],
        )
        self.events = self._counter("events_recorded_total", "Events by result.", ["result"])
        self.leader = self._gauge(
            "leader_election_master_status", "1 while this process holds the lease.", ["name"]
        )

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: list[str]) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, labels: list[str], buckets: tuple[float, ...]
    ) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)


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
