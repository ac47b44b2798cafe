"""Status of a PodCliqueSet: counts, conditions and the state of each gang.

Apart from the spec because it changes for other reasons and is written by core alone.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from shared_api.models.meta import Conditions, KubeModel
from shared_api.models.podclique import Count, LastErrors
from shared_api.models.schema import Int32, Int64, list_map


class GangPhase(StrEnum):
    """Where a gang is in its life, as a summary for people."""

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
    """Where the gang is in its life."""

    conditions: Conditions = ()
    """The gang's conditions."""


class ReplicaUpdateProgress(KubeModel):
    """A replica that is being updated."""

    replica_index: Int32
    """Index of the replica."""

    update_started_at: datetime | None = None
    """When its update began."""

    update_ended_at: datetime | None = None
    """When its update was complete."""


class PodCliqueSetUpdateProgress(KubeModel):
    """An update of the set."""

    update_started_at: datetime | None = None
    """When the update began."""

    update_ended_at: datetime | None = None
    """When the last replica was updated."""

    updated_pod_cliques_count: Count = 0
    """PodCliques of the current templates, those of scaling groups not counted."""

    total_pod_cliques_count: Count = 0
    """PodCliques in all, those of scaling groups not counted."""

    updated_pod_clique_scaling_groups_count: Count = 0
    """Scaling groups of the current templates."""

    total_pod_clique_scaling_groups_count: Count = 0
    """Scaling groups in all."""

    currently_updating: Annotated[tuple[ReplicaUpdateProgress, ...], list_map("replicaIndex")] = ()
    """Replicas that are being updated."""


class PodCliqueSetStatus(KubeModel):
    """What is known about the set."""

    conditions: Conditions = ()
    """Current state by aspect; Ready sums it up."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the status describes."""

    last_errors: LastErrors = ()
    """Failures that are still in force."""

    replicas: Count = 0
    """Replicas that are asked for."""

    updated_replicas: Count = 0
    """Available replicas of the current templates."""

    available_replicas: Count = 0
    """Replicas whose cliques and scaling groups all have minAvailable ready."""

    hpa_pod_selector: str | None = None
    """Label selector of the pods, for autoscalers."""

    pod_gang_statuses: Annotated[tuple[PodGangSummary, ...], list_map("name")] = ()
    """The gangs of the set."""

    current_generation_hash: str | None = None
    """Hash of the templates that the set is at or on its way to."""

    update_progress: PodCliqueSetUpdateProgress | None = None
    """The latest update."""
