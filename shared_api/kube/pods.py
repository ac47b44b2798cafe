"""The projection of a Pod: the fields that a gang needs, in about a kilobyte.

The API server sends about twelve kilobytes for a pod. The projection keeps its identity, gates,
node and status. Containers, environments and volumes are never decoded. Parts that are equal in many
pods share memory, as in `metadata`.
"""

import msgspec
from msgspec.structs import force_setattr

from shared_api import names
from shared_api.kube.metadata import Metadata, shared

_ENDED = frozenset({"Failed", "Succeeded"})


class PodCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One condition, without the times that no controller reads."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Terminated(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""


class ContainerWaiting(msgspec.Struct, frozen=True, gc=False):
    """Why a container has not started."""

    reason: str = ""


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """At most one of the two; a running container has neither."""

    waiting: ContainerWaiting | None = None
    terminated: Terminated | None = None


_RUNNING = ContainerState()


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One container, as the kubelet reports it."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = _RUNNING
    last_state: ContainerState = _RUNNING
    image: str = ""


class SchedulingGate(msgspec.Struct, frozen=True, gc=False):
    """A scheduling gate of a pod."""

    name: str


class PodWorkloadReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The reference of a pod to its gang in Kubernetes 1.35."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str | None = None


class PodSchedulingGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The reference of a pod to its gang since Kubernetes 1.36."""

    pod_group_name: str = ""


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The node, the gates and the scheduler of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    workload_ref: PodWorkloadReference | None = None
    scheduling_group: PodSchedulingGroup | None = None


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The phase, conditions and containers of a pod."""

    phase: str = ""
    reason: str = ""
    conditions: tuple[PodCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, gc=False):
    """The fields of a pod that gangs need."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def share_memory(self) -> None:
        """Replace parts by equal ones of other pods; call this before anything reads the pod."""
        self.metadata.share_memory()
        force_setattr(self, "spec", shared(self.spec))
        force_setattr(self, "status", shared(self.status))

    def condition(self, kind: str) -> PodCondition | None:
        """The condition of this type, if the pod has one."""
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None

    @property
    def is_ready(self) -> bool:
        """Tell whether the pod is Ready."""
        ready = self.condition("Ready")
        return ready is not None and ready.status == "True"

    @property
    def has_ended(self) -> bool:
        """Tell whether all containers ended and none will be restarted."""
        return self.status.phase in _ENDED

    @property
    def has_succeeded(self) -> bool:
        """Tell whether all containers ended with exit code 0."""
        return self.status.phase == "Succeeded"

    @property
    def has_failed(self) -> bool:
        """Tell whether the pod ended for good and a container failed, or the node gave it up."""
        return self.status.phase == "Failed"

    @property
    def is_live(self) -> bool:
        """Tell whether the pod has not ended and is not being deleted."""
        return not self.metadata.is_terminating and not self.has_ended

    @property
    def is_bound(self) -> bool:
        """Tell whether the pod is bound to a node."""
        return self.spec.node_name != ""

    @property
    def is_gated(self) -> bool:
        """Tell whether any scheduling gate keeps the pod from being scheduled."""
        return bool(self.spec.scheduling_gates)

    @property
    def has_our_gate(self) -> bool:
        """Tell whether the gate that core created the pod with is still there.

        The annotation names that gate. On a pod without the annotation every gate counts.
        """
        created_with = self.metadata.annotations.get(names.ANNOTATION_PREPARATION, "")
        gate, separator, _ = created_with.rpartition(":")
        if not separator:
            return self.is_gated
        return any(found.name == gate for found in self.spec.scheduling_gates)

    @property
    def index(self) -> int | None:
        """The index in the PodClique; None if the label is absent or malformed."""
        label = self.metadata.labels.get(names.LABEL_POD_INDEX, "")
        return int(label) if label.isdecimal() and label.isascii() else None

    def is_member(self, minimum: int) -> bool:
        """Tell whether a gang with this minimum requires the pod: its index is below it."""
        index = self.index
        return index is not None and index < minimum
