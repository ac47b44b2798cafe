"""PodCliqueScalingGroup: cliques that are scaled together.

Core creates one for each group and replica of a PodCliqueSet. It writes every field except
`replicas`, which belongs to users and autoscalers.
"""

from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.jobs import RestartCounts
from shared_api.models.meta import KubeModel, KubeObject
from shared_api.models.podclique import Count, PositiveInt32, ScaledReplicas, WorkloadStatus
from shared_api.models.schema import Int32, list_atomic, list_set


class PodCliqueScalingGroupSpec(KubeModel):
    """A number of replicas of a group of cliques."""

    replicas: ScaledReplicas = 1
    """Number of replicas. Below minAvailable, the base gang has only these; with 0 it has none."""

    min_available: PositiveInt32 = 1
    """Replicas that belong to the base gang. Every other replica is a gang of its own."""

    clique_names: Annotated[tuple[Annotated[str, Field(max_length=63)], ...], list_set(at_least=1)]
    """Cliques of one replica, by their names in the PodCliqueSet."""

    @property
    def minimum(self) -> int:
        """Number of replicas that the base gang needs now."""
        return min(self.min_available, self.replicas)


class ReplicasSelectedToUpdate(KubeModel):
    """Available replicas that an update replaces one by one."""

    current: Int32
    """Index of the replica that is being replaced."""

    completed: Annotated[tuple[Int32, ...], list_atomic()] = ()
    """Indexes of the replicas that have been replaced."""


class PodCliqueScalingGroupUpdateProgress(KubeModel):
    """An update of the group's replicas."""

    update_started_at: datetime
    """When the update started."""

    update_ended_at: datetime | None = None
    """When the last replica was replaced."""

    pod_clique_set_generation_hash: str
    """Hash of the set's templates after the update."""

    updated_pod_cliques_count: Count = 0
    """PodCliques that have the current templates."""

    total_pod_cliques_count: Count = 0
    """All PodCliques of the group."""

    ready_replica_indices_selected_to_update: ReplicasSelectedToUpdate | None = None
    """Available replicas that are being or have been replaced."""


class PodCliqueScalingGroupStatus(WorkloadStatus):
    """Observed state of the group."""

    replicas: Count = 0
    """Desired replicas."""

    scheduled_replicas: Count = 0
    """Replicas in which every clique has minAvailable bound pods."""

    available_replicas: Count = 0
    """Replicas in which every clique has minAvailable ready pods."""

    updated_replicas: Count = 0
    """Available replicas that have the current templates."""

    selector: str | None = None
    """Label selector of the pods, for autoscalers."""

    current_pod_clique_set_generation_hash: str | None = None
    """Hash of the set's templates that all replicas have."""

    update_progress: PodCliqueScalingGroupUpdateProgress | None = None
    """The latest update."""

    attempt: Count | None = None
    """How often the replica of the set was restarted before; completedIndexes, Completed and Failed are
    about this attempt. Only in groups with jobs."""

    replica_restart_counts: RestartCounts = ()
    """How often each replica was restarted alone after a failure, by index. It never decreases."""

    completed_indexes: str | None = None
    """Indexes of the replicas that are Completed, such as 0-2,5."""


class PodCliqueScalingGroup(KubeObject):
    """Cliques of one replica of a PodCliqueSet that are scaled together."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodCliqueScalingGroup"

    spec: PodCliqueScalingGroupSpec
    """Desired state of the group."""

    status: PodCliqueScalingGroupStatus | None = None
    """Observed state of the group."""
