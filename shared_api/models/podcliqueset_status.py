"""Status of a PodCliqueSet: counts, conditions and the state of each gang. Only core writes it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from shared_api.models.jobs import RestartCounts
from shared_api.models.meta import Conditions, KubeModel
from shared_api.models.podclique import Count, WorkloadStatus
from shared_api.models.schema import Int32, list_map


class GangPhase(StrEnum):
    """Lifecycle phase of a gang, as a summary for people."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    FAILED = "Failed"
    SUCCEEDED = "Succeeded"


class PodGangSummary(KubeModel):
    """The state of one gang of the set."""

    name: str
    """Name of the PodGang."""

    phase: GangPhase
    """Lifecycle phase of the gang."""

    conditions: Conditions = ()
    """Conditions of the gang."""


class ReplicaUpdateProgress(KubeModel):
    """A replica that is being updated."""

    replica_index: Int32
    """Index of the replica."""

    update_started_at: datetime | None = None
    """When its update started."""

    update_ended_at: datetime | None = None
    """When its update ended."""


class PodCliqueSetUpdateProgress(KubeModel):
    """An update of the set."""

    update_started_at: datetime | None = None
    """When the update started."""

    update_ended_at: datetime | None = None
    """When the last replica was updated."""

    updated_pod_cliques_count: Count = 0
    """PodCliques that have the current templates, without those of scaling groups."""

    total_pod_cliques_count: Count = 0
    """All PodCliques, without those of scaling groups."""

    updated_pod_clique_scaling_groups_count: Count = 0
    """Scaling groups that have the current templates."""

    total_pod_clique_scaling_groups_count: Count = 0
    """All scaling groups."""

    currently_updating: Annotated[tuple[ReplicaUpdateProgress, ...], list_map("replicaIndex")] = ()
    """Replicas that are being updated."""

    updated_pods_count: Count | None = None
    """Ready pods that have the current templates. Only with progressDeadlineSeconds."""

    last_progress_at: datetime | None = None
    """When updatedPodsCount last grew, or the next replica was started. Only with progressDeadlineSeconds."""


class PodCliqueSetStatus(WorkloadStatus):
    """Observed state of the set. The condition Ready is its summary."""

    replicas: Count = 0
    """Desired replicas."""

    updated_replicas: Count = 0
    """Available replicas that have the current templates."""

    available_replicas: Count = 0
    """Replicas in which every clique and scaling group has minAvailable ready."""

    hpa_pod_selector: str | None = None
    """Label selector of the pods, for autoscalers."""

    pod_gang_statuses: Annotated[tuple[PodGangSummary, ...], list_map("name")] = ()
    """Gangs of the set."""

    current_generation_hash: str | None = None
    """Hash of the templates that the set has, or is being updated to."""

    update_progress: PodCliqueSetUpdateProgress | None = None
    """The latest update."""

    job_start_time: datetime | None = None
    """When the minimum of the first replica was scheduled. Only in sets with jobs."""

    replica_restart_counts: RestartCounts = ()
    """How often each replica was restarted after a failure, by index. It never decreases."""

    completed_indexes: str | None = None
    """Indexes of the replicas that are Completed, such as 0-2,5."""
