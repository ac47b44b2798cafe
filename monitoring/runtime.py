"""The dashboard of the runtime that all processes share."""

from monitoring.panels import RATE, Dashboard, Panel, Query, Row, Variable
from monitoring.scope import LEADS

_JOB = 'job=~"$job"'


def _our(metric: str, *matchers: str) -> str:
    return f"{metric}{{{','.join((_JOB, *matchers))}}}"


def _rate(by: str, metric: str, *matchers: str) -> str:
    return f"sum by ({by}) (rate({_our(metric, *matchers)}[{RATE}]))"


def _p99(by: str, metric: str) -> str:
    return f"histogram_quantile(0.99, {_rate(f'le, {by}', f'{metric}_bucket')})"


def _one(title: str, expression: str, legend: str, unit: str = "short") -> Panel:
    return Panel(title, (Query(expression, legend),), unit, width=8)


def _if_any(title: str, expression: str, legend: str) -> Panel:
    """A panel that is empty if all is well."""
    return Panel(title, (Query(expression, legend),), width=8, quiet=True)


def _trouble(metric: str, word: str) -> Query:
    """Only the controllers above zero, so that the legend stays short."""
    rate = _rate("controller", f"controller_runtime_{metric}_total")
    return Query(f"{rate} > 0", f"{{{{controller}}}} {word}")


_PROCESSES = Row(
    "Processes, watches, caches",
    (
        Panel(
            "Leaders",
            (Query(_our(LEADS), "{{name}} {{instance}}"),),
            kind="state-timeline",
            width=8,
        ),
        _one(
            "Time since a watch last received data",
            f"max by (job, resource) ({_our('watch_age_seconds')})",
            "{{job}} {{resource}}",
            "s",
        ),
        _if_any(
            "Restarted watches",
            f"sum by (resource, reason) (increase({_our('watch_restarts_total')}[{RATE}]))",
            "{{resource}} {{reason}}",
        ),
        _one(
            "Objects in caches",
            f"max by (job, resource) ({_our('cache_objects')})",
            "{{job}} {{resource}}",
        ),
        _if_any(
            "Caches that are not synced",
            f"count by (job, resource) ({_our('cache_synced')} == 0)",
            "{{job}} {{resource}}",
        ),
        _one("Events", _rate("job, result", "events_recorded_total"), "{{job}} {{result}}"),
    ),
)

_WORK = Row(
    "Reconciliations",
    (
        _one(
            "By result",
            _rate("controller, result", "controller_runtime_reconcile_total"),
            "{{controller}} {{result}}",
            "ops",
        ),
        Panel(
            "Failures",
            (
                _trouble("reconcile_errors", "error"),
                _trouble("terminal_reconcile_errors", "terminal error"),
                _trouble("reconcile_panics", "unexpected exception"),
                _trouble("reconcile_timeouts", "timeout"),
            ),
            "ops",
            width=8,
            quiet=True,
        ),
        _one(
            "Time (99th percentile)",
            _p99("controller", "controller_runtime_reconcile_time_seconds"),
            "{{controller}}",
            "s",
        ),
        _one(
            "Workers in use",
            f"sum by (controller) ({_our('controller_runtime_active_workers')}) / "
            f"sum by (controller) ({_our('controller_runtime_max_concurrent_reconciles')})",
            "{{controller}}",
            "percentunit",
        ),
        _if_any(
            "Keys that wait for the events of their own writes",
            f"sum by (controller) ({_our('writes_not_yet_seen')}) > 0",
            "{{controller}}",
        ),
        _one(
            "Objects applied",
            _rate("controller, resource, result", "apply_writes_total"),
            "{{controller}} {{resource}} {{result}}",
            "wps",
        ),
    ),
)

_QUEUES = Row(
    "Queues",
    (
        _if_any(
            "Ready keys by priority",
            f"sum by (name, priority) ({_our('workqueue_depth')}) > 0",
            "{{name}} {{priority}}",
        ),
        _if_any(
            "Delayed keys",
            f"sum by (name) ({_our('workqueue_waiting')}) > 0",
            "{{name}}",
        ),
        _one(
            "Wait for a worker (99th percentile)",
            _p99("name", "workqueue_queue_duration_seconds"),
            "{{name}}",
            "s",
        ),
        _one(
            "Processing time (99th percentile)",
            _p99("name", "workqueue_work_duration_seconds"),
            "{{name}}",
            "s",
        ),
        Panel(
            "Adds and retries",
            (
                Query(_rate("name", "workqueue_adds_total"), "{{name}}"),
                Query(_rate("name", "workqueue_retries_total"), "{{name}} retries"),
            ),
            "ops",
            width=8,
        ),
        _one(
            "Longest running key",
            f"max by (name) ({_our('workqueue_longest_running_processor_seconds')})",
            "{{name}}",
            "s",
        ),
        _one(
            "Processing time of all unfinished keys",
            f"sum by (name) ({_our('workqueue_unfinished_work_seconds')})",
            "{{name}}",
            "s",
        ),
    ),
)

_REQUESTS = Row(
    "Requests to the API server",
    (
        _one(
            "By verb and resource",
            _rate("verb, resource", "rest_client_requests_total"),
            "{{verb}} {{resource}}",
            "reqps",
        ),
        _one("By code", _rate("code", "rest_client_requests_total"), "{{code}}", "reqps"),
        _one(
            "Time (99th percentile)",
            _p99("verb", "rest_client_request_duration_seconds"),
            "{{verb}}",
            "s",
        ),
    ),
)

RUNTIME = Dashboard(
    "runtime",
    "runtime",
    "Watches, queues, reconciliations and requests of all processes.",
    (_PROCESSES, _WORK, _QUEUES, _REQUESTS),
    (Variable("job", "label_values(cache_synced, job)", several=True),),
)
