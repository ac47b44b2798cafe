"""Hand-written manifests: pods and gangs as their schedulers want them, without the product."""

import json
from typing import Any

from local_cluster.hand_written_gang import gang_objects, gang_pods

Object = dict[str, Any]


def pod(name: str, namespace: str, *, cpu: str = "1", **spec: Any) -> Object:
    """A pod with one container that asks for `cpu`."""
    container = {
        "name": "main",
        "image": "example.com/none",
        "resources": {"requests": {"cpu": cpu}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": {}, "labels": {}},
        "spec": {"containers": [container], **spec},
    }


def kubernetes_gang(name: str, namespace: str, size: int, *, cpu: str) -> list[Object]:
    """A Workload, its PodGroup and `size` gated pods, as Kubernetes 1.36 has them."""
    pods = gang_pods(name, namespace, size, cpu=cpu)
    return [*gang_objects(name, namespace, size), *pods]


def kai_gang(name: str, namespace: str, size: int, *, cpu: str, queue: str) -> list[Object]:
    """A run.ai PodGroup and `size` pods that name it."""
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"queue": queue, "subGroups": [{"name": "main", "minMember": size}]},
    }
    members = []
    for index in range(size):
        member = pod(f"{name}-{index}", namespace, cpu=cpu, schedulerName="kai-scheduler")
        member["metadata"]["annotations"]["pod-group-name"] = name
        member["metadata"]["labels"]["kai.scheduler/subgroup-name"] = "main"
        members.append(member)
    return [group, *members]


def as_list(objects: list[Object]) -> str:
    """Objects as one document for `kubectl apply -f -`."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def bound(pods: list[Object]) -> int:
    """How many of the pods have a node."""
    return sum(1 for item in pods if item["spec"].get("nodeName"))


def ready(pods: list[Object]) -> int:
    """How many of the pods are ready."""
    return sum(1 for item in pods if condition(item, "Ready") == "True")


def condition(item: Object, kind: str) -> str | None:
    """The status of one condition."""
    for entry in item.get("status", {}).get("conditions", []):
        if entry["type"] == kind:
            return str(entry["status"])
    return None
