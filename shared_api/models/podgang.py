"""PodGang: one gang, described for any scheduler. It is the contract between core and backends.

Core writes the spec, `incarnation`, `placedIncarnation`, `bindAttempt`, `placement`, `coreBlocker` and the
conditions about pods. The backend in the label writes `phase`, `placementScore`, `podPreparations`,
`backendBlocker` and the conditions about scheduling. Each applies only its own fields, so neither removes those of the other. `names` lists
who owns which condition type.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.meta import KubeModel, KubeObject, KubeStatus, Name, NamespacedName
from shared_api.models.patch import PodPatches
from shared_api.models.podclique import Count
from shared_api.models.schema import Int32, Int64, list_atomic, list_map, list_set

_LabelKey = Annotated[str, Field(min_length=1, max_length=317)]


class TopologyPackConstraint(KubeModel):
    """Topology levels in which pods are packed, as node label keys."""

    required: _LabelKey | None = None
    """All pods are scheduled to nodes with the same value of this label, or none is."""

    preferred: _LabelKey | None = None
    """If possible, all pods are scheduled to nodes with the same value of this label."""


class GangTopologyConstraint(KubeModel):
    """Topology constraint of a gang, of several groups or of one group."""

    pack_constraint: TopologyPackConstraint | None = None
    """Topology levels."""


class PodGroup(KubeModel):
    """The pods of one PodClique. They are interchangeable."""

    name: Name
    """Name of the PodClique."""

    # Atomic: with one owner per entry, managedFields would be larger than the list.
    pod_references: Annotated[tuple[NamespacedName, ...], list_atomic()]
    """Pods of the group, sorted by name. The list is complete once the condition Initialized is True."""

    min_replicas: Count
    """Pods that must be scheduled with the gang. All other pods are surplus."""

    topology_constraint: GangTopologyConstraint | None = None
    """Topology constraint of the group."""


class TopologyConstraintGroupConfig(KubeModel):
    """Groups that share a topology constraint inside the gang."""

    name: Name
    """Name of the scaling group replica that the groups belong to."""

    pod_group_names: Annotated[tuple[Name, ...], list_set()]
    """Names of the groups."""

    topology_constraint: GangTopologyConstraint | None = None
    """Topology constraint of all pods of these groups."""


class PodGangSpec(KubeModel):
    """The groups of a gang and their topology constraints."""

    podgroups: Annotated[tuple[PodGroup, ...], list_map("name")]
    """Groups of the gang. The minimum of every group is scheduled, or no pod is."""

    topology_constraint: GangTopologyConstraint | None = None
    """Topology constraint of all pods of the gang."""

    topology_constraint_group_configs: Annotated[
        tuple[TopologyConstraintGroupConfig, ...], list_map("name")
    ] = ()
    """Topology constraints of several groups together."""

    priority_class_name: str | None = None
    """Priority class of the gang."""

    reuse_reservation_ref: NamespacedName | None = None
    """PodGang whose reserved resources this PodGang reuses."""


class PodGangPhase(StrEnum):
    """Lifecycle phase of a gang, as a summary for people."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class PodPreparation(PodPatches):
    """Patches for the pods of one group, if the backend's preparation is PerGang."""

    name: Name
    """Name of the group."""


class BindAttempt(KubeModel):
    """The present start of a gang, where the SchedulerBackend has bindTimeoutSeconds."""

    failures: Annotated[Int32, Field(ge=0)] = 0
    """How often the gang gave back its pods since its minimum was last bound."""

    bound: Annotated[Int32, Field(ge=0)] | None = None
    """How many pods of the minimum were bound when the gang last gave them back."""

    deadline: datetime | None = None
    """When the released gang gives back its pods, unless its minimum is bound before."""

    retry_at: datetime | None = None
    """Until when the gang stays gated after it gave back its pods."""


class GangBlocker(KubeModel):
    """The first condition that keeps a gang from running, for the columns of `kubectl get`."""

    reason: Annotated[str, Field(max_length=1024)]
    """Reason of the condition."""

    message: Annotated[str, Field(max_length=1024)] = ""
    """Message of the condition."""


class PlacementOutcome(StrEnum):
    """Why a backend instance did not run the gang."""

    CAPACITY = "Capacity"
    INVALID = "Invalid"
    TRANSIENT = "Transient"
    AMBIGUOUS = "Ambiguous"


class PlacementAttempt(KubeModel):
    """The time of a gang with one backend instance."""

    backend: Name
    """Name of the instance."""

    began: Annotated[datetime, Field(alias="from")]
    """When the gang came to the instance."""

    until: datetime | None = None
    """When the gang left it. Absent: it is there."""

    outcome: PlacementOutcome | None = None
    """Capacity: it has no capacity, or did not schedule the gang in time. Invalid: it rejects the gang,
    or the policy does not allow it. Transient: it is down or fails. Ambiguous: it is down, and its
    scheduler may have the gang. Absent: another reason, which is in the message."""

    message: Annotated[str, Field(max_length=1024)] | None = None
    """Details for people."""


class PlacementStatus(KubeModel):
    """How a gang with a placement policy came to its backend instance."""

    attempts: Annotated[tuple[PlacementAttempt, ...], list_atomic(at_most=10)] = ()
    """The last ten attempts, the latest last."""

    tried: Annotated[tuple[Name, ...], list_atomic(at_most=64)] = ()
    """Instances that were tried since the gang last started over."""

    rounds: Annotated[Int32, Field(ge=0)] | None = None
    """How often all candidates were tried."""

    deadline: datetime | None = None
    """When the gang leaves its instance unless it is scheduled before."""

    retry_at: datetime | None = None
    """When the gang starts over, after all candidates were tried."""


class PodGangStatus(KubeStatus):
    """Observed state of the gang. Each condition type has one writer."""

    incarnation: Int32 | None = None
    """How often core recreated all members together, if the SchedulerBackend has RecreateGang.
    Schedulers that cache gangs by name see a new name each time."""

    placed_incarnation: Int32 | None = None
    """Last incarnation of which a member was bound to a node."""

    bind_attempt: BindAttempt | None = None
    """The present start of the gang, if the SchedulerBackend has a bind timeout. It is removed once
    the minimum is bound."""

    core_blocker: GangBlocker | None = None
    """The first of BackendSelected, Initialized and Released that is not True, while the backend does
    not refuse the gang."""

    backend_blocker: GangBlocker | None = None
    """The first of Accepted, Programmed, Scheduled and Ready that is not True."""

    placement: PlacementStatus | None = None
    """How the gang came to its backend instance, if its PodCliqueSet has a placement policy."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the backend last processed."""

    phase: PodGangPhase = PodGangPhase.PENDING
    """Pending until every group has its minimum scheduled, Starting until it is ready, then Running.
    A gang whose jobs have ended is Succeeded or Failed."""

    placement_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """Quality of the placement from 0 to 1 (best), if the scheduler reports it."""

    pod_preparations: Annotated[tuple[PodPreparation, ...], list_map("name")] = ()
    """Patches for each group's pods. The backend publishes them before core creates the pods."""


class PodGang(KubeObject):
    """Pods that are scheduled together or not at all."""

    API_VERSION: ClassVar = f"{names.SCHEDULER_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodGang"

    spec: PodGangSpec
    """Groups and topology constraints of the gang."""

    status: PodGangStatus | None = None
    """Observed state of the gang."""
