"""Pods that are taken away: evicted, preempted, stranded on a dead node. All come back."""

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster
from local_cluster.simulation.stages import NEVER, TERMINATES_AFTER
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.conftest import CRDS
from tests.core.kit import Object, clique, condition, holds, is_ready
from tests.core.schedulers import DEFAULT, KAI, Scheduled
from tests.core.stage import Stage, Witness, on_stage, set_mark, workload

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

DOOMED = "disruption-node"


# Starting a cluster runs an event loop of its own, so this may not be async.
@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("core_cluster", DEFAULT), id="default"),
        pytest.param(("kai_cluster", KAI), id="kai", marks=pytest.mark.matrix),
    ],
)
def served(request: pytest.FixtureRequest) -> tuple[Cluster, Scheduled]:
    """A cluster, and who schedules its pods."""
    fixture, scheduled = request.param
    cluster: Cluster = request.getfixturevalue(fixture)
    if scheduled is KAI:
        cluster.install_crds(CRDS)
    return cluster, scheduled


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(served: tuple[Cluster, Scheduled]) -> AsyncIterator[Stage]:
    cluster, scheduled = served
    async with on_stage(cluster, scheduled=scheduled) as shared:
        yield shared


@pytest.fixture
def doomed_node(served: tuple[Cluster, Scheduled]) -> Iterator[str]:
    """A node that only pods with its toleration use, and that a test may destroy."""
    core_cluster, _ = served
    node = core_cluster.kubectl("get", "node", "node-0", "-ojson").stdout
    template = json.loads(node)
    metadata = template["metadata"]
    labels = {**metadata["labels"], "kubernetes.io/hostname": DOOMED}
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": DOOMED, "labels": labels, "annotations": metadata["annotations"]},
        "spec": {"taints": [{"key": "example.com/doomed", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": template["status"]["allocatable"],
            "capacity": template["status"]["capacity"],
        },
    }
    core_cluster.kubectl("create", "-f", "-", input=json.dumps(manifest))
    # Until Kubernetes has seen it ready, it has a taint that keeps pods away.
    taints = "jsonpath={.spec.taints[*].key}=example.com/doomed"
    core_cluster.kubectl("wait", f"node/{DOOMED}", "--for=condition=Ready", "--timeout=60s")
    core_cluster.kubectl("wait", f"node/{DOOMED}", f"--for={taints}", "--timeout=60s")
    try:
        yield DOOMED
    finally:
        core_cluster.kubectl("delete", "node", DOOMED, "--ignore-not-found", "--wait=false")


async def begin(stage: Stage, name: str, **spec: Any) -> dict[str, set[str]]:
    one = clique("a", 3, minAvailable=2, **spec)
    await stage.person.create(workload(name, cliques=[one], groups=[]))
    await stage.until_ready(name, 3)
    await stage.until(lambda: holds(stage.person.get(SETS, name), "Ready"))
    return stage.uids(name)


def repaired(stage: Stage) -> float:
    return stage.operator.metric("grove_gang_repair_seconds_count")


async def until_repaired(stage: Stage, name: str, lost: LooseObject, before: float) -> None:
    """Wait until the lost pod's place is taken, the gang knows it, and the time was taken."""
    podclique = f"{name}-0-a"
    index = lost.metadata.labels["grove.io/podclique-pod-index"]
    await stage.until(
        lambda: (
            (new := stage.person.pods_of(podclique).get(index)) is not None
            and new.metadata.uid != lost.metadata.uid
            and is_ready(new)
            and new.metadata.name in _references(stage, f"{name}-0")
        )
    )
    await stage.until_ready(name, 3)
    await stage.operator.until_idle(60)
    assert repaired(stage) == before + 1


def _references(stage: Stage, gang: str) -> list[str]:
    groups = stage.person.one(GANGS, gang).spec["podgroups"]
    return [found["name"] for group in groups for found in group["podReferences"]]


def evict(stage: Stage, pod: LooseObject) -> str:
    """Ask for the eviction of a pod as `kubectl drain` does; what the server says against it."""
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.metadata.name, "namespace": stage.person.namespace},
    }
    path = f"/api/v1/namespaces/{stage.person.namespace}/pods/{pod.metadata.name}/eviction"
    said = stage.cluster.kubectl(
        "create", "--raw", path, "-f", "-", input=json.dumps(eviction), check=False
    )
    return said.stderr if said.returncode else ""


