"""PodGang: one gang, described for any scheduler. This is the contract between the phases.

Core writes the spec and the conditions about pods; the backend that the label names writes
`phase`, `placementScore`, `podPreparations` and the conditions about scheduling. Each applies
only its own, so neither can erase the other's; `names` says who owns which condition type.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.meta import Conditions, KubeModel, KubeObject, Name, NamespacedName
from shared_api.models.patch import PodPatches
from shared_api.models.podclique import Count
from shared_api.models.schema import Int32, Int64, list_atomic, list_map, list_set

_LabelKey = Annotated[str, Field(min_length=1, max_length=317)]


class TopologyPackConstraint(KubeModel):
    """Levels in which pods are kept together, as node label keys."""

    required: _LabelKey | None = None
    """All pods on nodes that share one value of this label, or none is placed."""

    preferred: _LabelKey | None = None
    """All pods on nodes that share one value of this label where that is possible."""


class GangTopologyConstraint(KubeModel):
    """Placement of the pods of a gang, of several groups or of one group."""

    pack_constraint: TopologyPackConstraint | None = None
    """The levels."""


class PodGroup(KubeModel):
    """Pods of one PodClique; they are interchangeable."""

    name: Name
    """Name of the PodClique."""

    # Atomic: one owner per entry would make managedFields larger than the list itself.
    pod_references: Annotated[tuple[NamespacedName, ...], list_atomic()]
    """The pods, sorted by name. Complete once the Initialized condition is True."""

    min_replicas: Count
    """Pods that must be placed for the gang to be placed; those above are surplus."""

    topology_constraint: GangTopologyConstraint | None = None
    """Placement of the group's pods."""


class TopologyConstraintGroupConfig(KubeModel):
    """Groups that are placed together inside the gang."""

    name: Name
    """Name of the scaling group replica that the groups belong to."""

    pod_group_names: Annotated[tuple[Name, ...], list_set()]
    """The groups."""

    topology_constraint: GangTopologyConstraint | None = None
    """Placement of all their pods."""


class PodGangSpec(KubeModel):
    """The groups of a gang and how they are placed."""

    podgroups: Annotated[tuple[PodGroup, ...], list_map("name")]
    """The gang's groups; the minimum of every one is placed, or nothing is."""

    topology_constraint: GangTopologyConstraint | None = None
    """Placement of all pods of the gang."""

    topology_constraint_group_configs: Annotated[
        tuple[TopologyConstraintGroupConfig, ...], list_map("name")
    ] = ()
    """Placement of several groups together."""

    priority_class_name: str | None = None
    """Priority class of the gang."""

    reuse_reservation_ref: NamespacedName | None = None
    """Another PodGang whose reserved resources this one takes over."""


class PodGangPhase(StrEnum):
    """Where a gang is in its life, as a summary for people."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"


class PodPreparation(PodPatches):
    """How pods of one group are prepared, for backends whose preparation is PerGang."""

    name: Name
    """Name of the group."""


class PodGangStatus(KubeModel):
    """What is known about the gang."""

    conditions: Conditions = ()
    """Current state by aspect, each type written by one controller."""

    incarnation: Int32 | None = None
    """How often the members were made anew together, where the backend's record says RecreateGang.
    Core counts it; a scheduler that remembers gangs by name knows each time by another one."""

    placed_incarnation: Int32 | None = None
    """The last of them of which a member had a node."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the backend last acted on."""

    phase: PodGangPhase = PodGangPhase.PENDING
    """Pending until every group has its minimum placed, then Starting until they are ready, then Running."""

    placement_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """How good the placement is, 1 being the best possible, where the scheduler says so."""

    pod_preparations: Annotated[tuple[PodPreparation, ...], list_map("name")] = ()
    """Preparation of each group's pods, published by the backend before the pods are created."""


class PodGang(KubeObject):
    """Pods that are scheduled together or not at all."""

    API_VERSION: ClassVar = f"{names.SCHEDULER_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodGang"

    spec: PodGangSpec
    """The gang."""

    status: PodGangStatus | None = None
    """Where it is."""
