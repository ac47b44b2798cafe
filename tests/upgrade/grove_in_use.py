"""The set of `grove_objects` in the middle of its life: scaled, updated, and waiting for capacity.

It starts in order, so its pods have Grove's init container. Autoscalers have added a pod to `a` and
a replica to `sg`; the gang of that replica has not been ungated yet.
"""

from typing import Any

from shared_api import names
from tests.upgrade.grove_objects import (
    DEFAULT_LABELS,
    GANGS,
    GENERATION_HASH,
    HASHES,
    PODS,
    SET,
    Object,
    grove_objects,
    new_object,
)

_GATE_OF_GROVE = "grove.io/podgang-pending-creation"
GATED = {"w-0-sg-2-b": 1, "w-0-sg-2-c": 1}
RUNNING = {**PODS, "w-0-a": 3}
AFTER = {
    "w-0-sg-0-b": "w-0-a",
    "w-0-sg-0-c": "w-0-sg-0-b",
    "w-0-sg-1-c": "w-0-sg-1-b",
    "w-0-sg-2-c": "w-0-sg-2-b",
}
SCALE = {"minReplicas": 2, "maxReplicas": 5}
_SINCE = {"updateStartedAt": "2026-08-20T10:00:00Z", "updateEndedAt": "2026-08-20T10:05:00Z"}


def grove_in_use() -> list[Object]:
    """Return everything, owners first."""
    found = grove_objects({**RUNNING, **GATED}, {**GANGS, "w-0-sg-1": [*GATED]})
    change = {
        "PodCliqueSet": _set,
        "PodCliqueScalingGroup": _group,
        "PodClique": _clique,
        "PodGang": _gang,
        "Pod": _pod,
    }
    for one in found:
        change.get(one["kind"], lambda _: None)(one)
    return [
        *found,
        _autoscaler("PodClique", "w-0-a"),
        _autoscaler("PodCliqueScalingGroup", "w-0-sg"),
    ]


def _set(found: Object) -> None:
    template = found["spec"]["template"]
    template["cliqueStartupType"] = "CliqueStartupTypeInOrder"
    template["cliques"][0]["spec"]["autoScalingConfig"] = SCALE
    template["podCliqueScalingGroups"][0]["scaleConfig"] = SCALE
    counts = {"updatedPodCliquesCount": 1, "totalPodCliquesCount": 1}
    groups = {"updatedPodCliqueScalingGroupsCount": 1, "totalPodCliqueScalingGroupsCount": 1}
    found["status"]["updateProgress"] = {**_SINCE, **counts, **groups}


def _group(found: Object) -> None:
    found["spec"]["replicas"] = 3
    progress = {"podCliqueSetGenerationHash": GENERATION_HASH, "updatedPodCliquesCount": 4}
    found["status"] = {
        "replicas": 3,
        "currentPodCliqueSetGenerationHash": GENERATION_HASH,
        "updateProgress": {**_SINCE, **progress, "totalPodCliquesCount": 4},
    }


def _clique(found: Object) -> None:
    name = found["metadata"]["name"]
    role = name.rpartition("-")[2]
    if name in AFTER:
        found["spec"]["startsAfter"] = [AFTER[name]]
    if role == "a":
        found["spec"]["autoScalingConfig"] = SCALE
        found["status"]["updateProgress"] = {
            **_SINCE,
            "podCliqueSetGenerationHash": GENERATION_HASH,
            "podTemplateHash": HASHES[role],
            "readyPodsSelectedToUpdate": {"current": "w-0-a-old", "completed": ["w-0-a-older"]},
        }


def _gang(found: Object) -> None:
    if found["metadata"]["name"] == "w-0-sg-1":
        found["status"]["conditions"][0] |= {
            "status": "False",
            "reason": "PodGangPodsCreationPending",
        }


def _pod(found: Object) -> None:
    clique = found["metadata"]["ownerReferences"][0]["name"]
    spec = found["spec"]
    if clique in GATED:
        spec["schedulingGates"] = [{"name": _GATE_OF_GROVE}]
    if clique in AFTER:
        token = {"name": "sa-token-secret-vol", "secret": {"secretName": f"{SET}-ic-sat"}}
        label = f"metadata.labels['{names.LABEL_PODGANG}']"
        items = [{"path": "podgangname", "fieldRef": {"fieldPath": label}}]
        spec["volumes"] = [token, {"name": "pod-info-vol", "downwardAPI": {"items": items}}]
        spec["initContainers"] = [_waiting(AFTER[clique])]


def _waiting(parent: str) -> dict[str, Any]:
    return {
        "name": "grove-initc",
        "image": "registry.example.com/grove-initc:1",
        "args": [f"--podcliques={parent}:1"],
        "volumeMounts": [
            {"name": "pod-info-vol", "readOnly": True, "mountPath": "/var/grove/pod-info"},
            {
                "name": "sa-token-secret-vol",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
    }


def _autoscaler(kind: str, name: str) -> Object:
    target = {"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name}
    labels = {**DEFAULT_LABELS, names.LABEL_APP_NAME: name, names.LABEL_COMPONENT: "pcs-hpa"}
    return new_object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        name,
        ("PodCliqueSet", SET),
        metadata={"labels": labels},
        spec={**SCALE, "scaleTargetRef": target},
    )
