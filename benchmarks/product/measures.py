"""Numbers out of texts: what an operator has written, and what a process has used.

The operator counts its own requests; the kernel counts its CPU and memory. Nothing here
reads a file or asks a server.
"""

import re
from collections import Counter
from collections.abc import Mapping

from benchmarks.runtime.figures import Figure

WRITES_PER_POD = 2
WRITES_PER_GANG = 7
_VERBS = ("POST", "APPLY", "PATCH", "DELETE")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_REQUESTS = "rest_client_requests_total{"

Writes = Counter[tuple[str, str]]
"""How many writes there were, by verb and resource."""


def writes(page: str) -> Writes:
    """All writes in a page of metrics, also those that the server refused."""
    found: Writes = Counter()
    for line in page.splitlines():
        if line.startswith(_REQUESTS):
            labels = dict(_LABEL.findall(line))
            if labels["verb"] in _VERBS:
                found[labels["verb"], labels["resource"]] += int(float(line.rsplit(" ", 1)[1]))
    return found


def refused(page: str) -> int:
    """How many of the writes in a page of metrics were not accepted."""
    lines = [line for line in page.splitlines() if line.startswith(_REQUESTS)]
    return sum(
        int(float(line.rsplit(" ", 1)[1]))
        for line in lines
        if (labels := dict(_LABEL.findall(line)))["verb"] in _VERBS
        and not labels["code"].startswith("2")
    )


def is_at_rest(page: str) -> bool:
    """Tell whether every cache is filled, every queue empty and every worker free."""
    busy = ("workqueue_depth", "writes_not_yet_seen", "controller_runtime_active_workers")
    for line in page.splitlines():
        if line.startswith(busy) and float(line.rsplit(" ", 1)[1]):
            return False
        if line.startswith("cache_synced") and not float(line.rsplit(" ", 1)[1]):
            return False
    return "cache_synced" in page


def write_figures(done: Writes, pods: int, gangs: int) -> list[Figure]:
    """The writes of a start, in total against their budget and by kind."""
    total, per_gang = done.total(), pods / gangs
    budget = WRITES_PER_POD * pods + WRITES_PER_GANG * gangs
    rows = [
        Figure("core's writes per pod", total / pods, "writes", budget / pods),
        Figure("core's writes per gang", total / gangs, "writes", budget / gangs),
    ]
    allowed = _allowed(per_gang)
    for (verb, resource), count in sorted(done.items(), key=lambda item: (item[0][1], item[0][0])):
        name = f"core's writes per gang: {verb} {resource}"
        rows.append(Figure(name, count / gangs, "writes", allowed.get((verb, resource))))
    return rows


def _allowed(pods_per_gang: float) -> Mapping[tuple[str, str], float]:
    """What each kind of write may take of the budget, for one gang."""
    return {
        ("POST", "pods"): pods_per_gang,
        ("PATCH", "pods"): pods_per_gang,
        ("APPLY", "podcliques"): 1,
        ("APPLY", "podcliques/status"): 2,
        ("APPLY", "services"): 1,
        ("APPLY", "podgangs"): 2,
        ("APPLY", "podgangs/status"): 1,
    }


def cpu_ticks(stat: str) -> int:
    """User and system time of a process in /proc/PID/stat, in clock ticks."""
    # The name of the program, in parentheses, may hold anything.
    fields = stat.rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def peak_mebibytes(status: str) -> float:
    """The largest resident size in /proc/PID/status."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
