"""Simulated nodes: pods run, fail, dawdle and hang as their annotations say."""

import pytest

from local_cluster.cluster import Cluster
from local_cluster.simulation.nodes import BLOCK, RACK, ZONE
from local_cluster.simulation.stages import FAIL_AFTER, NEVER, READY_AFTER, TERMINATES_AFTER
from local_cluster.waiting import wait_until
from tests.cluster.manifests import Object, as_list, condition, pod

pytestmark = pytest.mark.cluster


def _run(cluster: Cluster, namespace: str, **annotations: str) -> str:
    manifest = pod("p", namespace)
    manifest["metadata"]["annotations"] = {
        {"ready": READY_AFTER, "fail": FAIL_AFTER, "end": TERMINATES_AFTER}[key]: value
        for key, value in annotations.items()
    }
    cluster.kubectl("apply", "-f", "-", input=as_list([manifest]))
    return f"/api/v1/namespaces/{namespace}/pods"


def _ready(items: list[Object]) -> bool:
    return len(items) == 1 and condition(items[0], "Ready") == "True"


def test_bound_pod_runs_and_becomes_ready(cluster: Cluster, namespace: str) -> None:
    path = _run(cluster, namespace)
    item = wait_until(cluster.kubeconfig, path, _ready)[0]
    assert item["status"]["phase"] == "Running"
    assert item["status"]["podIP"]
    assert condition(item, "PodScheduled") == "True", "kwok must keep the scheduler's condition"


def test_slow_pod_becomes_ready_only_after_its_delay(cluster: Cluster, namespace: str) -> None:
    path = _run(cluster, namespace, ready="2s")
    bound = wait_until(cluster.kubeconfig, path, lambda items: bool(items and _node(items[0])))
    assert not _ready(bound)
    started = wait_until(cluster.kubeconfig, path, _ready)[0]
    scheduled, ready = (
        next(c["lastTransitionTime"] for c in started["status"]["conditions"] if c["type"] == kind)
        for kind in ("PodScheduled", "Ready")
    )
    assert ready > scheduled


def test_failing_pod_runs_first_and_then_fails(cluster: Cluster, namespace: str) -> None:
    path = _run(cluster, namespace, fail="1s")
    wait_until(cluster.kubeconfig, path, _ready)
    failed = wait_until(
        cluster.kubeconfig, path, lambda items: items[0]["status"]["phase"] == "Failed"
    )[0]
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    assert condition(failed, "Ready") == "False"


def test_deleted_pod_goes_away(cluster: Cluster, namespace: str) -> None:
    path = _run(cluster, namespace)
    wait_until(cluster.kubeconfig, path, _ready)
    cluster.kubectl("-n", namespace, "delete", "pod", "p", "--wait=false")
    wait_until(cluster.kubeconfig, path, lambda items: not items)


def test_hanging_pod_stays_terminating_until_it_is_forced(cluster: Cluster, namespace: str) -> None:
    path = _run(cluster, namespace, end=NEVER)
    wait_until(cluster.kubeconfig, path, _ready)
    cluster.kubectl("-n", namespace, "delete", "pod", "p", "--wait=false", "--grace-period=1")
    # A second pod that goes away at once shows that the first was given its chance.
    other = pod("q", namespace)
    cluster.kubectl("apply", "-f", "-", input=as_list([other]))
    wait_until(cluster.kubeconfig, path, lambda items: any(_named_ready(i, "q") for i in items))
    cluster.kubectl("-n", namespace, "delete", "pod", "q", "--wait=true", "--timeout=20s")
    left = wait_until(cluster.kubeconfig, path, lambda items: len(items) == 1)[0]
    assert left["metadata"]["deletionTimestamp"]
    cluster.kubectl("-n", namespace, "delete", "pod", "p", "--force", "--grace-period=0")
    wait_until(cluster.kubeconfig, path, lambda items: not items)


def test_nodes_have_gpus_and_a_place_in_the_topology(cluster: Cluster) -> None:
    nodes = wait_until(
        cluster.kubeconfig,
        "/api/v1/nodes",
        lambda items: len(items) == 8,
        labelSelector=RACK,
    )
    assert all(node["status"]["allocatable"]["nvidia.com/gpu"] == "8" for node in nodes)
    places = {
        label: {node["metadata"]["labels"][label] for node in nodes}
        for label in (ZONE, BLOCK, RACK)
    }
    assert {label: len(values) for label, values in places.items()} == {ZONE: 1, BLOCK: 2, RACK: 4}


def _node(item: Object) -> str | None:
    node: str | None = item["spec"].get("nodeName")
    return node


def _named_ready(item: Object, name: str) -> bool:
    return item["metadata"]["name"] == name and condition(item, "Ready") == "True"
