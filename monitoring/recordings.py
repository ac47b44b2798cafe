"""Recording rules, for the alerts and for long-term storage.

Names are level, metric and operation, as Prometheus advises. `of_leader` in a name means that only
the leader is counted.
"""

from monitoring.rules import Group, Recording
from monitoring.scope import of_leader, ours, quantile, total

BLOCKED = "reason:grove_gangs_blocked:of_leader"
BACKEND_GANGS = "backend_state_reason:backend_gangs:of_leader"
WRITTEN = "backend:backend_gang_written_seconds:p95_10m"
READY = "backend:backend_gang_ready_seconds:p95_10m"
ERRORS = "controller:controller_runtime_reconcile_errors:ratio_rate10m"
FAILURES = "job:rest_client_requests_failed:ratio_rate10m"

FAILED = 'code=~"5..|429|<error>"'


def _rate(metric: str, over: str, *matchers: str) -> str:
    return f"rate({ours(metric, *matchers)}[{over}])"


def _share(by: str, part: str, whole: str) -> str:
    return f"{total(by, part)} / {total(by, whole)}"


RECORDINGS = Group(
    "podgang.recordings",
    (
        Recording(BLOCKED, total("reason", of_leader(ours("grove_gangs_blocked")))),
        Recording(BACKEND_GANGS, total("backend, state, reason", of_leader(ours("backend_gangs")))),
        Recording(WRITTEN, quantile(0.95, "backend_gang_written_seconds", "10m", "backend")),
        Recording(READY, quantile(0.95, "backend_gang_ready_seconds", "10m", "backend")),
        Recording(
            ERRORS,
            _share(
                "job, controller",
                _rate("controller_runtime_reconcile_errors_total", "10m"),
                _rate("controller_runtime_reconcile_total", "10m"),
            ),
        ),
        Recording(
            FAILURES,
            _share(
                "job",
                _rate("rest_client_requests_total", "10m", FAILED),
                _rate("rest_client_requests_total", "10m"),
            ),
        ),
    ),
)
