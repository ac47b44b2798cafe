"""Alerts about the machinery of a process: its watches, queues, reconciliations and requests."""

from monitoring.recordings import ERRORS, FAILURES
from monitoring.rules import Alert, Group
from monitoring.scope import ours, quantile, total

_REFUSED = 'code=~"401|403"'

RUNTIME = Group(
    "podgang.runtime",
    (
        Alert(
            "WatchStale",
            f"max by (job, resource) ({ours('watch_age_seconds')}) > 90",
            "2m",
            "warning",
            "A watch hears nothing",
            "{{ $labels.job }} has heard nothing of {{ $labels.resource }} for "
            "{{ $value | humanizeDuration }}.",
        ),
        Alert(
            "CacheNotFilled",
            f"min by (job, instance, resource) ({ours('cache_synced')}) == 0",
            "5m",
            "warning",
            "A process does not get its first list",
            "{{ $labels.instance }} of {{ $labels.job }} waits for {{ $labels.resource }}.",
        ),
        Alert(
            "UnreadableObjects",
            f"max by (job, resource) ({ours('cache_unreadable_objects')}) > 0",
            "5m",
            "warning",
            "A controller cannot read an object",
            "{{ $value }} of {{ $labels.resource }} in {{ $labels.job }}; their changes are "
            "ignored.",
        ),
        Alert(
            "ReconcileErrors",
            f"{ERRORS} > 0.1",
            "15m",
            "warning",
            "Many reconciliations fail",
            "{{ $value | humanizePercentage }} of {{ $labels.controller }} in {{ $labels.job }}.",
        ),
        Alert(
            "ReconcileDefects",
            total(
                "job, controller",
                f"increase({ours('controller_runtime_reconcile_panics_total')}[15m])",
            )
            + " > 0",
            "0m",
            "warning",
            "A reconciliation raised an unexpected exception",
            "Controller {{ $labels.controller }} of {{ $labels.job }}: see its log.",
        ),
        Alert(
            "WorkStuck",
            total(
                "job, controller",
                f"increase({ours('controller_runtime_reconcile_timeouts_total')}[15m])",
            )
            + " > 3",
            "5m",
            "warning",
            "Reconciliations are cut off at their deadline",
            "{{ $value | humanize }} of {{ $labels.controller }} in {{ $labels.job }}.",
        ),
        Alert(
            "QueueSlow",
            f"{quantile(0.99, 'workqueue_queue_duration_seconds', '10m', 'job, name')} > 30",
            "10m",
            "warning",
            "Keys wait long for a worker",
            "{{ $value | humanizeDuration }} in {{ $labels.name }} of {{ $labels.job }} "
            "(99th percentile).",
        ),
        Alert(
            "ApiRefused",
            total(
                "job, code, verb, resource",
                f"increase({ours('rest_client_requests_total', _REFUSED)}[10m])",
            )
            + " > 0",
            "10m",
            "warning",
            "The API server refuses what a controller has to do",
            "{{ $labels.job }}: {{ $labels.verb }} {{ $labels.resource }} gives "
            "{{ $labels.code }}.",
        ),
        Alert(
            "ApiFailing",
            f"{FAILURES} > 0.05",
            "10m",
            "warning",
            "The API server fails or throttles",
            "{{ $value | humanizePercentage }} of the requests of {{ $labels.job }}.",
        ),
    ),
)