async def test_an_evicted_pod_is_replaced_alone_and_the_time_is_measured(stage: Stage) -> None:
    before = await begin(stage, "evict")
    lost, count = stage.person.pods_of("evict-0-a")["1"], repaired(stage)
    assert evict(stage, lost) == ""
    await until_repaired(stage, "evict", lost, count)
    kept = before["evict-0-a"] & stage.uids("evict")["evict-0-a"]
    assert len(kept) == 2
    note = await stage.person.until_event("evict-0-a", "PodLost", 60)
    assert note.startswith(f"pod {lost.metadata.name} on node-")
    assert "EvictionByEvictionAPI" in note or "it was deleted" in note
    await stage.remove("evict")


async def test_a_pod_that_is_taken_again_and_again_is_replaced_later_and_reports_it(
    stage: Stage,
) -> None:
    await begin(stage, "again")
    failed = {"phase": "Failed", "reason": "Evicted", "conditions": [], "containerStatuses": []}

    def is_told(times: int) -> bool:
        found = stage.person.get(CLIQUES, "again-0-a")
        said = condition(found, "Reconciling") if found is not None else {}
        return said.get("reason") == "ReplacedLater" and (
            f"pod 0 was lost {times} times lately, last Evicted (Evicted); replaced at 20"
            in said["message"]
        )

    def is_replaced(lost: LooseObject) -> bool:
        new = stage.person.pods_of("again-0-a").get("0")
        return new is not None and new.metadata.uid != lost.metadata.uid and is_ready(new)

    for loss in (1, 2, 3):
        lost = stage.person.pods_of("again-0-a")["0"]
        await stage.person.change_status(PODS, lost.metadata.name, failed)
        if loss > 1:
            await stage.until(functools.partial(is_told, loss))
        await stage.until(functools.partial(is_replaced, lost))
    await stage.until(lambda: holds(stage.person.get(SETS, "again"), "Ready"))
    await stage.until(
        lambda: condition(stage.person.one(CLIQUES, "again-0-a"), "Reconciling") == {}
    )
    note = await stage.person.until_event("again-0-a", "ReplacedLater", 60)
    assert note.startswith("pod 0 was lost ")
    await stage.remove("again")


async def test_a_pod_that_its_kubelet_evicts_is_replaced(stage: Stage) -> None:
    await begin(stage, "kubelet")
    lost, count = stage.person.pods_of("kubelet-0-a")["0"], repaired(stage)
    failed = {"phase": "Failed", "reason": "Evicted", "conditions": [], "containerStatuses": []}
    await stage.person.change_status(PODS, lost.metadata.name, failed)
    await until_repaired(stage, "kubelet", lost, count)
    assert stage.operator.metric("grove_pods_lost_total", cause="Evicted") >= 1
    await stage.remove("kubelet")


def prefers(node: str) -> Object:
    """The affinity of pods that are on a node if it is there."""
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    wish = {"preference": {"matchExpressions": [here]}, "weight": 100}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


async def test_pods_of_a_deleted_node_are_replaced_on_another(
    stage: Stage, doomed_node: str
) -> None:
    tolerates = [{"key": "example.com/doomed", "operator": "Exists"}]
    podspec = {"tolerations": tolerates, "affinity": prefers(doomed_node)}
    await begin(stage, "node", podSpec=podspec)
    stranded = {pod.metadata.uid for pod in stage.pods("node") if pod.spec["nodeName"] == DOOMED}
    assert stranded
    stage.cluster.kubectl("delete", "node", doomed_node)
    # What removes such pods is Kubernetes itself, after a while; here the same, at once.
    for pod in stage.pods("node"):
        if pod.metadata.uid in stranded:
            await stage.person.delete(pod, PODS)
    await stage.until(
        lambda: (
            len(found := stage.pods("node")) == 3
            and all(map(is_ready, found))
            and all(pod.spec["nodeName"] != DOOMED for pod in found)
        )
    )
    await stage.remove("node")


