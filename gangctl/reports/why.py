"""`why`: the stages of a gang, the numbers, what would unblock it, and the next command.

It owns the reading of a gang's conditions as stages. The condition that blocks comes from the
product, the arithmetic of capacity from `capacity`. Numbers that nobody has are "unknown".
"""

from collections.abc import Sequence

import msgspec

from gangctl.reports.capacity import Capacity, capacity_of
from gangctl.reports.shortage import Shortage, demands_of, shortage_of, shortage_sentences
from gangctl.reports.view import Line, Verdict, View, age, queue_of
from gangctl.snapshot import ListedPod, Snapshot, condition
from shared_api import names
from shared_api.kube.codec import LooseObject

STAGES = {
    "selected": names.CONDITION_BACKEND_SELECTED,
    "accepted": names.CONDITION_ACCEPTED,
    "pods": names.CONDITION_INITIALIZED,
    "programmed": names.CONDITION_PROGRAMMED,
    "released": names.CONDITION_RELEASED,
    "scheduled": names.CONDITION_SCHEDULED,
    "ready": names.CONDITION_READY,
}
_MANUAL = frozenset(
    {
        names.REASON_BACKEND_UNKNOWN,
        names.REASON_SCHEDULERS_DISAGREE,
        names.REASON_UNREADABLE,
        names.REASON_UNSUPPORTED,
        names.REASON_CONFLICT,
        "Rejected",
        "QueueDoesNotExist",
        "PodsOfEarlierGang",
        "TooLarge",
    }
)
_MARKS = {"True": "✓", "False": "✗"}


class Stage(msgspec.Struct, frozen=True):
    """One step of a gang on its way to running."""

    name: str
    status: str
    """True, False, or Unknown if the condition is not set."""
    count: str = ""
    reason: str = ""
    message: str = ""


class GangReport(msgspec.Struct, frozen=True, rename="camel"):
    """Why one gang runs or waits."""

    namespace: str
    name: str
    set: str
    verdict: Verdict
    phase: str
    waiting: str
    backend: str
    dialect: str
    queue: str
    stages: tuple[Stage, ...]
    blocked_by: str
    """Name of the stage that blocks; empty if the gang runs."""
    message: str
    shortage: Shortage | None
    next_command: str


class WhyReport(msgspec.Struct, frozen=True, rename="camel"):
    """The gangs of a set, or one gang."""

    target: str
    verdict: Verdict
    gangs: tuple[GangReport, ...]
    message: str = ""
    """The condition Ready of the set, if no gang shows the cause."""


def why_report(snapshot: Snapshot, namespace: str, target: str) -> WhyReport | None:
    """Return why a set, a gang or the gang of a pod waits; None if nothing has the name."""
    gangs = [g for g in snapshot.gangs if g.metadata.namespace == namespace]
    sets = [
        s for s in snapshot.sets if (s.metadata.namespace, s.metadata.name) == (namespace, target)
    ]
    capacity = capacity_of(snapshot) if snapshot.capacity_is_known else None
    if sets:
        (found,) = sets
        reports = [
            gang_report(snapshot, gang, capacity)
            for gang in snapshot.gangs_of_set.get((namespace, target), ())
        ]
        waiting = [report for report in reports if report.verdict is not Verdict.FINE]
        return _of_set(found, tuple(waiting or reports), is_waiting=bool(waiting))
    names_of = {target} | {
        pod.metadata.labels.get(names.LABEL_PODGANG, "")
        for pod in snapshot.pods
        if (pod.metadata.namespace, pod.metadata.name) == (namespace, target)
    }
    chosen = [gang_report(snapshot, g, capacity) for g in gangs if g.metadata.name in names_of]
    if not chosen:
        return None
    return WhyReport(target, max(report.verdict for report in chosen), tuple(chosen))


def _of_set(item: LooseObject, gangs: tuple[GangReport, ...], *, is_waiting: bool) -> WhyReport:
    ready = condition(item, names.CONDITION_READY)
    stalled = condition(item, names.CONDITION_STALLED).get("status") == "True"
    verdict = max((gang.verdict for gang in gangs), default=Verdict.WAITING)
    if ready.get("status") == "False":
        verdict = max(verdict, Verdict.MANUAL_ACTION if stalled else Verdict.WAITING)
    message = "" if is_waiting or verdict is Verdict.FINE else ready.get("message", "")
    return WhyReport(item.metadata.name, verdict, gangs, message)


