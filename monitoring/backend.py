"""The dashboard of one backend: what it writes, how fast, and what its scheduler reports."""

from monitoring.panels import RARE_RATE, RATE, Dashboard, Panel, Query, Row, Variable
from monitoring.scope import LEADS, of_leader, ours, quantile, total

_CHOSEN = 'backend="$backend"'
# Metrics of the runtime have no label `backend`, so another metric selects its processes.
_ITS_PROCESSES = f"on (job, instance) {ours('backend_translate_seconds_count', _CHOSEN)}"
_GANGS = of_leader(ours("backend_gangs", _CHOSEN))


def _p95(metric: str, legend: str) -> Query:
    return Query(quantile(0.95, metric, RARE_RATE, "", _CHOSEN), legend)


def _increase(metric: str) -> str:
    return total("", f"increase({ours(metric, _CHOSEN)}[{RATE}])")


_STATE = Row(
    "Now",
    (
        Panel(
            "API of the scheduler",
            (Query(total("dialect", ours("backend_dialect_info", _CHOSEN)), "{{dialect}}"),),
            kind="stat",
            width=8,
            about="Number of processes that use it. None: the API of the scheduler was not found.",
        ),
        Panel(
            "Leaders",
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
            "Gangs that are not running, by the scheduler's reason",
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
    "Latency (95th percentile)",
    (
        Panel(
            "From a gang's creation",
            (
                _p95("backend_gang_written_seconds", "until its objects are written"),
                _p95("backend_gang_scheduled_seconds", "until its minimum is scheduled"),
                _p95("backend_gang_ready_seconds", "until its minimum is ready"),
            ),
            "s",
        ),
        Panel(
            "By step",
            (
                _p95("backend_translate_seconds", "translate"),
                _p95("backend_apply_seconds", "write"),
                _p95("backend_mirror_seconds", "change until status"),
            ),
            "s",
        ),
    ),
)

_WRITES = Row(
    "Writes",
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
            "Replaced, garbage-collected and foreign objects",
            (
                Query(_increase("backend_replacements_total"), "replaced"),
                Query(
                    _increase("backend_orphans_removed_total"), "deleted because their gang is gone"
                ),
                Query(_increase("backend_conflicts_total"), "foreign"),
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
            "Objects in caches",
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
