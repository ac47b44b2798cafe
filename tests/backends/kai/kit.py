"""Gangs, pods and facts as KAI's pure functions get them, and schemas of its releases."""

from collections.abc import Mapping
from typing import Any

import msgspec

from backend_controllers.contract.declaration import Report, Served
from backend_controllers.contract.events import EVENTS, SchedulerEvent
from backend_controllers.kai.api import (
    KEY_POD_GROUP,
    PODGROUPS,
    QUEUES,
    TOPOLOGIES,
    KaiPodGroup,
    KaiQueue,
    KaiTopology,
    pod_group_name,
)
from backend_controllers.kai.installation import KaiFeatures, KaiInstallation, KaiOptions
from backend_controllers.kai.mirroring import mirror
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.models import ClusterTopologyBinding
from shared_api.runtime.watching.predicates import Watched

Object = dict[str, Any]

NAMESPACE = "team-a"
UID = "0b6c1d9e-5f7a-4c7e-9d64-0c2a7d0f5a11"
ZONE, RACK, HOST = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"

V0_13 = KaiFeatures(min_sub_group=False, empty_groups=False, strict_names=False, delays=False)
V0_16 = KaiFeatures(delays=False)
V0_17 = KaiFeatures()


def installed(features: KaiFeatures = V0_17, **options: Any) -> KaiInstallation:
    return KaiInstallation(features, KaiOptions(**options))


def pack(required: str | None = None, preferred: str | None = None) -> Object:
    levels = {"required": required, "preferred": preferred}
    return {"packConstraint": {key: value for key, value in levels.items() if value}}


def group(name: str, minimum: int = 1, constraint: Object | None = None) -> Object:
    entry: Object = {"name": name, "podReferences": [], "minReplicas": minimum}
    if constraint is not None:
        entry["topologyConstraint"] = constraint
    return entry


def together(name: str, *members: str, constraint: Object | None = None) -> Object:
    entry: Object = {"name": name, "podGroupNames": list(members)}
    if constraint is not None:
        entry["topologyConstraint"] = constraint
    return entry


def gang(*groups: Object, metadata: Object | None = None, **spec: Any) -> ObservedPodGang:
    """A gang in queue `team`, unless its metadata says otherwise."""
    stated = {"labels": {"kai.scheduler/queue": "team"}} if metadata is None else metadata
    return msgspec.convert(
        {
            "metadata": {"name": "web-0", "namespace": NAMESPACE, "uid": UID, **stated},
            "spec": {"podgroups": list(groups) or [group("web-0-main", 2)], **spec},
        },
        ObservedPodGang,
    )


def on_topology(name: str = "net") -> Object:
    """Metadata of a gang that has placements."""
    return {
        "labels": {"kai.scheduler/queue": "team"},
        "annotations": {names.ANNOTATION_TOPOLOGY_NAME: name},
    }


class GivenFacts:
    """Facts that a test states."""

    def __init__(
        self,
        *objects: tuple[Resource, Watched],
        pods: tuple[Pod, ...] = (),
        leaving: tuple[Pod, ...] = (),
        queues: bool = True,
    ) -> None:
        self.pods = pods
        self.leaving = leaving
        given = [*objects, queue("root"), queue("team", "root")] if queues else list(objects)
        self._objects = {
            (resource, value.metadata.namespace or "", value.metadata.name): value
            for resource, value in given
        }

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        return self.all(resource)

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        return self._objects.get((resource, namespace, name))

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        return tuple(value for key, value in self._objects.items() if key[0] == resource)


def queue(name: str, parent: str = "") -> tuple[Resource, Watched]:
    body = {"metadata": {"name": name}, "spec": {"parentQueue": parent} if parent else {}}
    return QUEUES, msgspec.convert(body, KaiQueue)


def topology(name: str, *levels: str) -> tuple[Resource, Watched]:
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    return TOPOLOGIES, msgspec.convert({"metadata": {"name": name}, "spec": spec}, KaiTopology)


def binding(name: str, *keys: str, **references: str) -> ClusterTopologyBinding:
    """A binding with levels of these keys; references by the scheduler's name, `_` for `-`."""
    spec: Object = {"levels": [{"domain": f"d{i}", "key": key} for i, key in enumerate(keys)]}
    spec["schedulerTopologyBindings"] = [
        {"schedulerName": scheduler.replace("_", "-"), "topologyReference": reference}
        for scheduler, reference in references.items()
    ]
    return ClusterTopologyBinding.model_validate({"metadata": {"name": name}, "spec": spec})


def named(resource: Resource, name: str) -> tuple[Resource, Watched]:
    return resource, PartialObject(Metadata(name=name))


def pod_group(
    *conditions: Object, annotations: Mapping[str, str] | None = None, **spec: Any
) -> tuple[Resource, Watched]:
    body = {
        "metadata": {
            "name": pod_group_name("web-0", UID),
            "namespace": NAMESPACE,
            "annotations": dict(annotations or {}),
        },
        "spec": spec,
        "status": {"schedulingConditions": list(conditions)},
    }
    return PODGROUPS, msgspec.convert(body, KaiPodGroup)


