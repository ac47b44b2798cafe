"""`status`: one row per PodCliqueSet, with the reason why it waits.

It owns the summary of a set and the order of verdicts. A set that requires manual action is
listed first, then those that wait, the longest first.
"""

from collections.abc import Mapping, Sequence

import msgspec

from gangctl.reports.capacity import gpus_of
from gangctl.reports.stages import blocking_stage, stages_of
from gangctl.reports.view import Grid, Line, Verdict, View, age, queue_of
from gangctl.snapshot import Snapshot, condition
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.quantities import written

_UNKNOWN = "unknown"


class SetRow(msgspec.Struct, frozen=True, rename="camel"):
    """One PodCliqueSet."""

    namespace: str
    name: str
    verdict: Verdict
    replicas: int
    available: int
    pods: int
    ready_pods: int
    gpus: str
    """GPUs that its pods request; unknown if pods were not read."""
    backends: tuple[str, ...]
    queue: str
    waiting_since: str
    reason: str
    message: str


class StatusReport(msgspec.Struct, frozen=True, rename="camel"):
    """All sets of a namespace or of the cluster."""

    taken_at: str
    verdict: Verdict
    sets: tuple[SetRow, ...]
    ages: tuple[str, ...]
    """How long each set has waited, as text."""
    unread: Mapping[str, str] = {}
    """Kinds that could not be read, each with the reason."""


def status_report(snapshot: Snapshot) -> StatusReport:
    """Return the state of every set in the snapshot."""
    rows = sorted((_row(snapshot, item) for item in snapshot.sets), key=_order)
    return StatusReport(
        snapshot.now.isoformat(timespec="seconds"),
        max((row.verdict for row in rows), default=Verdict.FINE),
        tuple(rows),
        tuple(age(row.waiting_since, snapshot.now) for row in rows),
        snapshot.unread,
    )


def set_verdict(item: LooseObject) -> Verdict:
    """Return whether a set is fine, waits, or requires manual action."""
    if condition(item, names.CONDITION_STALLED).get("status") == "True":
        return Verdict.MANUAL_ACTION
    wanted, available = counts(item)
    ready = condition(item, names.CONDITION_READY)
    # Grove's own operator sets no condition Ready; there the counts decide.
    is_fine = ready.get("status") == "True" if ready else available >= wanted
    return Verdict.FINE if is_fine else Verdict.WAITING


def counts(item: LooseObject) -> tuple[int, int]:
    """Return desired and available replicas of a set."""
    return int(item.spec.get("replicas", 1)), int(item.status.get("availableReplicas", 0))


def _row(snapshot: Snapshot, item: LooseObject) -> SetRow:
    key = item.metadata.namespace, item.metadata.name
    pods = [pod for pod in snapshot.pods_of_set.get(key, ()) if pod.uses_capacity]
    gangs = snapshot.gangs_of_set.get(key, ())
    found = {_backend(gang) for gang in gangs}
    used = gpus_of(pods)
    verdict = set_verdict(item)
    ready = condition(item, names.CONDITION_READY)
    wanted, available = counts(item)
    is_quiet = verdict is Verdict.FINE and ready.get("reason") != names.CONDITION_COMPLETED
    message = "" if is_quiet else ready.get("message") or _of_gangs(snapshot, gangs)
    is_unknown = "pods" in snapshot.unread and not snapshot.pods
    return SetRow(
        *key,
        verdict,
        wanted,
        available,
        len(pods),
        sum(pod.is_ready for pod in pods),
        _UNKNOWN if is_unknown else written(used),
        tuple(sorted(found - {""})),
        queue_of(item.metadata.labels, item.metadata.annotations),
        "" if verdict is Verdict.FINE else _since(item),
        ready.get("reason", ""),
        # The row has these numbers already.
        message.removeprefix(f"{available}/{wanted} replicas available; "),
    )


def _of_gangs(snapshot: Snapshot, gangs: Sequence[LooseObject]) -> str:
    """Return what the first waiting gang waits for; Grove's own operator does not report it."""
    for gang in gangs:
        key = gang.metadata.namespace, gang.metadata.name
        pods = [pod for pod in snapshot.pods_of_gang.get(key, ()) if pod.uses_capacity]
        blocking = blocking_stage(stages_of(gang, pods))
        if blocking is not None:
            counts = f"{blocking.count} " if blocking.count else ""
            stage = "created" if blocking.name == "pods" else blocking.name
            cause = f": {blocking.message}" if blocking.message else ""
            return f"gang {gang.metadata.name}: {counts}pods {stage}{cause}"
    return ""


def _backend(gang: LooseObject) -> str:
    """Return the backend of a gang; Grove's own operator names the scheduler instead."""
    labels = gang.metadata.labels
    return labels.get(names.LABEL_SCHEDULER_BACKEND) or labels.get(names.LABEL_SCHEDULER_NAME, "")


def _since(item: LooseObject) -> str:
    ready = condition(item, names.CONDITION_READY)
    return ready.get("lastTransitionTime") or item.metadata.creation_timestamp


def _order(row: SetRow) -> tuple[int, str, str, str]:
    return -row.verdict, row.waiting_since, row.namespace, row.name


def status_view(report: StatusReport, *, all_namespaces: bool, namespace: str = "") -> View:
    """Return a table with one row per set, and below it what could not be read."""
    unread = [Line(f"{kind}: {reason}", Verdict.WAITING) for kind, reason in report.unread.items()]
    if not report.sets:
        where = f" in namespace {namespace}" if namespace and not all_namespaces else ""
        more = "" if all_namespaces else " List those of all namespaces: kubectl gang status -A"
        return [Line(f"No PodCliqueSets found{where}.{more}"), *unread]
    headings: tuple[str, ...] = (
        "NAME",
        "READY",
        "PODS",
        "GPUS",
        "BACKEND",
        "QUEUE",
        "WAITING",
        "WHY",
    )
    rows = [_cells(row, waited) for row, waited in zip(report.sets, report.ages, strict=True)]
    if all_namespaces:
        headings = ("NAMESPACE", *headings)
        rows = [(row.namespace, *cells) for row, cells in zip(report.sets, rows, strict=True)]
    keys = 2 if all_namespaces else 1
    return [Grid(headings, rows, [row.verdict for row in report.sets], keys), *unread]


def _cells(row: SetRow, waited: str) -> Sequence[str]:
    return (
        row.name,
        f"{row.available}/{row.replicas}",
        _UNKNOWN if row.gpus == _UNKNOWN else f"{row.ready_pods}/{row.pods}",
        row.gpus,
        ",".join(row.backends) or "-",
        row.queue or "-",
        waited or "-",
        row.message or "-",
    )
