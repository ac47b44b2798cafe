"""`why`: the stages of a gang, the numbers, what would unblock it, and the next command.

It owns the report of a gang. The stage that blocks comes from `stages`, the arithmetic of capacity
from `capacity`. Numbers that cannot be read are "unknown".
"""

import re

import msgspec

from gangctl.reports.capacity import Capacity, capacity_of
from gangctl.reports.schedulers import scheduler_version
from gangctl.reports.shortage import ResourceShortage, demands_of, shortage_of, shortage_sentences
from gangctl.reports.stages import (
    ENDED,
    STAGES,
    Stage,
    blocking_stage,
    phase_of,
    stages_of,
)
from gangctl.reports.view import Line, Verdict, View, age, queue_of
from gangctl.snapshot import Snapshot, condition
from shared_api import names
from shared_api.kube.codec import LooseObject

_CRASHES = "in CrashLoopBackOff"
# Its events have what the kubelet reports, such as why an image cannot be pulled.
_FAILED_POD = re.compile(r", pod ([a-z0-9.-]+)")
_MARKS = {"True": "✓", "False": "✗"}


class PastAttempt(msgspec.Struct, frozen=True, rename="camel"):
    """The time of a gang with a backend instance that it has left, by its placement policy."""

    backend: str
    began: str = msgspec.field(name="from")
    until: str = ""
    outcome: str = ""
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
    scheduler: str
    """Version of the scheduler, or the API that the backend uses; without a backend its name."""
    queue: str
    stages: tuple[Stage, ...]
    blocked_by: str
    """Name of the stage that blocks; empty if the gang runs."""
    message: str
    shortage: ResourceShortage | None
    next_command: str
    attempts: tuple[PastAttempt, ...] = ()


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
    pods = [pod for pod in snapshot.pods_of_gang.get((namespace, name), ()) if pod.uses_capacity]
    stages = stages_of(gang, pods)
    failed = condition(gang, names.CONDITION_FAILED)
    has_ended = phase_of(gang, stages) in ENDED or failed.get("status") == "True"
    blocking = None if has_ended else blocking_stage(stages)
    of_set = gang.metadata.labels.get(names.LABEL_PART_OF, "")
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    shortage = None
    if blocking is not None and blocking.name == "scheduled":
        shortage = shortage_of(gang, demands_of(snapshot, gang), capacity)
    return GangReport(
        namespace,
        name,
        of_set,
        Verdict.MANUAL_ACTION if failed.get("status") == "True" else _verdict(blocking),
        phase_of(gang, stages),
        age(_since(gang, blocking), snapshot.now) if blocking else "",
        backend,
        _scheduler(snapshot, gang, backend),
        _queue(snapshot, gang, of_set),
        stages,
        blocking.name if blocking else "",
        blocking.message if blocking else failed.get("message", ""),
        shortage,
        _next_command(gang, blocking),
        _attempts(gang),
    )


def _attempts(gang: LooseObject) -> tuple[PastAttempt, ...]:
    """Return the instances that a gang has left, the latest last."""
    placement = gang.status.get("placement") or {}
    found = msgspec.convert(placement.get("attempts", []), tuple[PastAttempt, ...])
    return tuple(one for one in found if one.until)


def _verdict(blocking: Stage | None) -> Verdict:
    if blocking is None:
        return Verdict.FINE
    return Verdict.MANUAL_ACTION if blocking.requires_action else Verdict.WAITING


def _since(gang: LooseObject, blocking: Stage | None) -> str:
    entry = condition(gang, STAGES[blocking.name]) if blocking else {}
    return entry.get("lastTransitionTime") or gang.metadata.creation_timestamp


def _scheduler(snapshot: Snapshot, gang: LooseObject, backend: str) -> str:
    """Return the scheduler of a gang: its version, the API that the backend uses, or its name."""
    for item in snapshot.backends:
        if item.metadata.name == backend:
            return scheduler_version(snapshot, item) or str(item.status.get("dialect") or "")
    return gang.metadata.labels.get(names.LABEL_SCHEDULER_NAME, "")


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
    of_set = gang.metadata.labels.get(names.LABEL_PART_OF, gang.metadata.name)
    match blocking.name:
        case "selected" | "accepted" | "programmed":
            return "kubectl gang backends"
        case "ready" if _CRASHES in blocking.message:
            return f"kubectl gang logs {of_set} {where} --previous"
        case "ready" if found := _FAILED_POD.search(blocking.message):
            return f"kubectl {where} describe pod {found[1]}"
        case _:
            return f"kubectl gang tree {of_set} {where}"


def why_view(report: WhyReport) -> View:
    """Return a paragraph per gang."""
    lines = [line for gang in report.gangs for line in _gang_lines(gang)]
    if report.message:
        lines.append(Line(f"  {report.message}", report.verdict))
    return lines or [Line(f"{report.target} has no gangs yet.", report.verdict)]


def _gang_lines(gang: GangReport) -> list[Line]:
    head = [f"{gang.name}  {gang.phase} {gang.waiting}".rstrip()]
    if gang.backend:
        head.append(f"backend {gang.backend}" + (f" ({gang.scheduler})" if gang.scheduler else ""))
    elif gang.scheduler:
        head.append(f"scheduler {gang.scheduler}")
    if gang.queue:
        head.append(f"queue {gang.queue}")
    marks = [
        f"{_MARKS.get(stage.status, '·')} {stage.name} {stage.count}".rstrip()
        for stage in _shown(gang)
    ]
    lines = [Line("   ".join(head), gang.verdict)]
    if gang.phase not in ENDED:
        lines.append(Line("  " + "  ".join(marks)))
    short = gang.shortage
    # What does not even fit by requests is explained by these numbers.
    if gang.message and (short is None or not short.explains):
        lines.append(Line(f"  {gang.message}"))
    if short is not None:
        lines += [Line(f"  {sentence}") for sentence in shortage_sentences(short)]
    lines += [
        Line(f"  Left {one.backend} at {one.until}{_outcome(one)}: {one.message}")
        for one in gang.attempts
    ]
    if gang.next_command:
        lines.append(Line(f"  Next: {gang.next_command}"))
    return lines


def _outcome(attempt: PastAttempt) -> str:
    return f" ({attempt.outcome})" if attempt.outcome else ""


def _shown(gang: GangReport) -> list[Stage]:
    """Return the stages up to the one that blocks: those behind it have not begun."""
    found: list[Stage] = []
    for stage in gang.stages:
        found.append(stage)
        if stage.name == gang.blocked_by:
            break
    return found
