"""The kinds of `scheduling.k8s.io` that are written, by version, and what is read of them.

A projection has only what `translate` and `mirror` look at. Fields that the server sends as
explicit nulls are optional here, since null and absent mean the same.
"""

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

GROUP = "scheduling.k8s.io"
PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""Put on every PodGroup by the server; holds its deletion while a pod names it."""

WORKLOADS_V1ALPHA1 = Resource(GROUP, "v1alpha1", "workloads", "Workload")
WORKLOADS_V1ALPHA2 = Resource(GROUP, "v1alpha2", "workloads", "Workload")
POD_GROUPS_V1ALPHA2 = Resource(GROUP, "v1alpha2", "podgroups", "PodGroup")
WORKLOADS_V1BETA1 = Resource(GROUP, "v1beta1", "workloads", "Workload")
POD_GROUPS_V1BETA1 = Resource(GROUP, "v1beta1", "podgroups", "PodGroup")
COMPOSITE_POD_GROUPS = Resource(GROUP, "v1alpha3", "compositepodgroups", "CompositePodGroup")


class GangPolicy(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """So many pods at once, or none."""

    min_count: int = 0


class Policy(msgspec.Struct, frozen=True, gc=False):
    """How the pods of a group are scheduled; without `gang`, each by itself."""

    gang: GangPolicy | None = None


class GroupSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is read of a PodGroup's spec."""

    scheduling_policy: Policy = Policy()


class GroupCondition(msgspec.Struct, frozen=True, gc=False):
    """What the scheduler says about its last attempt."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class GroupStatus(msgspec.Struct, frozen=True, gc=False):
    """What is read of a PodGroup's status."""

    conditions: tuple[GroupCondition, ...] | None = None


class PodGroup(msgspec.Struct, frozen=True, gc=False):
    """A PodGroup, of any version."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: GroupSpec = GroupSpec()
    status: GroupStatus = GroupStatus()

    @property
    def min_count(self) -> int:
        """How many pods it asks for at once; 0 if it is no gang."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else 0

    @property
    def conditions(self) -> tuple[GroupCondition, ...]:
        """The conditions that the scheduler has written."""
        return self.status.conditions or ()


class EmbeddedGroup(msgspec.Struct, frozen=True, gc=False):
    """A group inside a Workload, as 1.35 has it."""

    policy: Policy = Policy()


class WorkloadSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is read of a Workload's spec: nothing after 1.35."""

    pod_groups: tuple[EmbeddedGroup, ...] | None = None


class Workload(msgspec.Struct, frozen=True, gc=False):
    """A Workload, of any version."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: WorkloadSpec = WorkloadSpec()

    @property
    def min_count(self) -> int:
        """How many pods its first group asks for at once; 0 if it has none."""
        counts = [
            group.policy.gang.min_count for group in self.spec.pod_groups or () if group.policy.gang
        ]
        return counts[0] if counts else 0


class CompositePodGroup(msgspec.Struct, frozen=True, gc=False):
    """A CompositePodGroup; the scheduler writes nothing to it that is worth reading."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