def gang_report(snapshot: Snapshot, gang: LooseObject, capacity: Capacity | None) -> GangReport:
    """Return why one gang runs or waits."""
    namespace, name = gang.metadata.namespace, gang.metadata.name
    pods = [pod for pod in snapshot.pods_of_gang.get((namespace, name), ()) if pod.is_live]
    stages = stages_of(gang, pods)
    blocking = next((stage for stage in stages if stage.status != "True"), None)
    refused = next((s for s in stages if s.status == "False" and s.reason in _MANUAL), None)
    blocking = refused or blocking
    verdict = Verdict.FINE if blocking is None else Verdict.WAITING
    if refused is not None:
        verdict = Verdict.MANUAL_ACTION
    of_set = gang.metadata.labels.get(names.LABEL_PART_OF, "")
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    shortage = None
    if blocking is not None and blocking.name == "scheduled":
        shortage = shortage_of(snapshot, gang, demands_of(snapshot, gang), capacity)
    return GangReport(
        namespace,
        name,
        of_set,
        verdict,
        str(gang.status.get("phase", "Pending")),
        age(_since(gang, blocking), snapshot.now) if blocking else "",
        backend,
        _dialect(snapshot, backend),
        _queue(snapshot, gang, of_set),
        stages,
        blocking.name if blocking else "",
        blocking.message if blocking else "",
        shortage,
        _next_command(gang, blocking),
    )


def stages_of(gang: LooseObject, pods: Sequence[ListedPod]) -> tuple[Stage, ...]:
    """Return the stages of a gang in order, with counts of pods where a stage has them."""
    groups = gang.spec.get("podgroups") or ()
    wanted = max(sum(int(group.get("minReplicas", 0)) for group in groups), len(pods))
    bound = sum(bool(pod.spec.node_name) for pod in pods)
    shown = {
        "pods": f"{len(pods)}/{wanted}",
        "scheduled": f"{bound}/{wanted}",
        "ready": f"{sum(pod.is_ready for pod in pods)}/{wanted}",
    }
    found = []
    for stage, kind in STAGES.items():
        entry = condition(gang, kind)
        found.append(
            Stage(
                stage,
                entry.get("status") or _unreported(stage, pods),
                shown.get(stage, ""),
                entry.get("reason", ""),
                entry.get("message", ""),
            )
        )
    return tuple(found)


def _unreported(stage: str, pods: Sequence[ListedPod]) -> str:
    """Return the status of a stage without a condition.

    Core sets Released only if the release had to wait: then ungated pods are the evidence.
    """
    is_ungated = bool(pods) and not any(pod.spec.scheduling_gates for pod in pods)
    return "True" if stage == "released" and is_ungated else "Unknown"


def _since(gang: LooseObject, blocking: Stage | None) -> str:
    entry = condition(gang, STAGES[blocking.name]) if blocking else {}
    return entry.get("lastTransitionTime") or gang.metadata.creation_timestamp


def _dialect(snapshot: Snapshot, backend: str) -> str:
    records = [item for item in snapshot.backends if item.metadata.name == backend]
    return str(records[0].status.get("dialect") or "") if records else ""


def _queue(snapshot: Snapshot, gang: LooseObject, of_set: str) -> str:
    for item in (gang, *snapshot.sets):
        is_set = (item.metadata.namespace, item.metadata.name) == (gang.metadata.namespace, of_set)
        if item is gang or is_set:
            found = queue_of(item.metadata.labels, item.metadata.annotations)
            if found:
                return found
    return ""


def _next_command(gang: LooseObject, blocking: Stage | None) -> str:
    if blocking is None:
        return ""
    where = f"-n {gang.metadata.namespace}"
    match blocking.name:
        case "selected" | "accepted" | "programmed":
            return "kubectl gang backends"
        case _:
            of_set = gang.metadata.labels.get(names.LABEL_PART_OF, gang.metadata.name)
            return f"kubectl gang tree {of_set} {where}"


def why_view(report: WhyReport) -> View:
    """Return a paragraph per gang."""
    lines = [line for gang in report.gangs for line in _gang_lines(gang)]
    if report.message:
        lines.append(Line(f"  {report.message}", report.verdict))
    return lines or [Line(f"{report.target} has no gangs yet.", report.verdict)]


def _gang_lines(gang: GangReport) -> list[Line]:
    head = [gang.name, f"{gang.phase} {gang.waiting}".rstrip()]
    if gang.backend:
        head.append(f"backend {gang.backend}" + (f" ({gang.dialect})" if gang.dialect else ""))
    if gang.queue:
        head.append(f"queue {gang.queue}")
    marks = [
        f"{_MARKS.get(stage.status, '·')} {stage.name} {stage.count}".rstrip()
        for stage in gang.stages
    ]
    lines = [Line("  ".join(head), gang.verdict), Line("  " + "  ".join(marks))]
    if gang.message:
        lines.append(Line(f"  {gang.message}"))
    if gang.shortage is not None:
        lines += [Line(f"  {sentence}") for sentence in shortage_sentences(gang.shortage)]
    if gang.next_command:
        lines.append(Line(f"  Next: {gang.next_command}"))
    return lines
