"""RemoteGang: one gang as it exists on hosts that are no nodes of this cluster.

A backend whose hosts are outside of the cluster writes the spec from the PodGang, which owns the
object. The executor in the same process acts on it and writes the status. The finalizer stays until
the far side confirms that nothing of the gang is left there. Without the backend the object stays
too, so that what may still run is visible.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.meta import KubeModel, KubeObject, KubeStatus, Name
from shared_api.models.podclique import Count
from shared_api.models.podgang import TopologyPackConstraint
from shared_api.models.schema import Int32, list_atomic, list_map


class RemoteGroup(KubeModel):
    """The pods of one PodClique."""

    name: Name
    """Name of the PodClique."""

    pods: Annotated[tuple[Name, ...], list_atomic()]
    """Names of the pods, in the order of their ranks."""

    min_replicas: Count
    """Pods that start with the gang. All other pods are surplus."""


class RemoteGangSpec(KubeModel):
    """What the far side has to run."""

    backend: Name
    """Name of the SchedulerBackend whose far side runs the gang."""

    groups: Annotated[tuple[RemoteGroup, ...], list_map("name")]
    """Groups of the gang. The minimum of every group gets resources, or no pod does."""

    pack: TopologyPackConstraint | None = None
    """Labels of hosts within which the whole gang runs."""

    grant_seconds: Annotated[Int32, Field(ge=1, le=86400)]
    """Seconds after which a grant expires on the far side unless the gang is started."""

    max_runtime_seconds: Annotated[Int32, Field(ge=1)] | None = None
    """The longest that the gang runs, by maxRuntime of its set. Core ends it; the far side may plan with
    it."""

    reservation: Annotated[str, Field(max_length=253)] | None = None
    """Name of the PodGang in this namespace whose reservation on the far side the gang uses."""


class RemotePhase(StrEnum):
    """Lifecycle phase of the gang on the far side."""

    PENDING = "Pending"
    """Nothing is reserved, or an attempt to reserve failed."""
    RESERVING = "Reserving"
    """An attempt to reserve is announced, and may be under way."""
    GRANTED = "Granted"
    """The far side has resources for the minimum of every group, and nothing runs."""
    STARTED = "Started"
    """The gang was started."""
    RELEASING = "Releasing"
    """The gang is being removed from the far side."""


class RemoteMemberState(StrEnum):
    """State of one pod on the far side."""

    RESERVED = "Reserved"
    RUNNING = "Running"
    EXITED = "Exited"
    UNKNOWN = "Unknown"
    """The far side is unreachable. The pod may still run there."""


class RemoteMember(KubeModel):
    """One pod on the far side."""

    pod: Name
    """Name of the pod."""

    host: str
    """Host that runs the pod."""

    state: RemoteMemberState
    """State of the pod on that host."""

    external_id: str | None = None
    """Name of it on the far side, such as the ID of a container or of a job."""


class RemoteGangStatus(KubeStatus):
    """Observed state of the gang on the far side. The executor writes it."""

    phase: RemotePhase = RemotePhase.PENDING
    """How far the gang is."""

    attempt: Annotated[Int32, Field(ge=0)] = 0
    """Number of the last attempt to reserve. It is written before the far side is called."""

    reason: str | None = None
    """Why the last attempt failed: NoCapacity, Invalid, Transient or Ambiguous."""

    message: Annotated[str, Field(max_length=1024)] | None = None
    """The same with numbers, and what to do."""

    retry_at: datetime | None = None
    """When the next attempt begins."""

    members: Annotated[tuple[RemoteMember, ...], list_map("pod")] = ()
    """The pods that exist on the far side."""


class RemoteGang(KubeObject):
    """A gang on hosts outside of the cluster."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "RemoteGang"

    spec: RemoteGangSpec
    """What the far side has to run."""

    status: RemoteGangStatus | None = None
    """Observed state of the gang on the far side."""
