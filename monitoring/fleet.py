"""The fleet dashboard: all gangs, what they wait for, how fast they start, what was lost."""

from monitoring.alerts import NEEDS_A_PERSON
from monitoring.panels import RATE, SELDOM, Dashboard, Panel, Query, Row
from monitoring.recordings import FAILED
from monitoring.scope import BACKEND_LEASE, LEADS, of_leader, ours, quantile, total

_GANGS = of_leader(ours("backend_gangs"))
_BLOCKED = of_leader(ours("grove_gangs_blocked"))
_STALLED = of_leader(ours("grove_gangs_blocked", f'reason=~"{NEEDS_A_PERSON}"'))


def _in_state(state: str) -> str:
    selected = of_leader(ours("backend_gangs", f'state="{state}"'))
    return f"sum({selected}) or vector(0)"


def _number(title: str, expression: str, about: str = "") -> Panel:
    return Panel(title, (Query(expression, title),), kind="stat", width=4, about=about)


def _quantiles(metric: str) -> tuple[Query, ...]:
    return tuple(
        Query(quantile(share, metric, SELDOM), f"p{share * 100:g}") for share in (0.5, 0.95, 0.99)
    )


def _increase(metric: str, by: str = "") -> str:
    return total(by, of_leader(f"increase({ours(metric)}[{RATE}])"))


_NOW = Row(
    "Now",
    (
        _number("Running", _in_state("Running")),
        _number("Starting", _in_state("Starting"), "Placed, and not all of the minimum is ready."),
        _number("Pending", _in_state("Pending"), "Known to their scheduler, and not placed."),
        _number(
            "Not running, as core counts",
            f"sum({_BLOCKED})",
            "Includes gangs that no backend serves.",
        ),
        _number(
            "Wait for a person",
            f"sum({_STALLED})",
        ),
        _number("Backends that lead", f"count({LEADS}{{{BACKEND_LEASE}}} == 1) or vector(0)"),
        Panel("Gangs by state", (Query(total("state", _GANGS), "{{state}}"),), stacked=True),
        Panel(
            "Gangs that do not run, by reason",
            (Query(total("reason", _BLOCKED) + " > 0", "{{reason}}"),),
            stacked=True,
            quiet=True,
            about="docs/concepts.md says what to do about each reason.",
        ),
    ),
)

_SPEED = Row(
    "How fast gangs start",
    (
        Panel("From creation to ready", _quantiles("backend_gang_ready_seconds"), "s"),
        Panel("From creation to placed", _quantiles("backend_gang_scheduled_seconds"), "s"),
        Panel(
            "Gangs released",
            (
                Query(_increase("grove_gangs_released_total"), "released"),
                Query(_increase("grove_gangs_moved_total"), "moved to another backend before"),
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
    "What was lost, and repaired",
    (
        Panel(
            "Serving pods that were taken",
            (Query(_increase("grove_pods_lost_total", "cause"), "{{cause}}"),),
            stacked=True,
        ),
        Panel("Until a gang was whole again", _quantiles("grove_gang_repair_seconds"), "s"),
        Panel(
            "Terminated after too long below the minimum",
            (Query(_increase("grove_gang_terminations_total"), "replicas and copies"),),
        ),
        Panel(
            "Deletions that were refused by our own guard",
            (Query(_increase("grove_invariant_violations_total", "invariant"), "{{invariant}}"),),
            about="Anything but zero is a defect.",
        ),
    ),
)

_HEALTH = Row(
    "Who serves them",
    (
        Panel("Who leads", (Query(ours(LEADS), "{{name}} {{instance}}"),), kind="state-timeline"),
        Panel(
            "Requests that fail",
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

FLEET = Dashboard("fleet", "fleet", "All gangs of the cluster.", (_NOW, _SPEED, _LOSSES, _HEALTH))
