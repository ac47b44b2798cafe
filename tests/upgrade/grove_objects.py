"""What Grove's operator leaves in a cluster: one set with all that it made of it, as it stored it.

Written from what Grove documents and does: names, labels, environment, finalizers, hashes of its own
and the fields that its webhook fills in. There is no gate on the pods: they run.
"""

import copy
from collections.abc import Mapping
from typing import Any

from shared_api import names

Object = dict[str, Any]

NAMESPACE = "grove-fixture"
SET = "w"
HASHES = {"a": "5b8c9d7f4", "b": "6f64c8b5dd", "c": "7c9b7f6d8"}
GENERATION_HASH = "c4d7b9f86"
PODS = {"w-0-a": 2, "w-0-sg-0-b": 1, "w-0-sg-0-c": 1, "w-0-sg-1-b": 1, "w-0-sg-1-c": 1}
GANGS = {
    "w-0": ["w-0-a", "w-0-sg-0-b", "w-0-sg-0-c"],
    "w-0-sg-0": ["w-0-sg-1-b", "w-0-sg-1-c"],
}
DEFAULT_LABELS = {names.LABEL_MANAGED_BY: names.MANAGED_BY, names.LABEL_PART_OF: SET}


def grove_objects(
    pods: Mapping[str, int] = PODS, gangs: Mapping[str, list[str]] = GANGS
) -> list[Object]:
    """Return everything, owners first."""
    gang_of = {clique: gang for gang, cliques in gangs.items() for clique in cliques}
    cliques = [_clique(name, replicas, gang_of[name]) for name, replicas in pods.items()]
    return [
        _set(),
        _group(),
        *cliques,
        *(_gang(name, {member: pods[member] for member in of}) for name, of in gangs.items()),
        _service(),
        *(_pod(clique, index) for clique in cliques for index in range(clique["spec"]["replicas"])),
    ]


def pod_name(clique: str, index: int) -> str:
    return f"{clique}-x7k2{'bcdf'[index]}"


def uid(kind: str, name: str) -> str:
    """The placeholder that `restore` replaces by the real UID."""
    return f"uid-of-{kind}-{name}".lower()


