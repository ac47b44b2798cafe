"""The projection of a PodGang, for reading.

The model in `shared_api/models` defines what the fields mean. The projection has the same
attributes, and a test compares the two. It checks types, as the model does, but no patterns and
lengths: every stored gang that the model accepts can be read here. Times are text, as the server
sends them. Only metadata is shared in memory between gangs, because looking for more in every
event would cost a large part of the decoding time.
"""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.pods import PodSchedulingGroup, PodWorkloadReference
from shared_api.models import PodGangPhase


class ObservedReference(msgspec.Struct, frozen=True, gc=False):
    """A reference to an object by name."""

    namespace: str
    name: str


class ObservedPackConstraint(msgspec.Struct, frozen=True, gc=False):
    """The topology levels in which pods are scheduled together, as node label keys."""

    required: str | None = None
    preferred: str | None = None


class ObservedTopologyConstraint(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Placement of the pods of a gang, of several groups or of one group."""

    pack_constraint: ObservedPackConstraint | None = None


class ObservedPodGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Pods of one PodClique."""

    name: str
    pod_references: tuple[ObservedReference, ...]
    min_replicas: int
    topology_constraint: ObservedTopologyConstraint | None = None


class ObservedTopologyGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Groups of pods with a topology constraint of their own inside the gang."""

    name: str
    pod_group_names: tuple[str, ...]
    topology_constraint: ObservedTopologyConstraint | None = None


class ObservedPodGangSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The groups of a gang and their topology constraints."""

    podgroups: tuple[ObservedPodGroup, ...] = ()
    topology_constraint: ObservedTopologyConstraint | None = None
    topology_constraint_group_configs: tuple[ObservedTopologyGroup, ...] = ()
    priority_class_name: str | None = None
    reuse_reservation_ref: ObservedReference | None = None


class ObservedCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One aspect of a gang's current state."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int | None = None


class ObservedPatchedToleration(msgspec.Struct, frozen=True, gc=False):
    """A taint that pods tolerate for as long as it stays."""

    key: str
    operator: str = "Exists"
    effect: str = "NoExecute"


class ObservedPodSpecPatch(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The pod spec fields that a backend may set."""

    scheduler_name: str | None = None
    priority_class_name: str | None = None
    workload_ref: PodWorkloadReference | None = None
    scheduling_group: PodSchedulingGroup | None = None
    tolerations: tuple[ObservedPatchedToleration, ...] | None = None


class ObservedPodPatch(msgspec.Struct, frozen=True, gc=False):
    """The fields that are added to a pod when it is created."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: ObservedPodSpecPatch | None = None


class ObservedPodPreparation(msgspec.Struct, frozen=True, gc=False):
    """How pods of one group are prepared, as a backend has published it."""

    name: str
    members: ObservedPodPatch | None = None
    surplus: ObservedPodPatch | None = None


class ObservedBindAttempt(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The present start of a gang that has a bind timeout."""

    failures: int = 0
    bound: int | None = None
    deadline: str | None = None
    retry_at: str | None = None


class ObservedPlacementAttempt(msgspec.Struct, frozen=True, gc=False):
    """The time of a gang with one backend instance."""

    backend: str
    began: str = msgspec.field(name="from")
    until: str | None = None
    outcome: str | None = None
    message: str | None = None


class ObservedPlacement(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a gang with a placement policy came to its backend instance."""

    attempts: tuple[ObservedPlacementAttempt, ...] = ()
    tried: tuple[str, ...] = ()
    rounds: int | None = None
    deadline: str | None = None
    retry_at: str | None = None


class ObservedPodGangStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The observed state of the gang."""

    conditions: tuple[ObservedCondition, ...] = ()
    incarnation: int | None = None
    placed_incarnation: int | None = None
    bind_attempt: ObservedBindAttempt | None = None
    placement: ObservedPlacement | None = None
    observed_generation: int | None = None
    phase: PodGangPhase = PodGangPhase.PENDING
    placement_score: float | None = None
    pod_preparations: tuple[ObservedPodPreparation, ...] = ()


class ObservedPodGang(msgspec.Struct, frozen=True, gc=False):
    """Pods that are scheduled together or not at all."""

    API_VERSION: ClassVar[str] = f"{names.SCHEDULER_GROUP}/{names.VERSION}"
    KIND: ClassVar[str] = "PodGang"

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ObservedPodGangSpec = ObservedPodGangSpec()
    status: ObservedPodGangStatus | None = None

    def condition(self, kind: str) -> ObservedCondition | None:
        """The condition of this type, if the gang has one."""
        conditions = self.status.conditions if self.status is not None else ()
        return next((found for found in conditions if found.type == kind), None)
