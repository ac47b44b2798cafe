"""Gangs, pods and facts as Koordinator's pure functions get them, and schemas of its CRDs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from backend_controllers.contract.declaration import Served
from backend_controllers.koordinator.api import (
    DEVICES,
    GATE,
    KEY_POD_GROUP,
    PODGROUPS,
    QUOTAS,
    RESERVATIONS,
    TOPOLOGIES,
    KoordinatorTopology,
)
from backend_controllers.koordinator.installation import (
    KoordinatorFeatures,
    KoordinatorInstallation,
    KoordinatorOptions,
)
from backend_controllers.koordinator.membership import gang_groups, pod_group_name
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod, PodCondition, PodSpec, PodStatus, SchedulingGate
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched

Object = dict[str, Any]

NAMESPACE = "team-a"
UID = "0b6c1d9e-5f7a-4c7e-9d64-0c2a7d0f5a11"
RACK, ZONE = "example.com/rack", "topology.kubernetes.io/zone"


def installed(
    features: KoordinatorFeatures | None = None, **options: Any
) -> KoordinatorInstallation:
    return KoordinatorInstallation(features or KoordinatorFeatures(), KoordinatorOptions(**options))


def pack(required: str | None = None, preferred: str | None = None) -> Object:
    levels = {"required": required, "preferred": preferred}
    return {"packConstraint": {key: value for key, value in levels.items() if value}}


def gang(
    groups: Mapping[str, int] | None = None,
    *,
    pods: int | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    uid: str = UID,
    **spec: Any,
) -> ObservedPodGang:
    """A gang of groups with their minimums; each refers to `pods` pods, or to its minimum."""
    listed = [
        {
            "name": group,
            "minReplicas": minimum,
            "podReferences": [
                {"namespace": NAMESPACE, "name": f"{group}-{index}"}
                for index in range(minimum if pods is None else pods)
            ],
        }
        for group, minimum in (groups or {"w-0-a": 2, "w-0-b": 1}).items()
    ]
    metadata = {"name": "w-0", "namespace": NAMESPACE, "uid": uid, "generation": 1}
    metadata |= {"annotations": dict(annotations or {}), "labels": dict(labels or {})}
    body = {"metadata": metadata, "spec": {"podgroups": listed, **spec}}
    return msgspec.convert(body, ObservedPodGang)


def pod(
    of: ObservedPodGang,
    group: str,
    index: int = 0,
    *,
    gated: bool = False,
    node: str = "",
    told: PodCondition | None = None,
    labels: Mapping[str, str] | None = None,
) -> Pod:
    """A pod of a group, as it is made."""
    minimum = next(found.min_replicas for found in of.spec.podgroups if found.name == group)
    joined = {KEY_POD_GROUP: pod_group_name(of, group)} if index < minimum else {}
    metadata = Metadata(
        name=f"{group}-{index}",
        namespace=NAMESPACE,
        labels={
            names.LABEL_PODCLIQUE: group,
            names.LABEL_POD_INDEX: str(index),
            **joined,
            **(labels or {}),
        },
    )
    gates = (SchedulingGate(GATE),) if gated else ()
    return Pod(
        metadata,
        PodSpec(node, "koord-scheduler", gates),
        PodStatus(phase="Running" if node else "Pending", conditions=(told,) if told else ()),
    )


def members(of: ObservedPodGang, **state: Any) -> tuple[Pod, ...]:
    """All members of a gang, in the same state."""
    return tuple(
        pod(of, group.name, index, **state)
        for group in gang_groups(of)
        for index in range(group.min_replicas)
    )


def unschedulable(message: str, reason: str = "Unschedulable") -> PodCondition:
    return PodCondition("PodScheduled", "False", reason, message)


@dataclass
class Known:
    """Facts that a test makes up."""

    pods: tuple[Pod, ...] = ()
    leaving: tuple[Pod, ...] = ()
    objects: dict[Resource, tuple[Watched, ...]] = field(default_factory=dict)

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        return self.objects.get(resource, ())

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        found = (value for value in self.owned(resource) if value.metadata.name == name)
        return next(found, None)

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        return self.owned(resource)


def written(of: ObservedPodGang) -> dict[Resource, tuple[Watched, ...]]:
    """The PodGroups of a gang, as Koordinator knows them."""
    found = (
        PartialObject(metadata=Metadata(name=pod_group_name(of, group.name), namespace=NAMESPACE))
        for group in gang_groups(of)
    )
    return {PODGROUPS: tuple(found)}


def network(
    *, is_read: bool = True, **layers: str | Sequence[str]
) -> dict[Resource, tuple[Watched, ...]]:
    """A network whose layers have these node labels."""
    listed = [
        {"topologyLayer": layer, "labelKey": [keys] if isinstance(keys, str) else list(keys)}
        for layer, keys in layers.items()
    ]
    body = {
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": [*listed, {"topologyLayer": "NodeTopologyLayer"}]},
        "status": {"detailStatus": [{"nodeNum": 1}] if is_read else []},
    }
    return {TOPOLOGIES: (msgspec.convert(body, KoordinatorTopology),)}


def quotas(*known: str) -> dict[Resource, tuple[Watched, ...]]:
    return {
        QUOTAS: tuple(PartialObject(metadata=Metadata(name=name, namespace="q")) for name in known)
    }


def _schema(*path: str) -> Object:
    node: Object = {"type": "string"}
    for name in reversed(path):
        node = {"type": "object", "properties": {name: node}}
    return node


def served(
    *without: Resource, fields: Sequence[str] = ("minMember", "scheduleTimeoutSeconds")
) -> Served:
    """A cluster with Koordinator v1.8, without some kinds, or with fewer fields."""
    spec = {"type": "object", "properties": {name: {"type": "integer"} for name in fields}}
    schemas: dict[Resource, Object] = {
        PODGROUPS: {"type": "object", "properties": {"spec": spec}},
        TOPOLOGIES: _schema("spec", "networkTopologySpec", "labelKey"),
        QUOTAS: {},
        RESERVATIONS: {},
        DEVICES: {},
    }
    found = {_key(kind): schema for kind, schema in schemas.items() if kind not in without}
    return Served(frozenset(found), found)


def _key(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural


def names_of(of: ObservedPodGang) -> Iterator[str]:
    for group in gang_groups(of):
        yield pod_group_name(of, group.name)
