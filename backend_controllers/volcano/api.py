"""Volcano's kinds, label and annotation keys, and projections of its objects.

It has only what this package uses. A PodGroup has no status subresource: Volcano updates the whole
object at the end of every cycle that changed something, so its generation is not usable. Fields
that Volcano writes are in projections and never in a manifest.
"""

from collections.abc import Mapping

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.kube.pod_resources import PodResources
from shared_api.kube.resources import Resource

PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
HYPERNODES = Resource(
    "topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", namespaced=False
)

BACKEND_NAME = "volcano"
SCHEDULER_NAME = "volcano"

# Users set these on a PodCliqueSet or on its cliques. The second is Grove's own.
KEY_QUEUE = "scheduling.volcano.sh/queue-name"
KEY_QUEUE_OF_GROVE = "scheduling.grove.io/volcano-queue"

# Set on pods. Volcano's scheduler reads only the first key, its other programs the second.
KEY_GROUP_NAME = "scheduling.k8s.io/group-name"
KEY_VOLCANO_GROUP_NAME = "scheduling.volcano.sh/group-name"
KEY_TASK = "volcano.sh/task-spec"

UNSCHEDULABLE = "Unschedulable"
"""A condition of PodGroups, and a reason of PodScheduled."""
SCHEDULED = "Scheduled"
"""The other condition of PodGroups."""
SCHEDULABLE = "Schedulable"
"""The reason of pods that fit, once the whole gang fits."""


class VolcanoCondition(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a cycle. Both types stay True forever once they were."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class _PodGroupSpec(msgspec.Struct, frozen=True, rename="camel"):
    min_resources: Mapping[str, str | int | float] = {}


class _PodGroupStatus(msgspec.Struct, frozen=True):
    phase: str = ""
    conditions: tuple[VolcanoCondition, ...] = ()


class VolcanoPodGroup(msgspec.Struct, frozen=True):
    """The fields of a PodGroup that are reported."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _PodGroupSpec = _PodGroupSpec()
    status: _PodGroupStatus = _PodGroupStatus()


class _QueueStatus(msgspec.Struct, frozen=True):
    state: str = ""


class VolcanoQueue(msgspec.Struct, frozen=True):
    """A queue and whether it is open. Its usage is not read: it changes all the time."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: _QueueStatus = _QueueStatus()


class _LabelMatch(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: Mapping[str, str] = {}


class _MemberSelector(msgspec.Struct, frozen=True, rename="camel"):
    label_match: _LabelMatch | None = None


class _Member(msgspec.Struct, frozen=True):
    type: str = ""
    selector: _MemberSelector = _MemberSelector()


class _HyperNodeSpec(msgspec.Struct, frozen=True, rename="camel"):
    tier: int = 0
    tier_name: str = ""
    members: tuple[_Member, ...] = ()


class ObservedHyperNode(msgspec.Struct, frozen=True):
    """A domain of the network. Its nodes are not read: Volcano updates them with every node."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _HyperNodeSpec = _HyperNodeSpec()

    def is_of(self, level: str) -> bool:
        """Tell whether this is a domain of a level, which is a node label key.

        Volcano's label discovery sets the tier's name to the key since v1.14, and always labels
        the HyperNode with it. HyperNodes of administrators may select their nodes by it.
        """
        if self.spec.tier_name:
            return self.spec.tier_name == level
        return level in self.metadata.labels or any(
            level in member.selector.label_match.match_labels
            for member in self.spec.members
            if member.selector.label_match is not None
        )


class _CliqueSpec(msgspec.Struct, frozen=True, rename="camel"):
    pod_spec: PodResources = PodResources()


class VolcanoClique(msgspec.Struct, frozen=True):
    """A PodClique: the requests of its pods."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _CliqueSpec = _CliqueSpec()