def new_object(
    api: str, kind: str, name: str, owner: tuple[str, str] | None, **more: Any
) -> Object:
    """Return an object with the UID and the owner that Grove gives it."""
    metadata: Object = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": uid(kind, name),
        **more.pop("metadata", {}),
    }
    if owner is not None:
        owner_kind, owner_name = owner
        metadata["ownerReferences"] = [
            {
                "apiVersion": "grove.io/v1alpha1",
                "kind": owner_kind,
                "name": owner_name,
                "uid": uid(owner_kind, owner_name),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def _pod_spec() -> Object:
    """As Grove's typed client and its webhook store what a user wrote."""
    return {
        "containers": [
            {
                "name": "main",
                "image": "registry.example.com/app:1",
                "resources": {"requests": {"cpu": "10m"}},
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
    }


def _template(name: str, replicas: int) -> Object:
    spec = {"roleName": name, "podSpec": _pod_spec(), "replicas": replicas, "minAvailable": 1}
    return {"name": name, "spec": spec}


def _set() -> Object:
    template = {
        "cliques": [_template("a", 2), _template("b", 1), _template("c", 1)],
        "cliqueStartupType": "CliqueStartupTypeAnyOrder",
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "terminationDelay": "4h0m0s",
        "podCliqueScalingGroups": [
            {"name": "sg", "cliqueNames": ["b", "c"], "replicas": 2, "minAvailable": 1}
        ],
    }
    return new_object(
        "grove.io/v1alpha1",
        "PodCliqueSet",
        SET,
        None,
        metadata={"finalizers": [names.FINALIZER_GROVE_PCS]},
        spec={"replicas": 1, "template": template},
        status={
            "observedGeneration": 1,
            "replicas": 1,
            "availableReplicas": 1,
            "updatedReplicas": 1,
            "currentGenerationHash": GENERATION_HASH,
        },
    )


def _group() -> Object:
    labels = {
        **DEFAULT_LABELS,
        names.LABEL_APP_NAME: "w-0-sg",
        names.LABEL_COMPONENT: names.COMPONENT_PCSG,
        names.LABEL_PCS_REPLICA_INDEX: "0",
    }
    return new_object(
        "grove.io/v1alpha1",
        "PodCliqueScalingGroup",
        "w-0-sg",
        ("PodCliqueSet", SET),
        metadata={"labels": labels, "finalizers": [names.FINALIZER_GROVE_PCSG]},
        spec={"replicas": 2, "minAvailable": 1, "cliqueNames": ["b", "c"]},
    )


def _clique(name: str, replicas: int, gang: str) -> Object:
    role = name.rpartition("-")[2]
    labels = {
        **DEFAULT_LABELS,
        names.LABEL_APP_NAME: name,
        names.LABEL_COMPONENT: names.COMPONENT_PCS_PODCLIQUE,
        names.LABEL_PCS_REPLICA_INDEX: "0",
        names.LABEL_PODGANG: gang,
        names.LABEL_POD_TEMPLATE_HASH: HASHES[role],
    }
    spec: Object = {
        "roleName": role,
        "podSpec": _pod_spec(),
        "replicas": replicas,
        "minAvailable": 1,
    }
    owner = ("PodCliqueSet", SET)
    if "-sg-" in name:
        owner = ("PodCliqueScalingGroup", "w-0-sg")
        labels[names.LABEL_COMPONENT] = names.COMPONENT_PCSG_PODCLIQUE
        labels[names.LABEL_PCSG] = "w-0-sg"
        labels[names.LABEL_PCSG_REPLICA_INDEX] = name.split("-")[3]
        spec["podSpec"]["containers"][0]["env"] = _group_env()
    if gang != "w-0":
        labels[names.LABEL_BASE_PODGANG] = "w-0"
    return new_object(
        "grove.io/v1alpha1",
        "PodClique",
        name,
        owner,
        metadata={"labels": labels, "finalizers": [names.FINALIZER_GROVE_PCLQ]},
        spec=spec,
        status={"observedGeneration": 1, "currentPodTemplateHash": HASHES[role]},
    )


def _group_env() -> list[Object]:
    def label(key: str) -> Object:
        return {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{key}']"}}

    return [
        {"name": names.ENV_PCSG_NAME, "valueFrom": label(names.LABEL_PCSG)},
        {"name": names.ENV_PCSG_TEMPLATE_NUM_PODS, "value": "2"},
        {"name": names.ENV_PCSG_INDEX, "valueFrom": label(names.LABEL_PCSG_REPLICA_INDEX)},
    ]


def _gang(name: str, members: Mapping[str, int]) -> Object:
    groups = [
        {
            "name": member,
            "podReferences": [
                {"namespace": NAMESPACE, "name": pod_name(member, index)} for index in range(size)
            ],
            "minReplicas": 1,
        }
        for member, size in members.items()
    ]
    labels = {
        **DEFAULT_LABELS,
        names.LABEL_COMPONENT: names.COMPONENT_PODGANG,
        names.LABEL_SCHEDULER_NAME: "default-scheduler",
    }
    initialized = {
        "type": names.CONDITION_INITIALIZED,
        "status": "True",
        "reason": names.REASON_PODS_CREATED,
        "message": "",
        "lastTransitionTime": "2026-08-20T10:00:00Z",
    }
    return new_object(
        "scheduler.grove.io/v1alpha1",
        "PodGang",
        name,
        ("PodCliqueSet", SET),
        metadata={"labels": labels},
        spec={"podgroups": groups},
        status={"phase": "Pending", "conditions": [initialized]},
    )


def _service() -> Object:
    labels = {
        **DEFAULT_LABELS,
        names.LABEL_APP_NAME: "w-0",
        names.LABEL_COMPONENT: names.COMPONENT_HEADLESS_SERVICE,
        names.LABEL_PCS_REPLICA_INDEX: "0",
    }
    selector = {**DEFAULT_LABELS, names.LABEL_PCS_REPLICA_INDEX: "0"}
    return new_object(
        "v1",
        "Service",
        "w-0",
        ("PodCliqueSet", SET),
        metadata={"labels": labels},
        spec={"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": True},
    )


def _pod(clique: Object, index: int) -> Object:
    name = clique["metadata"]["name"]
    labels = {
        **clique["metadata"]["labels"],
        names.LABEL_PODCLIQUE: name,
        names.LABEL_POD_INDEX: str(index),
    }
    spec = copy.deepcopy(clique["spec"]["podSpec"])
    spec |= {
        "hostname": f"{name}-{index}",
        "subdomain": "w-0",
        "schedulerName": "default-scheduler",
    }
    env = spec["containers"][0].get("env", [])
    spec["containers"][0]["env"] = [{"name": names.ENV_PCS_NAME, "value": SET}, *env]
    return new_object(
        "v1",
        "Pod",
        pod_name(name, index),
        ("PodClique", name),
        metadata={"labels": labels},
        spec=spec,
    )
