"""PodCliqueScalingGroup: cliques that are scaled together.

Core creates one per group of a PodCliqueSet and replica, and writes everything in it but
`replicas`, which belongs to whoever scales the group.
"""

from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.meta import Conditions, KubeModel, KubeObject
from shared_api.models.podclique import (
    MIN_WITHIN_REPLICAS,
    Count,
    LastErrors,
    PositiveInt32,
    Replicas,
)
from shared_api.models.schema import Int32, Int64, list_atomic, list_set


class PodCliqueScalingGroupSpec(KubeModel):
    """A number of copies of a group of cliques."""

    RULES: ClassVar = (MIN_WITHIN_REPLICAS,)

    replicas: Replicas = 1
    """Number of copies."""

    min_available: PositiveInt32 = 1
    """Copies that belong to the base gang; every further one is a gang of its own."""

    clique_names: Annotated[tuple[Annotated[str, Field(max_length=63)], ...], list_set(at_least=1)]
    """The cliques of one copy, by their names in the PodCliqueSet."""


class ReplicasSelectedToUpdate(KubeModel):
    """Available replicas that an update replaces one after the other."""

    current: Int32
    """Index of the replica that is being replaced."""

    completed: Annotated[tuple[Int32, ...], list_atomic()] = ()
    """Indexes of the replicas that were replaced."""


class PodCliqueScalingGroupUpdateProgress(KubeModel):
    """An update of the group's replicas."""

    update_started_at: datetime
    """When the update began."""

    update_ended_at: datetime | None = None
    """When the last replica was replaced."""

    pod_clique_set_generation_hash: str
    """Hash of the set's templates that the update leads to."""

    updated_pod_cliques_count: Count = 0
    """PodCliques of the current template."""

    total_pod_cliques_count: Count = 0
    """PodCliques in all."""

    ready_replica_indices_selected_to_update: ReplicasSelectedToUpdate | None = None
    """Available replicas in the order in which they are replaced."""


class PodCliqueScalingGroupStatus(KubeModel):
    """What is known about the group."""

    conditions: Conditions = ()
    """Current state by aspect."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the status describes."""

    last_errors: LastErrors = ()
    """Failures that are still in force."""

    replicas: Count = 0
    """Copies that are asked for."""

    scheduled_replicas: Count = 0
    """Copies of which every clique has minAvailable pods bound."""

    available_replicas: Count = 0
    """Copies of which every clique has minAvailable pods ready."""

    updated_replicas: Count = 0
    """Available copies of the current templates."""

    selector: str | None = None
    """Label selector of the pods, for autoscalers."""

    current_pod_clique_set_generation_hash: str | None = None
    """Hash of the set's templates that all copies are of."""

    update_progress: PodCliqueScalingGroupUpdateProgress | None = None
    """The latest update."""


class PodCliqueScalingGroup(KubeObject):
    """Cliques of one replica of a PodCliqueSet that are scaled together."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodCliqueScalingGroup"

    spec: PodCliqueScalingGroupSpec
    """The group."""

    status: PodCliqueScalingGroupStatus | None = None
    """How it is."""
