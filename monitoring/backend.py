"""The dashboard of one backend: what it writes, how fast, and what its scheduler says."""

from monitoring.panels import RATE, SELDOM, Dashboard, Panel, Query, Row, Variable
from monitoring.scope import LEADS, of_leader, ours, quantile, total

_CHOSEN = 'backend="$backend"'
# Metrics of the runtime do not name the backend: its processes are known by those that do.
_ITS_PROCESSES = f"on (job, instance) {ours('backend_translate_seconds_count', _CHOSEN)}"
_GANGS = of_leader(ours("backend_gangs", _CHOSEN))


def _p95(metric: str, legend: str) -> Query:
    return Query(quantile(0.95, metric, SELDOM, "", _CHOSEN), legend)


def _increase(metric: str) -> str:
    return total("", f"increase({ours(metric, _CHOSEN)}[{RATE}])")


_STATE = Row(
    "Now",
    (
        Panel(
            "Form of the scheduler's API",
            (Query(total("dialect", ours("backend_dialect_info", _CHOSEN)), "{{dialect}}"),),
            kind="stat",
            width=8,
            about="How many processes speak it. None: the scheduler's API was not found.",
        ),
        Panel(
            "Processes that lead",
            (Query(f"sum({ours(LEADS)} and {_ITS_PROCESSES})", "leading"),),
            kind="stat",
            width=8,
        ),
        Panel(
            "Gangs",
            (Query(f"sum({_GANGS}) or vector(0)", "gangs"),),
            kind="stat",
            width=8,
        ),
        Panel("Gangs by state", (Query(total("state", _GANGS), "{{state}}"),), stacked=True),
        Panel(
            "Gangs that do not run, in the scheduler's words",
            (
                Query(
                    total(
                        "state, reason",
                        of_leader(ours("backend_gangs", _CHOSEN, 'state!="Running"')),
                    )
                    + " > 0",
                    "{{state}} {{reason}}",
                ),
            ),
            stacked=True,
            quiet=True,
        ),
    ),
)

_LIFE = Row(
    "How fast (95th percentile)",
    (
        Panel(
            "From a gang's creation",
            (
                _p95("backend_gang_written_seconds", "to the scheduler's objects being written"),
                _p95("backend_gang_scheduled_seconds", "to its minimum being placed"),
                _p95("backend_gang_ready_seconds", "to its minimum being ready"),
            ),
            "s",
        ),
        Panel(
            "One step",
            (
                _p95("backend_translate_seconds", "translate"),
                _p95("backend_apply_seconds", "write"),
                _p95("backend_mirror_seconds", "news until status"),
            ),
            "s",
        ),
    ),
)

_WRITES = Row(
    "What it writes",
    (
        Panel(
            "Writes by kind and result",
            (
                Query(
                    total(
                        "resource, result",
                        f"rate({ours('backend_writes_total', _CHOSEN)}[{RATE}])",
                    ),
                    "{{resource}} {{result}}",
                ),
            ),
            "wps",
        ),
        Panel(
            "Replaced, cleaned up, not ours",
            (
                Query(_increase("backend_replacements_total"), "replaced"),
                Query(_increase("backend_orphans_removed_total"), "removed with their gang gone"),
                Query(_increase("backend_conflicts_total"), "somebody else's"),
            ),
        ),
        Panel(
            "Requests by code",
            (
                Query(
                    total(
                        "code, verb",
                        f"rate({ours('rest_client_requests_total')}[{RATE}]) and {_ITS_PROCESSES}",
                    ),
                    "{{verb}} {{code}}",
                ),
            ),
            "reqps",
        ),
        Panel(
            "Objects that it knows",
            (
                Query(
                    f"max by (resource) ({ours('cache_objects')} and {_ITS_PROCESSES})",
                    "{{resource}}",
                ),
            ),
        ),
    ),
)

BACKEND = Dashboard(
    "backend",
    "one backend",
    "One backend controller and its scheduler.",
    (_STATE, _LIFE, _WRITES),
    (Variable("backend", "label_values(backend_translate_seconds_count, backend)"),),
)
