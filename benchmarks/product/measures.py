"""Parses metrics and /proc: the writes of a controller, the CPU and memory of a process.

A controller counts its own requests; the kernel counts its CPU and memory. Nothing here
reads a file or asks a server.
"""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.runtime.figures import Figure

STATUSES_PER_GANG = 3
"""Statuses that a backend may write for a gang until it is ready."""
_VERBS = ("POST", "APPLY", "PATCH", "DELETE")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_REQUESTS = "rest_client_requests_total{"

Writes = Counter[tuple[str, str]]
"""How many writes there were, by verb and resource."""


@dataclass(frozen=True, slots=True)
class WriteBudget:
    """What each kind of write may take, for one gang; the sum is what all may take."""

    who: str
    kinds: Mapping[tuple[str, str], float]

    @property
    def total(self) -> float:
        """All writes for one gang."""
        return sum(self.kinds.values())


def core_budget(pods_per_gang: float) -> WriteBudget:
    """Two writes a pod, and seven a gang."""
    return WriteBudget(
        "core",
        {
            ("POST", "pods"): pods_per_gang,
            ("PATCH", "pods"): pods_per_gang,
            ("APPLY", "podcliques"): 1,
            ("APPLY", "podcliques/status"): 2,
            ("APPLY", "services"): 1,
            ("APPLY", "podgangs"): 2,
            ("APPLY", "podgangs/status"): 1,
        },
    )


def backend_budget(plurals: Sequence[str]) -> WriteBudget:
    """Each of its objects once, and a few statuses."""
    kinds = {("APPLY", plural): 1.0 for plural in plurals}
    return WriteBudget("backend", {**kinds, ("APPLY", "podgangs/status"): STATUSES_PER_GANG})


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
    """Return whether every cache is synced, every queue empty, every worker idle and every Event sent."""
    busy = ("workqueue_depth", "writes_not_yet_seen", "controller_runtime_active_workers")
    for line in page.splitlines():
        is_told_later = line.startswith("workqueue_waiting") and '-status"' in line
        if (line.startswith(busy) or is_told_later) and float(line.rsplit(" ", 1)[1]):
            return False
        if line.startswith("cache_synced") and not float(line.rsplit(" ", 1)[1]):
            return False
    return "cache_synced" in page


def leads(page: str) -> bool:
    """Return whether a process holds its Lease."""
    lines = (line for line in page.splitlines() if line.startswith("leader_election_master_status"))
    return any(float(line.rsplit(" ", 1)[1]) for line in lines)


def gangs_counted(page: str, state: str) -> int:
    """How many gangs a backend counts in a state, whatever the reason."""
    lines = [line for line in page.splitlines() if line.startswith("backend_gangs{")]
    return sum(
        int(float(line.rsplit(" ", 1)[1]))
        for line in lines
        if dict(_LABEL.findall(line)).get("state") == state
    )


def write_figures(done: Writes, gangs: int, budget: WriteBudget) -> list[Figure]:
    """The writes of a start: those for gangs against their budget, the rest, and all by kind."""
    name = f"{budget.who}'s writes per gang"
    for_gangs = sum(count for kind, count in done.items() if kind in budget.kinds)
    rows = [
        Figure(name, for_gangs / gangs, "writes", budget.total),
        Figure(f"{budget.who}'s other writes, in all", done.total() - for_gangs, "writes"),
    ]
    for kind, count in by_resource(done):
        verb, resource = kind
        row = Figure(f"{name}: {verb} {resource}", count / gangs, "writes", budget.kinds.get(kind))
        rows.append(row)
    return rows


def by_resource(done: Writes) -> list[tuple[tuple[str, str], int]]:
    """Kinds of writes and how many there were, in the order of their resources."""
    return sorted(done.items(), key=lambda item: (item[0][1], item[0][0]))


def unwanted(name: str, done: Writes) -> list[Figure]:
    """Writes of which there should be none, and which they were if there were some."""
    rows = [
        Figure(f"{name}: {verb} {what}", count, "writes")
        for (verb, what), count in by_resource(done)
    ]
    return [Figure(name, done.total(), "writes", 0), *rows]


def medians(runs: Sequence[Sequence[Figure]]) -> list[Figure]:
    """Each figure as the median of the runs that have it, in the order of its first run."""
    found: dict[str, list[Figure]] = {}
    for run in runs:
        for row in run:
            found.setdefault(row.figure, []).append(row)
    return [
        Figure(name, statistics.median(row.value for row in rows), rows[0].unit, rows[0].target)
        for name, rows in found.items()
    ]


def cpu_ticks(stat: str) -> int:
    """User and system time of a process in /proc/PID/stat, in clock ticks."""
    # The name of the program, in parentheses, may hold anything.
    fields = stat.rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def peak_mebibytes(status: str) -> float:
    """The largest resident size in /proc/PID/status."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
