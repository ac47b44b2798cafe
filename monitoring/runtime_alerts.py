"""Alerts about the runtime of a process: watches, queues, reconciliations and requests."""

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
            "A watch receives nothing from the API server",
            "The watch of {{ $labels.resource }} in {{ $labels.job }} received nothing for "
            "{{ $value | humanizeDuration }}.",
        ),
        Alert(
            "CacheNotFilled",
            f"min by (job, instance, resource) ({ours('cache_synced')}) == 0",
            "5m",
            "warning",
            "A cache is not synced",
            "{{ $labels.instance }} of {{ $labels.job }} waits for its first list of {{ $labels.resource }}.",
        ),
        Alert(
            "UnreadableObjects",
            f"max by (job, resource) ({ours('cache_unreadable_objects')}) > 0",
            "5m",
            "warning",
            "A controller cannot read an object",
            "{{ $value }} {{ $labels.resource }} are unreadable for {{ $labels.job }}. Their changes are "
            "ignored.",
        ),
        Alert(
            "ReconcileErrors",
            f"{ERRORS} > 0.1",
            "15m",
            "warning",
            "Many reconciliations fail",
            "{{ $value | humanizePercentage }} of controller {{ $labels.controller }} in {{ $labels.job }}.",
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
            "Controller {{ $labels.controller }} of {{ $labels.job }}. Its log has the traceback.",
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
            "{{ $value | humanize }} of controller {{ $labels.controller }} in {{ $labels.job }}.",
        ),
        Alert(
            "QueueSlow",
            f"{quantile(0.99, 'workqueue_queue_duration_seconds', '10m', 'job, name')} > 30",
            "10m",
            "warning",
            "Keys wait too long for a worker",
            "{{ $value | humanizeDuration }} in queue {{ $labels.name }} of {{ $labels.job }} "
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
            "The API server denies requests of a controller",
            "{{ $labels.job }}: {{ $labels.verb }} {{ $labels.resource }} returns "
            "{{ $labels.code }}.",
        ),
        Alert(
            "ApiFailing",
            f"{FAILURES} > 0.05",
            "10m",
            "warning",
            "Requests to the API server fail or are throttled",
            "{{ $value | humanizePercentage }} of the requests of {{ $labels.job }}.",
        ),
    ),
)
