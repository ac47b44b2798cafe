"""The projection of a Pod: what a gang needs to know, in about a kilobyte.

A pod of twelve kilobytes on the wire becomes its identity, its gates, where it runs and
how it fares. Templates, environments and volumes are never decoded. What recurs over pods is
shared, as in `metadata`.
"""

import msgspec
from msgspec.structs import force_setattr

from shared_api.kube.metadata import Metadata, share


class PodCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One condition, without the times that only a person reads."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Terminated(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """Why a container has not started."""

    reason: str = ""


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """At most one of the two; a running container has neither."""

    waiting: Waiting | None = None
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


class SchedulingGate(msgspec.Struct, frozen=True, gc=False):
    """What keeps the scheduler away from a pod."""

    name: str


class WorkloadReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The gang of a pod, as Kubernetes 1.35 has it."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class SchedulingGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The gang of a pod, as Kubernetes has it from 1.36 on."""

    pod_group_name: str = ""


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where a pod is to run, and with whom."""

    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    workload_ref: WorkloadReference | None = None
    scheduling_group: SchedulingGroup | None = None


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a pod fares."""

    phase: str = ""
    reason: str = ""
    conditions: tuple[PodCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod, as far as gangs are concerned."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def share_with(self, held: "Pod | None") -> None:
        """Keep once what pods have in common, before anybody else sees this one."""
        if held is None:
            self.metadata.share_with(None)
            force_setattr(self, "spec", share(self.spec))
            force_setattr(self, "status", share(self.status))
            return
        self.metadata.share_with(held.metadata)
        same_spec, same_status = self.spec == held.spec, self.status == held.status
        force_setattr(self, "spec", held.spec if same_spec else share(self.spec))
        force_setattr(self, "status", held.status if same_status else share(self.status))

    def condition(self, kind: str) -> PodCondition | None:
        """The condition of this type, if the pod has one."""
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None

    @property
    def is_ready(self) -> bool:
        """Tell whether the pod serves."""
        ready = self.condition("Ready")
        return ready is not None and ready.status == "True"

    @property
    def is_gated(self) -> bool:
        """Tell whether any gate keeps the pod from being scheduled."""
        return bool(self.spec.scheduling_gates)
