"""The kinds that a remote backend reads and writes, as projections.

Pods are decoded with their containers here, unlike in other backends: what the pod's own spec
contains is what runs on the far side. Fields that are only checked, and never honoured, are read
from the PodClique's template in `unsupported`.
"""

from collections.abc import Mapping

import msgspec

from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.pod_resources import PodResources, Resources
from shared_api.kube.pods import ContainerStatus, PodCondition, SchedulingGate
from shared_api.kube.resources import Resource
from shared_api.models import RemoteGang, RemoteMemberState, RemotePhase

_GROUP, _VERSION = RemoteGang.API_VERSION.split("/")
REMOTE_GANGS = Resource(_GROUP, _VERSION, "remotegangs", RemoteGang.KIND)
FINALIZER = f"{names.GROVE_GROUP}/remote-gang"
"""Set on RemoteGangs, which are ours, and on no object of a user."""

Json = dict[str, object]


class FieldRef(msgspec.Struct, frozen=True, rename="camel"):
    """A field of the pod itself."""

    field_path: str = ""


class ValueFrom(msgspec.Struct, frozen=True, rename="camel"):
    """The source of an environment variable; others than fields are refused."""

    field_ref: FieldRef | None = None


class EnvVar(msgspec.Struct, frozen=True, rename="camel"):
    """An environment variable."""

    name: str
    value: str = ""
    value_from: ValueFrom | None = None


class Capabilities(msgspec.Struct, frozen=True):
    """The rights of root that a container gives up; adding some is refused."""

    drop: tuple[str, ...] = ()


class Security(msgspec.Struct, frozen=True, rename="camel"):
    """The security options that a far side may honour; others are refused."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    read_only_root_filesystem: bool = False
    capabilities: Capabilities = Capabilities()


class RemoteContainer(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a container that the far side honours."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    working_dir: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""
    security_context: Security = Security()


class RemotePodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a pod's spec that the far side honours."""

    containers: tuple[RemoteContainer, ...] = ()
    restart_policy: str = "Always"
    node_name: str = ""
    node_selector: Mapping[str, str] = {}
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    termination_grace_period_seconds: int = 30
    hostname: str = ""
    priority_class_name: str = ""
    security_context: Security = Security()

    @property
    def resources(self) -> PodResources:
        """The fields that define the requests of the pod."""
        return msgspec.convert(self, PodResources, from_attributes=True)


class RemotePodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a pod's status that the executor writes."""

    phase: str = ""
    start_time: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class RemotePod(msgspec.Struct, frozen=True):
    """A pod that runs on the far side."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: RemotePodSpec = RemotePodSpec()
    status: RemotePodStatus = RemotePodStatus()

    @property
    def is_gated(self) -> bool:
        """Tell whether any scheduling gate keeps the pod from being bound."""
        return bool(self.spec.scheduling_gates)

    @property
    def has_ended(self) -> bool:
        """Tell whether the pod has succeeded or failed."""
        return self.status.phase in ("Succeeded", "Failed")


class ObservedRemoteGroup(msgspec.Struct, frozen=True, rename="camel"):
    """The pods of one group."""

    name: str = ""
    pods: tuple[str, ...] = ()
    min_replicas: int = 0


class ObservedPack(msgspec.Struct, frozen=True):
    """Labels of hosts within which the gang runs."""

    required: str = ""
    preferred: str = ""


class ObservedRemoteSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What the far side has to run."""

    backend: str = ""
    groups: tuple[ObservedRemoteGroup, ...] = ()
    pack: ObservedPack | None = None
    grant_seconds: int = 300
    max_runtime_seconds: int | None = None
    reservation: str | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The pods that start with the gang."""
        return tuple(pod for group in self.groups for pod in group.pods[: group.min_replicas])

    @property
    def pods(self) -> tuple[str, ...]:
        """All pods, in the order of their ranks."""
        return tuple(pod for group in self.groups for pod in group.pods)


class ObservedRemoteMember(msgspec.Struct, frozen=True, rename="camel"):
    """One pod on the far side."""

    pod: str = ""
    host: str = ""
    state: RemoteMemberState = RemoteMemberState.UNKNOWN
    external_id: str | None = None


class ObservedRemoteStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the executor has written."""

    phase: RemotePhase = RemotePhase.PENDING
    attempt: int = 0
    reason: str | None = None
    message: str | None = None
    retry_at: str | None = None
    members: tuple[ObservedRemoteMember, ...] = ()


class ObservedRemoteGang(msgspec.Struct, frozen=True):
    """A RemoteGang."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ObservedRemoteSpec = ObservedRemoteSpec()
    status: ObservedRemoteStatus = ObservedRemoteStatus()


class _CliqueSpec(msgspec.Struct, frozen=True, rename="camel"):
    pod_spec: Json = msgspec.field(default_factory=dict)
    starts_after: tuple[str, ...] = ()


class RemoteClique(msgspec.Struct, frozen=True):
    """A PodClique: the template of its pods, as the user wrote it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _CliqueSpec = _CliqueSpec()
