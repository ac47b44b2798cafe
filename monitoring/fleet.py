"""The fleet dashboard: all gangs, why they wait, how fast they start, what was lost."""

from monitoring.alerts import MANUAL_ACTION
from monitoring.panels import RARE_RATE, RATE, Dashboard, Panel, Query, Row
from monitoring.recordings import FAILED
from monitoring.scope import BACKEND_LEASE, LEADS, of_leader, ours, quantile, total

_GANGS = of_leader(ours("backend_gangs"))
_BLOCKED = of_leader(ours("grove_gangs_blocked"))
_STALLED = of_leader(ours("grove_gangs_blocked", f'reason=~"{MANUAL_ACTION}"'))


def _in_state(state: str) -> str:
    selected = of_leader(ours("backend_gangs", f'state="{state}"'))
    return f"sum({selected}) or vector(0)"


def _number(title: str, expression: str, about: str = "") -> Panel:
    return Panel(title, (Query(expression, title),), kind="stat", width=4, about=about)


def _quantiles(metric: str) -> tuple[Query, ...]:
    return tuple(
        Query(quantile(share, metric, RARE_RATE), f"p{share * 100:g}")
        for share in (0.5, 0.95, 0.99)
    )


def _increase(metric: str, by: str = "") -> str:
    return total(by, of_leader(f"increase({ours(metric)}[{RATE}])"))


_NOW = Row(
    "Now",
    (
        _number("Running", _in_state("Running")),
        _number("Starting", _in_state("Starting"), "Scheduled, and the minimum is not ready yet."),
        _number(
            "Pending", _in_state("Pending"), "Passed to their scheduler, and not scheduled yet."
        ),
        _number(
            "Not running",
            f"sum({_BLOCKED})",
            "Counted by core. Includes gangs without a backend.",
        ),
        _number(
            "Manual action required",
            f"sum({_STALLED})",
        ),
        _number("Backends with a leader", f"count({LEADS}{{{BACKEND_LEASE}}} == 1) or vector(0)"),
        Panel("Gangs by state", (Query(total("state", _GANGS), "{{state}}"),), stacked=True),
        Panel(
            "Gangs that are not running, by reason",
            (Query(total("reason", _BLOCKED) + " > 0", "{{reason}}"),),
            stacked=True,
            quiet=True,
            about="See docs/concepts.md for what to do about each reason.",
        ),
    ),
)

_SPEED = Row(
    "Start-up latency",
    (
        Panel("From creation to ready", _quantiles("backend_gang_ready_seconds"), "s"),
        Panel("From creation to scheduled", _quantiles("backend_gang_scheduled_seconds"), "s"),
        Panel(
            "Gangs released",
            (
                Query(_increase("grove_gangs_released_total"), "released"),
                Query(_increase("grove_gangs_moved_total"), "moved to another backend first"),
                Query(_increase("grove_placement_outcomes_total"), "left a backend by policy"),
            ),
        ),
        Panel(
            "Time to ready",
            (Query(total("le", f"increase({ours('backend_gang_ready_seconds_bucket')}[{RATE}])")),),
            "s",
            "heatmap",
        ),
    ),
)

_LOSSES = Row(
    "Losses and recovery",
    (
        Panel(
            "Ready pods that were lost",
            (Query(_increase("grove_pods_lost_total", "cause"), "{{cause}}"),),
            stacked=True,
        ),
        Panel(
            "Pods that core deleted",
            (Query(_increase("grove_pods_deleted_total", "reason"), "{{reason}}"),),
            stacked=True,
        ),
        Panel(
            "Time until a gang has all its pods again", _quantiles("grove_gang_repair_seconds"), "s"
        ),
        Panel(
            "Terminated gangs (too long below their minimum)",
            (Query(_increase("grove_gang_terminations_total"), "replicas"),),
        ),
        Panel(
            "Deletions that core did not do, to keep minAvailable",
            (Query(_increase("grove_invariant_violations_total", "invariant"), "{{invariant}}"),),
            about="Any value above zero is a bug in core.",
        ),
    ),
)

_JOBS = Row(
    "Jobs",
    (
        Panel(
            "Sets with jobs that have ended",
            (Query(_increase("grove_jobs_finished_total", "outcome"), "{{outcome}}"),),
            stacked=True,
        ),
        Panel(
            "Restarts of jobs after a pod failed",
            (Query(_increase("grove_job_restarts_total"), "replicas"),),
        ),
    ),
)

_HEALTH = Row(
    "Controllers",
    (
        Panel("Leaders", (Query(ours(LEADS), "{{name}} {{instance}}"),), kind="state-timeline"),
        Panel(
            "Share of failed requests",
            (
                Query(
                    total("job", f"rate({ours('rest_client_requests_total', FAILED)}[{RATE}])")
                    + " / "
                    + total("job", f"rate({ours('rest_client_requests_total')}[{RATE}])"),
                    "{{job}}",
                ),
            ),
            "percentunit",
            quiet=True,
        ),
    ),
)

FLEET = Dashboard(
    "fleet", "fleet", "All gangs of the cluster.", (_NOW, _SPEED, _LOSSES, _JOBS, _HEALTH)
)
