"""A small cluster as values: a gang of twelve that waits on eight nodes, and one that runs."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from gangctl.snapshot import (
    ListedDeployment,
    ListedLease,
    ListedPod,
    SchedulerObject,
    Snapshot,
)
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.codec import LooseObject

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
SINCE = "2026-01-01T11:55:48Z"
GPU = "nvidia.com/gpu"
MESSAGE = "0/12 pods scheduled: 8 Insufficient nvidia.com/gpu"
PASSED = ("BackendSelected", "Accepted", "Initialized", "Programmed", "Released")


def made(into: type[Any], **body: Any) -> Any:
    return msgspec.convert(body, into)


def metadata(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": "default", "creationTimestamp": SINCE, **more}


def conditions(*true: str, **false: tuple[str, str]) -> list[dict[str, str]]:
    fine = [{"type": kind, "status": "True", "lastTransitionTime": SINCE} for kind in true]
    return fine + [
        {"type": kind, "status": "False", "reason": r, "message": m, "lastTransitionTime": SINCE}
        for kind, (r, m) in false.items()
    ]


def spec(gpus: int, **more: Any) -> dict[str, Any]:
    resources = {"requests": {GPU: str(gpus)}}
    return {"containers": [{"name": "main", "resources": resources}], **more}


def labels(of_set: str, gang: str, clique: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/part-of": of_set,
        "grove.io/podgang": gang,
        "grove.io/podclique": clique,
    }


def pod(of_set: str, index: int, gpus: int, node: str = "") -> Any:
    name = f"{of_set}-0-worker-{index}"
    state = conditions("Ready") if node else []
    return made(
        ListedPod,
        metadata=metadata(name, labels=labels(of_set, f"{of_set}-0", f"{of_set}-0-worker")),
        spec=spec(gpus, nodeName=node),
        status={"phase": "Running" if node else "Pending", "conditions": state},
    )


def a_set(name: str, found: list[dict[str, str]], available: int) -> Any:
    return made(
        LooseObject,
        metadata=metadata(name, labels={"kai.scheduler/queue": "team"}),
        spec={"replicas": 1},
        status={"availableReplicas": available, "conditions": found},
    )


def a_gang(of_set: str, pods: int, phase: str, found: list[dict[str, str]], **spec: Any) -> Any:
    marks = {"app.kubernetes.io/part-of": of_set, "grove.io/scheduler-backend": "kai"}
    return made(
        LooseObject,
        metadata=metadata(f"{of_set}-0", uid=f"uid-{of_set}", labels=marks),
        spec={"podgroups": [{"name": f"{of_set}-0-worker", "minReplicas": pods}], **spec},
        status={"phase": phase, "conditions": found},
    )


def a_clique(of_set: str, gpus: int) -> Any:
    return made(LooseObject, metadata=metadata(f"{of_set}-0-worker"), spec={"podSpec": spec(gpus)})


def node(index: int, **more: Any) -> Any:
    return made(
        ListedNode,
        metadata={"name": f"node-{index}", "labels": {"rack": f"rack-{index // 4}"}},
        spec=more,
        status={"allocatable": {GPU: "8", "pods": "110"}},
    )


def backend(*, alive: bool = True) -> Any:
    down = {"Available": ("BackendUnavailable", "its Lease grove-system/backend-kai expired")}
    return made(
        LooseObject,
        metadata={"name": "kai"},
        spec={
            "schedulerNames": ["kai-scheduler"],
            "capabilities": ["Gang", "Priority"],
            "lease": {"namespace": "grove-system", "name": "backend-kai"},
        },
        status={
            "dialect": "scheduling.run.ai/v2alpha2",
            "conditions": conditions(
                "Ready", *(("Available",) if alive else ()), **{} if alive else down
            ),
        },
    )


LEASE = made(
    ListedLease,
    metadata={"name": "backend-kai", "namespace": "grove-system"},
    spec={"holderIdentity": "pod-1", "renewTime": "2026-01-01T11:59:58.000000Z"},
)


SCHEDULER = made(
    ListedDeployment,
    metadata={"name": "kai-scheduler-default", "namespace": "kai-scheduler"},
    spec={"template": {"spec": {"containers": [{"image": "example/scheduler:v0.15.0"}]}}},
)


def snapshot(**changed: Any) -> Snapshot:
    """`training` waits: 12 pods with 4 GPUs. `inference` runs: 3 pods with 8 GPUs on 3 of 8 nodes."""
    stuck = conditions(*PASSED, Scheduled=("Unschedulable", MESSAGE), Ready=("NotReady", ""))
    waiting = conditions(Ready=("PodsNotScheduled", f"gang training-0: {MESSAGE}"))
    parts: dict[str, Any] = {
        "sets": [a_set("inference", conditions("Ready"), 1), a_set("training", waiting, 0)],
        "gangs": [
            a_gang("inference", 3, "Running", conditions(*PASSED, "Scheduled", "Ready")),
            a_gang("training", 12, "Pending", stuck),
        ],
        "cliques": [a_clique("inference", 8), a_clique("training", 4)],
        "pods": [
            *(pod("inference", index, 8, f"node-{index}") for index in range(3)),
            *(pod("training", index, 4) for index in range(12)),
        ],
        "nodes": [node(index) for index in range(8)],
        "backends": [backend()],
        "leases": [LEASE],
        "deployments": [SCHEDULER],
        "scheduler_objects": [
            SchedulerObject("PodGroup", "training-0", ("uid-training",), "Pending")
        ],
    }
    return Snapshot(NOW, **{**parts, **changed})
