"""Pods as large as those of a real inference workload, about eleven kilobytes of JSON."""

from typing import Any
from uuid import UUID

MAIN = "registry.example.com/ai/server:v1.2.3"


def pod(index: int, resource_version: int | None = None) -> dict[str, Any]:
    """The pod of this number: 64 in a clique, 1,000 in a namespace, on one of 200 nodes."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(index, resource_version or 1_000_000 + index),
        "spec": {
            "schedulerName": "kai-scheduler",
            "nodeName": f"node-{index % 200}",
            "containers": [_container("main"), _container("sidecar")],
            "initContainers": [_container("init")],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}] * 3,
            "volumes": [{"name": "model", "persistentVolumeClaim": {"claimName": "model"}}],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": _time(index)}
                for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "initContainerStatuses": [_container_status("init")],
            "containerStatuses": [_container_status("main"), _container_status("sidecar")],
            "qosClass": "Guaranteed",
        },
    }


def _metadata(index: int, resource_version: int) -> dict[str, Any]:
    clique = f"inference-{index // 64}-decode"
    return {
        "name": f"{clique}-{index:05x}",
        "generateName": f"{clique}-",
        "namespace": f"team-{index // 1000}",
        "uid": str(UUID(int=index * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)),
        "resourceVersion": str(resource_version),
        "creationTimestamp": _time(index),
        "labels": {
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": f"inference-{index // 256}",
            "grove.io/podclique": clique,
            "grove.io/podgang": f"inference-{index // 64}-0",
            "grove.io/podcliqueset-replica-index": str(index % 4),
            "grove.io/podcliquescalinggroup": "workers",
            "grove.io/podcliquescalinggroup-replica-index": "1",
            "grove.io/pod-index": str(index % 64),
            "grove.io/pod-template-hash": "7d9f8b6c5",
        },
        "annotations": {"example.com/team": "inference"},
        "ownerReferences": [
            {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "PodClique",
                "name": clique,
                "uid": str(UUID(int=index // 64)),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [_managed_fields(index)] * 2,
    }


def _managed_fields(index: int) -> dict[str, Any]:
    return {
        "manager": "core-operator",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": _time(index),
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {f"f:label-{number}": {} for number in range(30)}},
            "f:spec": {f"f:field-{number}": {"f:a": {}, "f:b": {}} for number in range(60)},
        },
    }


def _container(name: str) -> dict[str, Any]:
    resources = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}
    return {
        "name": name,
        "image": MAIN,
        "command": ["python3", "-m", "server"],
        "env": [
            {"name": f"VARIABLE_{number}", "value": f"value number {number} of this container"}
            for number in range(10)
        ],
        "resources": {"limits": resources, "requests": resources},
        "volumeMounts": [{"name": "model", "mountPath": "/models", "readOnly": True}],
    }


def _container_status(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "ready": True,
        "started": True,
        "restartCount": 0,
        "image": MAIN,
        "imageID": f"sha256:{'0' * 64}",
        "containerID": f"containerd://{'1' * 64}",
        "state": {"running": {"startedAt": _time(0)}},
        "lastState": {},
    }


def _time(index: int) -> str:
    return f"2026-01-01T00:00:{index % 60:02d}Z"