async def test_a_pod_that_hangs_in_termination_does_not_hold_up_its_gang(stage: Stage) -> None:
    one = clique("a", 3, minAvailable=2, podSpec={"terminationGracePeriodSeconds": 60})
    one["annotations"] = {TERMINATES_AFTER: NEVER}
    await stage.person.create(workload("hang", cliques=[one], groups=[]))
    await stage.until_ready("hang", 3)
    lost, count = stage.person.pods_of("hang-0-a")["2"], repaired(stage)
    await stage.person.delete(lost, PODS)
    await until_repaired(stage, "hang", lost, count)
    still_there = stage.person.get(PODS, lost.metadata.name)
    assert still_there is not None
    assert still_there.metadata.is_terminating
    for pod in stage.person.pods:
        await stage.person.change(PODS, pod.metadata.name, _ends_at_once())
    await stage.person.change(PODS, lost.metadata.name, _ends_at_once())
    await stage.remove("hang")


async def test_a_budget_holds_evictions_back_until_the_gang_is_repaired(stage: Stage) -> None:
    before = await begin(stage, "budget")
    labels = {names.LABEL_PODCLIQUE: "budget-0-a"}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": stage.person.namespace},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": labels}},
    }
    stage.cluster.kubectl("create", "-f", "-", input=json.dumps(budget))
    allows = ("poddisruptionbudget/budget", f"-n{stage.person.namespace}", "--timeout=60s")
    stage.cluster.kubectl("wait", *allows, "--for=jsonpath={.status.disruptionsAllowed}=1")
    witness = Witness(stage, "budget")
    for pod in stage.pods("budget"):

        async def is_evicted(pod: LooseObject = pod) -> bool:
            said = await asyncio.to_thread(evict, stage, pod)
            assert not said or "disruption budget" in said
            return not said

        await stage.until_true(is_evicted)
    await stage.until_ready("budget", 3)
    await stage.until(lambda: not before["budget-0-a"] & stage.uids("budget")["budget-0-a"])
    assert witness.lowest["budget-0-a"] == 2
    # An update asks no budget, and keeps the minimum all the same.
    await stage.change("budget", [set_mark(clique("a", 3, minAvailable=2), "2")])
    await stage.until_updated("budget", 3, "2")
    assert witness.lowest["budget-0-a"] == 2
    await stage.remove("budget")


async def test_pods_of_a_node_that_is_not_ready_are_evicted_by_kubernetes_and_replaced(
    stage: Stage, doomed_node: str
) -> None:
    at_once = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    tolerates = [
        {"key": "example.com/doomed", "operator": "Exists"},
        {"key": "node.kubernetes.io/not-ready", **at_once},
        {"key": "node.kubernetes.io/unreachable", **at_once},
    ]
    podspec = {"tolerations": tolerates, "affinity": prefers(doomed_node)}
    await begin(stage, "dead", podSpec=podspec)
    stranded = {pod.metadata.uid for pod in stage.pods("dead") if pod.spec["nodeName"] == DOOMED}
    assert stranded
    count = repaired(stage)
    # Nobody plays the node any more, and what it said last is that it is not ready.
    stage.cluster.kubectl("annotate", "node", doomed_node, "kwok.x-k8s.io/node-")
    ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "gone"}
    patch = ("--subresource=status", "--type=strategic")
    body = json.dumps({"status": {"conditions": [ready]}})
    stage.cluster.kubectl("patch", "node", doomed_node, *patch, "--patch", body)
    await stage.until(
        lambda: (
            len(found := stage.pods("dead")) == 3
            and all(map(is_ready, found))
            and all(pod.spec["nodeName"] != DOOMED for pod in found)
        )
    )
    assert not stranded & {pod.metadata.uid for pod in stage.pods("dead")}
    await stage.operator.until(lambda: repaired(stage) > count)
    await stage.remove("dead")


def _ends_at_once() -> dict[str, object]:
    return {"metadata": {"annotations": {TERMINATES_AFTER: None}}}
