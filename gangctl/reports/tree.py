"""`tree`: a set, its gangs, their cliques, pods and the schedulers' objects, with states.

It owns the order and the state shown at each level. It must not hide pods: those whose gang does
not exist are listed below the set.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from gangctl.reports.status import counts, set_verdict
from gangctl.reports.view import Branch, Verdict, View
from gangctl.reports.why import gang_report
from gangctl.snapshot import ListedPod, Snapshot
from shared_api import names
from shared_api.kube.codec import LooseObject


class TreeNode(msgspec.Struct, frozen=True, rename="camel"):
    """One object with its state and the objects below it."""

    kind: str
    name: str
    state: str
    verdict: Verdict | None = None
    children: tuple["TreeNode", ...] = ()


class TreeReport(msgspec.Struct, frozen=True, rename="camel"):
    """The tree of one set."""

    verdict: Verdict
    root: TreeNode


def tree_report(snapshot: Snapshot, namespace: str, name: str) -> TreeReport | None:
    """Return the tree of a set; None if it does not exist."""
    key = namespace, name
    found = [s for s in snapshot.sets if (s.metadata.namespace, s.metadata.name) == key]
    if not found:
        return None
    (item,) = found
    gangs = snapshot.gangs_of_set.get(key, ())
    known = {gang.metadata.name for gang in gangs}
    loose = [
        pod
        for pod in snapshot.pods_of_set.get(key, ())
        if pod.metadata.labels.get(names.LABEL_PODGANG) not in known
    ]
    wanted, available = counts(item)
    verdict = set_verdict(item)
    children = (*(_gang(snapshot, gang) for gang in gangs), *map(_pod, loose))
    state = f"{available}/{wanted} replicas available"
    return TreeReport(verdict, TreeNode("PodCliqueSet", name, state, verdict, children))


def _gang(snapshot: Snapshot, gang: LooseObject) -> TreeNode:
    report = gang_report(snapshot, gang, None)
    pods: dict[str, list[ListedPod]] = defaultdict(list)
    key = gang.metadata.namespace, gang.metadata.name
    for pod in snapshot.pods_of_gang.get(key, ()):
        pods[pod.metadata.labels.get(names.LABEL_PODCLIQUE, "")].append(pod)
    groups = gang.spec.get("podgroups") or ()
    cliques = [_clique(g["name"], int(g.get("minReplicas", 0)), pods[g["name"]]) for g in groups]
    owned = [
        TreeNode(item.kind, item.name, item.state)
        for item in snapshot.scheduler_objects
        if gang.metadata.uid in item.owners
    ]
    state = report.phase
    if report.blocked_by:
        state += f", waits to be {report.blocked_by}" if report.blocked_by != "pods" else ""
    if report.backend:
        state += f", backend {report.backend}"
    name = gang.metadata.name
    return TreeNode("PodGang", name, state, report.verdict, (*cliques, *owned))


def _clique(name: str, minimum: int, pods: Sequence[ListedPod]) -> TreeNode:
    ready = sum(pod.is_ready for pod in pods)
    verdict = Verdict.FINE if ready >= minimum else Verdict.WAITING
    state = f"{ready}/{len(pods)} ready, minAvailable {minimum}"
    return TreeNode("PodClique", name, state, verdict, tuple(map(_pod, pods)))


def _pod(pod: ListedPod) -> TreeNode:
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    verdict = Verdict.FINE if pod.is_ready else Verdict.WAITING
    return TreeNode("Pod", pod.metadata.name, f"{pod.state}{where}", verdict)


def tree_view(report: TreeReport) -> View:
    """Return the tree."""
    return [_branch(report.root)]


def _branch(node: TreeNode) -> Branch:
    text = f"{node.kind} {node.name}  {node.state}".rstrip()
    return Branch(text, [_branch(child) for child in node.children], node.verdict)
