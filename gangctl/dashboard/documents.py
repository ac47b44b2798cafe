"""What the page shows, as values: one document per set, gang, node and backend.

It owns the form of the documents. Decisions come from the reports of the command line, so that the
page and `kubectl gang` never disagree. Documents contain times, never ages: they change only if
something in the cluster does. All functions are pure.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from gangctl.reports.backends import BackendRow, backends_report
from gangctl.reports.capacity import gpus_of, requests_or_nothing, user_of
from gangctl.reports.stages import STAGES, Stage
from gangctl.reports.status import SetRow, status_report
from gangctl.reports.view import Verdict, gpus
from gangctl.reports.why import gang_report
from gangctl.snapshot import ListedPod, Snapshot, condition
from shared_api import names
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.codec import LooseObject
from shared_api.kube.pod_resources import Sums
from shared_api.kube.quantities import parsed

GPU = "gpu"
"""GPUs of all vendors together."""
_USERS = 12
_USUAL_LEVELS = ("region", "zone", "block", "rack")


class SetDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One PodCliqueSet."""

    kind: str
    row: SetRow
    created: str
    gangs: int


class StageDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One step of a gang, with the time at which it was reached or began to wait."""

    name: str
    status: str
    count: str
    reason: str
    message: str
    at: str


class GangDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One PodGang."""

    kind: str
    namespace: str
    name: str
    set: str
    verdict: Verdict
    phase: str
    created: str
    waiting_since: str
    backend: str
    queue: str
    gpus: float
    stages: tuple[StageDocument, ...]
    blocked_by: str
    reason: str
    message: str
    version: int
    """Changes with the gang and with each of its pods."""


class NodeUser(msgspec.Struct, frozen=True, rename="camel"):
    """A workload on a node."""

    name: str
    is_gang: bool
    pods: int
    amounts: Mapping[str, float]


class NodeDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One node, with what gangs and others use of it."""

    kind: str
    name: str
    domains: Mapping[str, str]
    """Value of each topology label."""
    unschedulable: str
    """Why no pod is bound to it; empty if pods are."""
    total: Mapping[str, float]
    gangs: Mapping[str, float]
    others: Mapping[str, float]
    users: tuple[NodeUser, ...]


class BackendDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One SchedulerBackend."""

    kind: str
    row: BackendRow
    renewed_at: str


def set_key(namespace: str, name: str) -> str:
    """Return the key of a set, which is also the name of the group of its documents."""
    return f"set/{namespace}/{name}"


def set_documents(snapshot: Snapshot) -> dict[str, msgspec.Struct]:
    """Return the documents of the sets of a snapshot and of their gangs."""
    found: dict[str, msgspec.Struct] = {}
    items = {(item.metadata.namespace, item.metadata.name): item for item in snapshot.sets}
    for row in status_report(snapshot).sets:
        key = row.namespace, row.name
        gangs = snapshot.gangs_of_set.get(key, ())
        created = items[key].metadata.creation_timestamp
        found[set_key(*key)] = SetDocument("set", row, created, len(gangs))
        for gang in gangs:
            found[f"gang/{row.namespace}/{gang.metadata.name}"] = _gang(snapshot, gang)
    return found


def _gang(snapshot: Snapshot, gang: LooseObject) -> GangDocument:
    report = gang_report(snapshot, gang, None)
    pods = snapshot.pods_of_gang.get((report.namespace, report.name), ())
    blocking = next((s for s in report.stages if s.name == report.blocked_by), None)
    since = _at(gang, blocking) or gang.metadata.creation_timestamp if blocking else ""
    used = gpus_of(p for p in pods if p.uses_capacity)
    return GangDocument(
        "gang",
        report.namespace,
        report.name,
        report.set,
        report.verdict,
        report.phase,
        gang.metadata.creation_timestamp,
        since,
        report.backend,
        report.queue,
        float(used),
        tuple(_stage(gang, stage) for stage in report.stages),
        report.blocked_by,
        blocking.reason if blocking else "",
        report.message,
        _version(gang, pods),
    )


def _stage(gang: LooseObject, stage: Stage) -> StageDocument:
    # A message of a stage that was passed explains nothing that the page shows.
    message = stage.message if stage.status != "True" else ""
    return StageDocument(
        stage.name, stage.status, stage.count, stage.reason, message, _at(gang, stage)
    )