def unschedulable(*reasons: Object, number: int = 1, at: str = "2026-11-16T08:00:00Z") -> Object:
    return {
        "type": "UnschedulableOnNodePool",
        "status": "True",
        "transitionID": str(number),
        "lastTransitionTime": at,
        "message": "deprecated",
        "reasons": list(reasons),
    }


def pod(name: str, of: str = "web-0-main", *conditions: Object, **fields: Any) -> Pod:
    """A released pod; `node`, `gates`, `phase`, `made`, `index` and `annotations` may be given."""
    body = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "creationTimestamp": fields.get("made", "2026-11-16T09:30:00Z"),
            "labels": {names.LABEL_PODCLIQUE: of, names.LABEL_POD_INDEX: fields.get("index", name)},
            "annotations": fields.get("annotations", {KEY_POD_GROUP: pod_group_name("web-0", UID)}),
        },
        "spec": {
            "nodeName": fields.get("node", ""),
            "schedulingGates": [{"name": gate} for gate in fields.get("gates", ())],
        },
        "status": {"phase": fields.get("phase", "Pending"), "conditions": list(conditions)},
    }
    return msgspec.convert(body, Pod)


EARLIER = {KEY_POD_GROUP: pod_group_name("web-0", "5d1f0c7a-91b2-4b57-8a59-1f6d7f0a2c33")}
"""What pods carry that were made for a gang of this name which somebody deleted."""
OF_GROVE = {KEY_POD_GROUP: "web-0"}
"""What pods of this gang carry that Grove created."""


def not_scheduled(message: str, reason: str = "Unschedulable") -> Object:
    return {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}


def evicted(
    at: str, message: str, action: str = "preempt", by: str = "", **annotations: str
) -> tuple[Resource, Watched]:
    stated = {"evictor-action-type": action, "num-evicted-pods": "2", **annotations}
    if by:
        stated |= {"evictor-pod-group-name": by, "evictor-pod-group-namespace": "team-b"}
    body = {
        "metadata": {"name": f"e-{at}", "namespace": NAMESPACE, "annotations": stated},
        "involvedObject": {"name": pod_group_name("web-0", UID), "namespace": NAMESPACE},
        "message": message,
        "lastTimestamp": at,
    }
    return EVENTS, msgspec.convert(body, SchedulerEvent)


def served(spec: Object, sub_group: Object, *, topologies: bool = True) -> Served:
    """What a cluster answers whose PodGroup CRD has these fields."""
    sub_groups = {"type": "array", "items": {"type": "object", "properties": sub_group}}
    fields = {**spec, "subGroups": sub_groups} if sub_group else spec
    schema: Object = {"properties": {"spec": {"type": "object", "properties": fields}}}
    kinds = [PODGROUPS, QUEUES, *([TOPOLOGIES] if topologies else [])]
    return Served(
        resources=frozenset((kind.group, kind.version, kind.plural) for kind in kinds),
        schemas={(PODGROUPS.group, PODGROUPS.version, PODGROUPS.plural): schema},
    )


_TEXT = {"type": "string"}
_SPEC = {
    "minMember": {"type": "integer", "minimum": 1},
    "priorityClassName": _TEXT,
    "queue": _TEXT,
    "topologyConstraint": {"type": "object"},
}
_V0_10_GROUP = {
    "name": _TEXT,
    "minMember": {"type": "integer", "minimum": 1},
    "parent": _TEXT,
    "topologyConstraint": {"type": "object"},
}
_V0_15_GROUP = {
    **_V0_10_GROUP,
    "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    "minMember": {"type": "integer", "minimum": 0},
    "minSubGroup": {"type": "integer", "minimum": 0},
}
_V0_15 = {**_SPEC, "preemptibility": _TEXT, "minSubGroup": {"type": "integer"}}

SERVED = {
    "0.6": served(_SPEC, {}),
    "0.9": served(_SPEC, {"name": _TEXT, "minMember": {"type": "integer"}}),
    "0.13": served({**_SPEC, "preemptibility": _TEXT}, _V0_10_GROUP),
    "0.15": served(_V0_15, _V0_15_GROUP),
    "0.17": served(
        {**_V0_15, "preemptionDelay": _TEXT, "stalenessGracePeriod": _TEXT}, _V0_15_GROUP
    ),
}


NODES = "no nodes with enough resources were found: 4 node(s) didn't have enough resources: GPUs"
REASON = {
    "reason": "PodSchedulingErrors",
    "message": "Resources were found for 1 pods from all sub-groups while sub-group web-0-main"
    " requires 2 pods for gang scheduling. Additional pods cannot be scheduled in this sub-group"
    f" due to: {NODES}.",
}
STARTED = {"kai.scheduler/last-start-timestamp": "2026-11-16T09:00:00Z"}
BEFORE, AFTER = "2026-11-16T08:00:00Z", "2026-11-16T10:00:00Z"


def mirrored(*objects: Any, pods: tuple[Pod, ...] = (), **kwargs: Any) -> Report:
    features = kwargs.pop("features", V0_17)
    it = kwargs.pop("of", None) or gang()
    return mirror(installed(features), it, GivenFacts(*objects, pods=pods, **kwargs))


def two(*conditions: Object, **fields: Any) -> tuple[Pod, ...]:
    return (
        pod("p-0", "web-0-main", *conditions, **fields),
        pod("p-1", "web-0-main", *conditions, **fields),
    )
