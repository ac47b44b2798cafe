"""The kinds of `scheduling.k8s.io` by version, and their projections.

A projection has only what `translate` and `mirror` read. Fields that the server sends as explicit
nulls are optional here: null and absent mean the same.
"""

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

GROUP = "scheduling.k8s.io"
PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""The server sets it on every PodGroup; it blocks deletion while a pod names the PodGroup."""

WORKLOADS_V1ALPHA1 = Resource(GROUP, "v1alpha1", "workloads", "Workload")
WORKLOADS_V1ALPHA2 = Resource(GROUP, "v1alpha2", "workloads", "Workload")
POD_GROUPS_V1ALPHA2 = Resource(GROUP, "v1alpha2", "podgroups", "PodGroup")
WORKLOADS_V1BETA1 = Resource(GROUP, "v1beta1", "workloads", "Workload")
POD_GROUPS_V1BETA1 = Resource(GROUP, "v1beta1", "podgroups", "PodGroup")
COMPOSITE_POD_GROUPS = Resource(GROUP, "v1alpha3", "compositepodgroups", "CompositePodGroup")


class GangPolicy(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The minimum that is scheduled at once, or not at all."""

    min_count: int = 0


class Policy(msgspec.Struct, frozen=True, gc=False):
    """How the pods of a group are scheduled; without `gang`, one by one."""

    gang: GangPolicy | None = None


class GroupSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a PodGroup."""

    scheduling_policy: Policy = Policy()


class GroupCondition(msgspec.Struct, frozen=True, gc=False):
    """The result of the scheduler's last attempt."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class GroupStatus(msgspec.Struct, frozen=True, gc=False):
    """The status of a PodGroup."""

    conditions: tuple[GroupCondition, ...] | None = None


class WorkloadPodGroup(msgspec.Struct, frozen=True, gc=False):
    """A PodGroup, of any version."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: GroupSpec = GroupSpec()
    status: GroupStatus = GroupStatus()

    @property
    def min_count(self) -> int:
        """The minimum that is scheduled at once; 0 if it is no gang."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else 0

    @property
    def conditions(self) -> tuple[GroupCondition, ...]:
        """The conditions that the scheduler wrote."""
        return self.status.conditions or ()


class EmbeddedGroup(msgspec.Struct, frozen=True, gc=False):
    """A group inside a Workload of 1.35."""

    policy: Policy = Policy()


class WorkloadSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a Workload; empty after 1.35."""

    pod_groups: tuple[EmbeddedGroup, ...] | None = None


class Workload(msgspec.Struct, frozen=True, gc=False):
    """A Workload, of any version."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: WorkloadSpec = WorkloadSpec()

    @property
    def min_count(self) -> int:
        """The minimum of its first group; 0 if it has none."""
        counts = [
            group.policy.gang.min_count for group in self.spec.pod_groups or () if group.policy.gang
        ]
        return counts[0] if counts else 0


class CompositePodGroup(msgspec.Struct, frozen=True, gc=False):
    """A CompositePodGroup. Nothing that the scheduler writes to it is used."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
