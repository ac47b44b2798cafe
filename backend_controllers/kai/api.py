"""KAI's kinds, keys and words, and the few fields that are read of its objects.

Only what this package uses. Fields that KAI writes at run time (its conditions and its
timestamps on the PodGroup) appear in projections and never in a manifest.
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
# The old group: KAI records its events there, and only there can they be selected by kind.
EVENTS = Resource("", "v1", "events", "Event")

BACKEND_NAME = "kai"
SCHEDULER_NAME = "kai-scheduler"

# What users put on a PodCliqueSet; its gangs inherit it.
KEY_QUEUE = "kai.scheduler/queue"
KEY_PREEMPTIBILITY = "kai.scheduler/preemptibility"
KEY_PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
KEY_STALENESS = "kai.scheduler/staleness-grace-period"
KEY_NODE_POOL = "kai.scheduler/node-pool"
KEY_TOPOLOGY = "kai.scheduler/topology"

# What pods carry.
KEY_POD_GROUP = "pod-group-name"
KEY_SUBGROUP = "kai.scheduler/subgroup-name"
KEY_SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"

# What KAI writes on a PodGroup, and on the event of an eviction.
KEY_LAST_START = "kai.scheduler/last-start-timestamp"
KEY_EVICTED_PODS = "num-evicted-pods"
KEY_EVICTOR_ACTION = "evictor-action-type"
KEY_EVICTOR_NAME = "evictor-pod-group-name"
KEY_EVICTOR_NAMESPACE = "evictor-pod-group-namespace"

HOSTNAME = "kubernetes.io/hostname"

_POD_GROUP_NAME = re.compile(r"pg-(?P<gang>.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def pod_group_name(gang: str, uid: str) -> str:
    """The name of a gang's PodGroup.

    KAI up to v0.17.1 keys PodGroups by name alone and merges those of the same name across
    namespaces, so the UID is no decoration.
    """
    return f"pg-{gang}-{uid}"


def gang_of(pod_group: str) -> str | None:
    """The gang that a PodGroup was made for, if its name says so."""
    match = _POD_GROUP_NAME.fullmatch(pod_group)
    return match["gang"] if match else None


class QueueDetails(msgspec.Struct, frozen=True, rename="camel"):
    """A queue at the time when it had no room."""

    name: str = ""
    queue_deserved_resources: Mapping[str, str | int | float] = {}
    queue_resource_limits: Mapping[str, str | int | float] = {}
    queue_allocated_resources: Mapping[str, str | int | float] = {}
    queue_allocated_non_preemptible_resources: Mapping[str, str | int | float] = {}
    pod_group_requested_resources: Mapping[str, str | int | float] = {}
    pod_group_requested_non_preemptible_resources: Mapping[str, str | int | float] = {}


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """What belongs to some of the reasons."""

    queue_details: QueueDetails | None = None


class Explanation(msgspec.Struct, frozen=True):
    """One reason why a PodGroup was not placed."""

    reason: str = ""
    message: str = ""
    details: Details | None = None


class SchedulingCondition(msgspec.Struct, frozen=True, rename="camel"):
    """The outcome of a scheduling cycle that placed nothing."""

    status: str = ""
    message: str = ""
    reasons: tuple[Explanation, ...] = ()
    transition_id: str = msgspec.field(default="", name="transitionID")
    last_transition_time: str = ""


class _PodGroupSpec(msgspec.Struct, frozen=True, rename="camel"):
    min_member: int | None = None


class _PodGroupStatus(msgspec.Struct, frozen=True, rename="camel"):
    scheduling_conditions: tuple[SchedulingCondition, ...] = ()


class ObservedPodGroup(msgspec.Struct, frozen=True):
    """A PodGroup, as far as KAI and its podgrouper write it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _PodGroupSpec = _PodGroupSpec()
    status: _PodGroupStatus = _PodGroupStatus()


class _QueueSpec(msgspec.Struct, frozen=True, rename="camel"):
    parent_queue: str = ""


class ObservedQueue(msgspec.Struct, frozen=True):
    """A queue and where it hangs; how full it is, KAI says itself."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _QueueSpec = _QueueSpec()


class _Level(msgspec.Struct, frozen=True, rename="camel"):
    node_label: str = ""


class _TopologySpec(msgspec.Struct, frozen=True):
    levels: tuple[_Level, ...] = ()


class ObservedTopology(msgspec.Struct, frozen=True):
    """KAI's Topology."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _TopologySpec = _TopologySpec()

    @property
    def levels(self) -> tuple[str, ...]:
        """Node label keys from the broadest level to the narrowest."""
        return tuple(level.node_label for level in self.spec.levels)


class Involved(msgspec.Struct, frozen=True):
    """What an event is about."""

    namespace: str = ""
    name: str = ""


class ObservedEvent(msgspec.Struct, frozen=True, rename="camel"):
    """The event of an eviction; its annotations say who took the room."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    involved_object: Involved = Involved()
    message: str = ""
    first_timestamp: str | None = None
    last_timestamp: str | None = None

    @property
    def at(self) -> str:
        """When it was last recorded."""
        return self.last_timestamp or self.first_timestamp or self.metadata.creation_timestamp
