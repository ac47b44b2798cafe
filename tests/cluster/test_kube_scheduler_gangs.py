"""kube-scheduler 1.36 binds a gang whole or not at all."""

import pytest

from local_cluster.cluster import Cluster
from local_cluster.waiting import wait_until
from tests.cluster.manifests import as_list, bound, condition, kubernetes_gang

pytestmark = pytest.mark.cluster


def _lift_gates(cluster: Cluster, namespace: str, name: str, size: int) -> None:
    remove = '[{"op": "remove", "path": "/spec/schedulingGates/0"}]'
    for index in range(size):
        cluster.kubectl(
            "-n", namespace, "patch", "pod", f"{name}-{index}", "--type=json", "-p", remove
        )


def test_gated_pods_are_not_scheduled(cluster: Cluster, namespace: str) -> None:
    gang = kubernetes_gang("w", namespace, 3, cpu="1")
    cluster.kubectl("apply", "-f", "-", input=as_list(gang))
    pods = wait_until(
        cluster.kubeconfig,
        f"/api/v1/namespaces/{namespace}/pods",
        lambda items: len(items) == 3,
    )
    assert bound(pods) == 0
    assert all(item["spec"]["schedulingGroup"] == {"podGroupName": "w"} for item in pods)


def test_gang_that_fits_is_bound_whole(cluster: Cluster, namespace: str) -> None:
    gang = kubernetes_gang("w", namespace, 4, cpu="1")
    cluster.kubectl("apply", "-f", "-", input=as_list(gang))
    _lift_gates(cluster, namespace, "w", 4)
    path = f"/api/v1/namespaces/{namespace}/pods"
    wait_until(cluster.kubeconfig, path, lambda items: bound(items) == 4)
    groups = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups"
    wait_until(
        cluster.kubeconfig,
        groups,
        lambda items: condition(items[0], "PodGroupScheduled") == "True",
    )


def test_gang_that_does_not_fit_binds_nothing(cluster: Cluster, namespace: str) -> None:
    # Eight nodes with 32 CPUs each hold eight pods of 20 CPUs; the ninth has no room.
    gang = kubernetes_gang("w", namespace, 9, cpu="20")
    cluster.kubectl("apply", "-f", "-", input=as_list(gang))
    _lift_gates(cluster, namespace, "w", 9)
    groups = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups"
    ungated = wait_until(
        cluster.kubeconfig,
        f"/api/v1/namespaces/{namespace}/pods",
        lambda items: all(
            condition(item, "PodScheduled") == "False" and not item["spec"].get("schedulingGates")
            for item in items
        ),
    )
    wait_until(
        cluster.kubeconfig,
        groups,
        lambda items: condition(items[0], "PodGroupScheduled") == "False",
    )
    assert bound(ungated) == 0
