"""KAI's kinds, label and annotation keys, and projections of its objects.

It has only what this package uses. Fields that KAI writes at run time (conditions and timestamps
of the PodGroup) are in projections and never in a manifest.
"""

import re
from collections.abc import Mapping

import msgspec

from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

PODGROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
BINDINGS = Resource(
    names.GROVE_GROUP,
    names.VERSION,
    "clustertopologybindings",
    "ClusterTopologyBinding",
    namespaced=False,
)

BACKEND_NAME = "kai"
SCHEDULER_NAME = "kai-scheduler"

# Users set these on a PodCliqueSet or on its cliques.
KEY_QUEUE = "kai.scheduler/queue"
KEY_PRIORITY_CLASS = "priorityClassName"
KEY_PREEMPTIBILITY = "kai.scheduler/preemptibility"
KEY_PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
KEY_STALENESS = "kai.scheduler/staleness-grace-period"
KEY_NODE_POOL = "kai.scheduler/node-pool"
KEY_TOPOLOGY = "kai.scheduler/topology"
KEYS_OF_KAI = "kai.scheduler/"

# Set on pods.
KEY_POD_GROUP = "pod-group-name"
KEY_SUBGROUP = "kai.scheduler/subgroup-name"
KEY_SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"

# KAI sets these on a PodGroup, and on the event of an eviction.
KEY_LAST_START = "kai.scheduler/last-start-timestamp"
KEY_EVICTED_PODS = "num-evicted-pods"
KEY_EVICTOR_ACTION = "evictor-action-type"
KEY_EVICTOR_NAME = "evictor-pod-group-name"
KEY_EVICTOR_NAMESPACE = "evictor-pod-group-namespace"

HOSTNAME = "kubernetes.io/hostname"

_POD_GROUP_NAME = re.compile(r"pg-(?P<gang>.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def pod_group_name(gang: str, uid: str) -> str:
    """Return the name of a gang's PodGroup.

    It needs the UID: KAI up to v0.17.1 identifies PodGroups by name alone, and merges those of
    the same name across namespaces.
    """
    return f"pg-{gang}-{uid}"


def gang_of(pod_group: str) -> str | None:
    """Return the gang that a PodGroup of this name belongs to; None if the name is not ours."""
    match = _POD_GROUP_NAME.fullmatch(pod_group)
    return match["gang"] if match else None


class QueueDetails(msgspec.Struct, frozen=True, rename="camel"):
    """A queue at the time when it had no capacity left."""

    name: str = ""
    queue_deserved_resources: Mapping[str, str | int | float] = {}
    queue_resource_limits: Mapping[str, str | int | float] = {}
    queue_allocated_resources: Mapping[str, str | int | float] = {}
    queue_allocated_non_preemptible_resources: Mapping[str, str | int | float] = {}
    pod_group_requested_resources: Mapping[str, str | int | float] = {}
    pod_group_requested_non_preemptible_resources: Mapping[str, str | int | float] = {}


class ReasonDetails(msgspec.Struct, frozen=True, rename="camel"):
    """Details that some reasons have."""

    queue_details: QueueDetails | None = None


class Explanation(msgspec.Struct, frozen=True):
    """One reason why a PodGroup was not scheduled."""

    reason: str = ""
    message: str = ""
    details: ReasonDetails | None = None


class SchedulingCondition(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a scheduling cycle that did not schedule the PodGroup."""

    status: str = ""
    message: str = ""
    reasons: tuple[Explanation, ...] = ()
    transition_id: str = msgspec.field(default="", name="transitionID")
    last_transition_time: str = ""


class _PodGroupSpec(msgspec.Struct, frozen=True, rename="camel"):
    min_member: int | None = None


class _PodGroupStatus(msgspec.Struct, frozen=True, rename="camel"):
    scheduling_conditions: tuple[SchedulingCondition, ...] = ()


class KaiPodGroup(msgspec.Struct, frozen=True):
    """The fields of a PodGroup that KAI and its podgrouper write."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _PodGroupSpec = _PodGroupSpec()
    status: _PodGroupStatus = _PodGroupStatus()


class _QueueSpec(msgspec.Struct, frozen=True, rename="camel"):
    parent_queue: str = ""


class KaiQueue(msgspec.Struct, frozen=True):
    """A queue and its parent. KAI reports its usage itself."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _QueueSpec = _QueueSpec()


class _Level(msgspec.Struct, frozen=True, rename="camel"):
    node_label: str = ""


class _TopologySpec(msgspec.Struct, frozen=True):
    levels: tuple[_Level, ...] = ()


class KaiTopology(msgspec.Struct, frozen=True):
    """KAI's Topology."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _TopologySpec = _TopologySpec()

    @property
    def levels(self) -> tuple[str, ...]:
        """Node label keys, from the broadest level to the narrowest."""
        return tuple(level.node_label for level in self.spec.levels)
