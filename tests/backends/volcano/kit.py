"""Gangs, pods and facts as Volcano's pure functions get them, and schemas of its releases."""

from collections.abc import Mapping
from typing import Any

import msgspec

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import Served
from backend_controllers.volcano.api import (
    HYPERNODES,
    PODGROUPS,
    QUEUES,
    ObservedHyperNode,
    VolcanoClique,
    VolcanoPodGroup,
    VolcanoQueue,
)
from backend_controllers.volcano.installation import (
    VolcanoFeatures,
    VolcanoInstallation,
    VolcanoOptions,
)
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched

Object = dict[str, Any]

NAMESPACE = "team-a"
GANG = "web-0"
ZONE, BLOCK, RACK = "topology.kubernetes.io/zone", "example.com/block", "example.com/rack"

V1_14 = VolcanoFeatures()
V1_12 = VolcanoFeatures(sub_groups=False, nested=False)
V1_10 = VolcanoFeatures(sub_groups=False, nested=False, topology=False)
V1_0 = VolcanoFeatures(sub_groups=False, nested=False, topology=False, tasks=False)


def installed(features: VolcanoFeatures = V1_14, **options: Any) -> VolcanoInstallation:
    return VolcanoInstallation(features, VolcanoOptions(**options))


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
    return msgspec.convert(
        {
            "metadata": {"name": GANG, "namespace": NAMESPACE, "uid": "u-1", **(metadata or {})},
            "spec": {"podgroups": list(groups) or [group("web-0-main", 2)], **spec},
        },
        ObservedPodGang,
    )


class GivenFacts:
    """Facts that a test states; there is an open queue `default` unless it says otherwise."""

    leaving: tuple[Pod, ...] = ()

    def __init__(
        self, *objects: tuple[Resource, Watched], pods: tuple[Pod, ...] = (), queues: bool = True
    ) -> None:
        self.pods = pods
        given = [*objects, queue("root"), queue("default")] if queues else list(objects)
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


def queue(name: str, state: str = "Open") -> tuple[Resource, Watched]:
    body = {"metadata": {"name": name}, "status": {"state": state} if state else {}}
    return QUEUES, msgspec.convert(body, VolcanoQueue)


def hyper_node(
    name: str, tier: int, tier_name: str = "", *, by: str = "", labels: Mapping[str, str] = {}
) -> tuple[Resource, Watched]:
    """A HyperNode, named by its tier, selecting its nodes by a label, or labelled itself."""
    selector = {"labelMatch": {"matchLabels": {by: "x"}}} if by else {"exactMatch": {"name": "n"}}
    body = {
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "tier": tier,
            "tierName": tier_name,
            "members": [{"type": "Node", "selector": selector}],
        },
    }
    return HYPERNODES, msgspec.convert(body, ObservedHyperNode)


def clique(name: str, **requests: str) -> tuple[Resource, Watched]:
    """A PodClique whose pods ask for this."""
    body = {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {names.LABEL_PODGANG: GANG}},
        "spec": {"podSpec": {"containers": [{"name": "m", "resources": {"requests": requests}}]}},
    }
    return CLIQUES, msgspec.convert(body, VolcanoClique)


def network() -> tuple[tuple[Resource, Watched], ...]:
    """Racks in blocks in a zone."""
    return (
        hyper_node("r1", 1, RACK),
        hyper_node("r2", 1, RACK),
        hyper_node("b1", 2, BLOCK),
        hyper_node("z1", 3, ZONE),
    )


def named(resource: Resource, name: str) -> tuple[Resource, Watched]:
    return resource, PartialObject(Metadata(name=name))


def pod_group(
    *conditions: Object, phase: str = "Inqueue", minimum: Mapping[str, str] | None = None
) -> tuple[Resource, Watched]:
    body = {
        "spec": {"minResources": dict(minimum or {})},
        "metadata": {"name": GANG, "namespace": NAMESPACE},
        "status": {"phase": phase, "conditions": list(conditions)},
    }
    return PODGROUPS, msgspec.convert(body, VolcanoPodGroup)


def told(kind: str, message: str = "", at: str = "2026-11-16T08:00:00Z") -> Object:
    """A condition of a PodGroup; Volcano never writes one that is not True."""
    reason = "NotEnoughResources" if message else "tasks in gang are ready to be scheduled"
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
        "transitionID": "5b1e",
    }


def pod(name: str, *conditions: Object, of: str = "web-0-main", **fields: Any) -> Pod:
    """A released pod of the gang; `node` and `gates` may be given."""
    body = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {names.LABEL_PODCLIQUE: of},
        },
        "spec": {
            "nodeName": fields.get("node", ""),
            "schedulingGates": [{"name": gate} for gate in fields.get("gates", ())],
        },
        "status": {"phase": "Pending", "conditions": list(conditions)},
    }
    return msgspec.convert(body, Pod)


def not_scheduled(message: str, reason: str = "Unschedulable") -> Object:
    return {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}


def served(spec: Object, *kinds: Resource) -> Served:
    """What a cluster answers whose PodGroup CRD has these fields."""
    schema: Object = {"properties": {"spec": {"type": "object", "properties": spec}}}
    return Served(
        resources=frozenset((kind.group, kind.version, kind.plural) for kind in kinds),
        schemas={(PODGROUPS.group, PODGROUPS.version, PODGROUPS.plural): schema},
    )


_NUMBER, _TEXT = {"type": "integer"}, {"type": "string"}
_TOPOLOGY = {"type": "object", "properties": {"mode": _TEXT, "highestTierAllowed": _NUMBER}}
_SPEC = {
    "minMember": _NUMBER,
    "minResources": {"type": "object"},
    "queue": _TEXT,
    "priorityClassName": _TEXT,
}
_TASKS = {**_SPEC, "minTaskMember": {"type": "object"}}
_POLICY = {
    "name": _TEXT,
    "labelSelector": {"type": "object"},
    "matchLabelKeys": {"type": "array", "items": _TEXT},
    "subGroupSize": _NUMBER,
    "minSubGroups": _NUMBER,
    "networkTopology": _TOPOLOGY,
}
_POLICIES = {"type": "array", "items": {"type": "object", "properties": _POLICY}}

SERVED = {
    "1.0": served(_SPEC, PODGROUPS, QUEUES),
    "1.10": served(_TASKS, PODGROUPS, QUEUES),
    "1.12": served({**_TASKS, "networkTopology": _TOPOLOGY}, PODGROUPS, QUEUES, HYPERNODES),
    "1.14": served(
        {**_TASKS, "networkTopology": _TOPOLOGY, "subGroupPolicy": _POLICIES},
        PODGROUPS,
        QUEUES,
        HYPERNODES,
    ),
}
