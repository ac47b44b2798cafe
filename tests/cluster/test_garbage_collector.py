"""The real garbage collector: children go with their owner, and only then."""

import json

import pytest

from local_cluster.cluster import Cluster
from local_cluster.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_children_go_with_their_owner(cluster: Cluster, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    cluster.kubectl(*in_namespace, "create", "configmap", "owner")
    owner = json.loads(
        cluster.kubectl(*in_namespace, "get", "configmap", "owner", "-o", "json").stdout
    )
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    for name, references in (("child", [reference]), ("stranger", [])):
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": references},
        }
        cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))
    cluster.kubectl(*in_namespace, "delete", "configmap", "owner")
    left = wait_until(
        cluster.kubeconfig,
        f"/api/v1/namespaces/{namespace}/configmaps",
        lambda items: all(item["metadata"]["name"] != "child" for item in items),
    )
    assert "stranger" in {item["metadata"]["name"] for item in left}
