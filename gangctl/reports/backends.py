"""`backends`: the SchedulerBackend records, whether each is alive, and what each lacks.

It owns the reading of a record and its Lease. A backend without a record is not installed and is
not listed.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec

from gangctl.reports.schedulers import scheduler_version
from gangctl.reports.stages import is_groves
from gangctl.reports.view import Grid, Line, Verdict, View, age
from gangctl.snapshot import GANGS, ListedLease, Snapshot, condition
from shared_api import names
from shared_api.kube.codec import LooseObject


class BackendRow(msgspec.Struct, frozen=True, rename="camel"):
    """One backend."""

    name: str
    verdict: Verdict
    alive: bool
    """Core reports it as available: its Lease is renewed."""
    ready: bool
    leader: str
    renewed: str
    """How long ago the Lease was renewed; empty if it was not read."""
    schedulers: tuple[str, ...]
    dialect: str
    version: str
    """Name and version of the scheduler; empty if it does not run in this cluster."""
    capabilities: tuple[str, ...]
    gangs: int | None
    """None if the gangs could not be read."""
    missing: str
    """What the backend lacks, or why it is down."""


class BackendsReport(msgspec.Struct, frozen=True, rename="camel"):
    """All backends."""

    verdict: Verdict
    backends: tuple[BackendRow, ...]
    groves: Mapping[str, int] = {}
    """Gangs by scheduler, where Grove's own operator manages them and there are no records."""


def backends_report(snapshot: Snapshot) -> BackendsReport:
    """Return the state of every backend."""
    gangs = Counter(
        g.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "") for g in snapshot.gangs
    )
    are_known = GANGS.plural not in snapshot.unread
    leases = {(x.metadata.namespace, x.metadata.name): x for x in snapshot.leases}
    rows = tuple(
        _row(snapshot, item, leases, gangs[item.metadata.name] if are_known else None)
        for item in sorted(snapshot.backends, key=lambda item: item.metadata.name)
    )
    groves: Counter[str] = Counter()
    if not rows:
        groves.update(
            g.metadata.labels.get(names.LABEL_SCHEDULER_NAME, "unknown")
            for g in snapshot.gangs
            if is_groves(g)
        )
    # A cluster without a backend schedules no gang of this product.
    nothing = Verdict.FINE if groves else Verdict.MANUAL_ACTION
    verdict = max((row.verdict for row in rows), default=nothing)
    return BackendsReport(verdict, rows, dict(sorted(groves.items())))


def _row(
    snapshot: Snapshot,
    item: LooseObject,
    leases: dict[tuple[str, str], ListedLease],
    gangs: int | None,
) -> BackendRow:
    named = item.spec.get("lease") or {}
    lease = leases.get((named.get("namespace", ""), named.get("name", "")))
    available = condition(item, names.CONDITION_AVAILABLE)
    ready = condition(item, names.CONDITION_READY)
    alive, is_ready = available.get("status") == "True", ready.get("status") == "True"
    missing = "" if alive else available.get("message", "")
    if alive and not is_ready:
        missing = ready.get("message", "")
    return BackendRow(
        item.metadata.name,
        Verdict.FINE if alive and is_ready else Verdict.MANUAL_ACTION,
        alive,
        is_ready,
        lease.spec.holder_identity if lease else "",
        age(lease.spec.renew_time, snapshot.now) if lease else "",
        tuple(name or '""' for name in item.spec.get("schedulerNames") or ()),
        str(item.status.get("dialect") or ""),
        scheduler_version(snapshot, item),
        tuple(item.spec.get("capabilities") or ()),
        gangs,
        missing,
    )


def backends_view(report: BackendsReport) -> View:
    """Return a table, and below it what is missing and the capabilities."""
    if report.groves:
        used = ", ".join(
            f"{name} ({count} {'gang' if count == 1 else 'gangs'})"
            for name, count in report.groves.items()
        )
        text = (
            "There are no SchedulerBackends: Grove's own operator manages the gangs of this cluster"
        )
        return [Line(f"{text}. Schedulers: {used}.")]
    if not report.backends:
        text = "No backend is installed. Install one: kubectl apply --server-side -k deploy/backends/default"
        return [Line(text, Verdict.MANUAL_ACTION)]
    headings = (
        "NAME",
        "ALIVE",
        "READY",
        "LEADER",
        "RENEWED",
        "SCHEDULERS",
        "API",
        "VERSION",
        "GANGS",
    )
    rows = [
        (
            row.name,
            _word(value=row.alive),
            _word(value=row.ready and row.alive),
            row.leader or "-",
            f"{row.renewed} ago" if row.renewed else "-",
            ",".join(row.schedulers),
            row.dialect or "-",
            row.version or "-",
            "unknown" if row.gangs is None else str(row.gangs),
        )
        for row in report.backends
    ]
    lines = [Grid(headings, rows, [row.verdict for row in report.backends])]
    missing = [Line(f"{r.name}: {r.missing}", r.verdict) for r in report.backends if r.missing]
    capable = [Line(f"{r.name} supports {', '.join(r.capabilities)}") for r in report.backends]
    return [*lines, *missing, *capable]


def _word(*, value: bool) -> str:
    return "yes" if value else "no"
