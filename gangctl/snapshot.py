"""The objects of a cluster at one moment, as values, with the lookups that reports need.

It owns the projections and the indexes. It must not read from a server. A list that the user may
not read is empty, and `unread` names it with the reason: reports write "unknown", never zero.
"""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from shared_api import names
from shared_api.capacity.nodes import ListedNode, PlannedPod
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import Metadata
from shared_api.kube.pods import PodStatus
from shared_api.kube.resources import Resource


def _ours(plural: str, kind: str, *, namespaced: bool = True) -> Resource:
    return Resource(names.GROVE_GROUP, names.VERSION, plural, kind, namespaced)


SETS = _ours("podcliquesets", "PodCliqueSet")
CLIQUES = _ours("podcliques", "PodClique")
GROUPS = _ours("podcliquescalinggroups", "PodCliqueScalingGroup")
BACKENDS = _ours("schedulerbackends", "SchedulerBackend", namespaced=False)
BINDINGS = _ours("clustertopologybindings", "ClusterTopologyBinding", namespaced=False)
GANGS = Resource(names.SCHEDULER_GROUP, names.VERSION, "podgangs", "PodGang")


class ListedPod(msgspec.Struct, frozen=True):
    """A pod of the cluster."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PlannedPod = PlannedPod()
    status: PodStatus = PodStatus()

    @property
    def uses_capacity(self) -> bool:
        """Return whether the pod uses capacity, or will."""
        return self.status.phase not in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        """Return whether the pod serves."""
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)

    @property
    def state(self) -> str:
        """Return the state in one word, as `kubectl get pods` shows it."""
        if self.metadata.deletion_timestamp:
            return "Terminating"
        if self.spec.scheduling_gates:
            return "Gated"
        statuses = (*self.status.init_container_statuses, *self.status.container_statuses)
        for found in statuses:
            if found.state.waiting and found.state.waiting.reason not in _STARTING:
                return found.state.waiting.reason
        if self.spec.node_name and self.status.phase == "Running":
            return "Ready" if self.is_ready else "NotReady"
        return self.status.phase or "Pending"


_STARTING = frozenset({"", "PodInitializing", "ContainerCreating"})


class ListedLeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Who holds a Lease, and until when."""

    holder_identity: str = ""
    renew_time: str = ""
    lease_duration_seconds: int = 0


class ListedLease(msgspec.Struct, frozen=True):
    """A Lease of a backend."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ListedLeaseSpec = ListedLeaseSpec()


class _Image(msgspec.Struct, frozen=True):
    image: str = ""


class _Images(msgspec.Struct, frozen=True):
    containers: tuple[_Image, ...] = ()


class _PodTemplate(msgspec.Struct, frozen=True):
    spec: _Images = _Images()


class _DeploymentSpec(msgspec.Struct, frozen=True):
    replicas: int = 1
    template: _PodTemplate = _PodTemplate()


class DeploymentStatus(msgspec.Struct, frozen=True, rename="camel"):
    """How many pods of a Deployment serve."""

    available_replicas: int = 0


class ListedDeployment(msgspec.Struct, frozen=True):
    """A Deployment of a controller or a scheduler."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _DeploymentSpec = _DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def images(self) -> tuple[str, ...]:
        """Return the images of its containers."""
        return tuple(container.image for container in self.spec.template.spec.containers)


class SchedulerObject(msgspec.Struct, frozen=True):
    """An object of a scheduler that belongs to a gang."""

    kind: str
    name: str
    owners: tuple[str, ...]
    """UIDs of its owners."""
    state: str = ""


@dataclass(frozen=True)
class Snapshot:
    """Everything that one command reads."""

    now: datetime
    sets: Sequence[LooseObject] = ()
    cliques: Sequence[LooseObject] = ()
    groups: Sequence[LooseObject] = ()
    gangs: Sequence[LooseObject] = ()
    backends: Sequence[LooseObject] = ()
    bindings: Sequence[LooseObject] = ()
    pods: Sequence[ListedPod] = ()
    nodes: Sequence[ListedNode] = ()
    leases: Sequence[ListedLease] = ()
    scheduler_objects: Sequence[SchedulerObject] = ()
    deployments: Sequence[ListedDeployment] = ()
    hpas: Sequence[LooseObject] = ()
    server_version: str = ""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kinds that were not read in full, by plural, each with the reason."""
    unserved: frozenset[str] = frozenset()
    """Those of them that the cluster does not serve."""

    def may_not_list(self, resource: Resource) -> bool:
        """Return whether the user lacks the right to list a kind in full."""
        return resource.plural in self.unread and resource.plural not in self.unserved

    @functools.cached_property
    def pods_of_gang(self) -> Mapping[tuple[str, str], list[ListedPod]]:
        """Pods by namespace and name of their gang, sorted by name."""
        return _by_label(self.pods, names.LABEL_PODGANG)

    @functools.cached_property
    def pods_of_set(self) -> Mapping[tuple[str, str], list[ListedPod]]:
        """Pods by namespace and name of their set, sorted by name."""
        grove = [pod for pod in self.pods if names.LABEL_PODGANG in pod.metadata.labels]
        return _by_label(grove, names.LABEL_PART_OF)

    @functools.cached_property
    def gangs_of_set(self) -> Mapping[tuple[str, str], list[LooseObject]]:
        """Gangs by namespace and name of their set, sorted by name."""
        return _by_label(self.gangs, names.LABEL_PART_OF)

    @functools.cached_property
    def clique_by_name(self) -> Mapping[tuple[str, str], LooseObject]:
        """PodCliques by namespace and name."""
        return {(c.metadata.namespace, c.metadata.name): c for c in self.cliques}

    @functools.cached_property
    def autoscalers(self) -> Mapping[tuple[str, str, str], str]:
        """HorizontalPodAutoscalers by namespace, kind and name of their target."""
        found = {}
        for item in self.hpas:
            target = item.spec.get("scaleTargetRef") or {}
            key = item.metadata.namespace, target.get("kind", ""), target.get("name", "")
            found[key] = item.metadata.name
        return found

    @property
    def capacity_is_known(self) -> bool:
        """Return whether nodes and the pods of all namespaces were read."""
        return not {"nodes", "pods"} & self.unread.keys()


def _by_label(items: Sequence[Any], label: str) -> Mapping[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.metadata.name):
        if label in item.metadata.labels:
            found[item.metadata.namespace, item.metadata.labels[label]].append(item)
    return found


def condition(item: LooseObject, kind: str) -> Mapping[str, str]:
    """Return the condition of this type; empty if there is none."""
    found = item.status.get("conditions") or ()
    return next((entry for entry in found if entry.get("type") == kind), {})


def template_of(pod_spec: Mapping[str, Any]) -> PlannedPod:
    """Return a clique's pod spec, as far as it decides where a pod fits."""
    return msgspec.convert(pod_spec, PlannedPod, strict=False)