def _at(gang: LooseObject, stage: Stage) -> str:
    return str(condition(gang, STAGES[stage.name]).get("lastTransitionTime", ""))


def _version(gang: LooseObject, pods: Sequence[ListedPod]) -> int:
    parts = (gang.metadata, *(pod.metadata for pod in pods))
    return zlib.crc32(",".join(f"{m.name}:{m.resource_version}" for m in parts).encode())


def node_document(
    node: ListedNode, pods: Sequence[ListedPod], levels: Sequence[str]
) -> NodeDocument:
    """Return the document of a node, from the pods that are bound to it."""
    total = {name: parsed(text) or Fraction(0) for name, text in node.status.allocatable.items()}
    by_kind: dict[bool, dict[str, float]] = {True: {}, False: {}}
    by_user: dict[tuple[str, bool], tuple[int, dict[str, float]]] = {}
    for pod in (pod for pod in pods if pod.uses_capacity):
        is_gang = names.LABEL_PODGANG in pod.metadata.labels
        amounts = shown_amounts(requests_or_nothing(pod.spec))
        _add(by_kind[is_gang], amounts)
        count, sums = by_user.get((user_of(pod), is_gang), (0, {}))
        _add(sums, amounts)
        by_user[user_of(pod), is_gang] = count + 1, sums
    rows = [NodeUser(name, gang, count, sums) for (name, gang), (count, sums) in by_user.items()]
    rows.sort(key=lambda user: (-user.amounts.get(GPU, 0), -user.amounts.get("cpu", 0), user.name))
    labels = node.metadata.labels
    return NodeDocument(
        "node",
        node.metadata.name,
        {level: labels[level] for level in levels if level in labels},
        _unschedulable(node),
        shown_amounts(total),
        by_kind[True],
        by_kind[False],
        tuple(rows[:_USERS]),
    )


def shown_amounts(sums: Sums) -> dict[str, float]:
    """Return the resources that the page shows: GPUs of all vendors, cpu and memory."""
    found = {GPU: gpus(sums), "cpu": sums.get("cpu", 0), "memory": sums.get("memory", 0)}
    return {name: float(number) for name, number in found.items() if number}


def _add(sums: dict[str, float], amounts: Mapping[str, float]) -> None:
    for name, number in amounts.items():
        sums[name] = sums.get(name, 0) + number


def _unschedulable(node: ListedNode) -> str:
    if node.spec.unschedulable:
        return "cordoned"
    evicting = [t.key for t in node.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
    return f"taint {', '.join(sorted(evicting))}" if evicting else ""


def backend_documents(snapshot: Snapshot) -> dict[str, msgspec.Struct]:
    """Return the documents of all backends."""
    renewed = {(x.metadata.namespace, x.metadata.name): x.spec.renew_time for x in snapshot.leases}
    named = {item.metadata.name: item.spec.get("lease") or {} for item in snapshot.backends}
    found: dict[str, msgspec.Struct] = {}
    for row in backends_report(snapshot).backends:
        lease = named[row.name]
        key = str(lease.get("namespace", "")), str(lease.get("name", ""))
        # The report has an age, which would change without any change in the cluster.
        found[f"backend/{row.name}"] = BackendDocument(
            "backend", msgspec.structs.replace(row, renewed=""), renewed.get(key, "")
        )
    return found


def topology_levels(
    bindings: Sequence[LooseObject], labels: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Return name and node label of every topology level, broadest first, without repetitions.

    Without a binding, node labels that are called as levels usually are stand for them.
    """
    found: dict[str, str] = {}
    for binding in sorted(bindings, key=lambda item: item.metadata.name):
        for level in binding.spec.get("levels") or ():
            found.setdefault(str(level.get("key", "")), str(level.get("domain", "")))
    found.pop("", None)
    if not found:
        usual = {(_USUAL_LEVELS.index(end), key) for key in labels if (end := _end(key))}
        found = {key: _end(key) for _, key in sorted(usual)}
    return tuple((name or key, key) for key, name in found.items())


def _end(label: str) -> str:
    end = label.rpartition("/")[2]
    return end if end in _USUAL_LEVELS else ""
