"""PodClique: the pods of one role.

Core creates PodCliques from a PodCliqueSet and writes every field except `replicas`, which
belongs to users and autoscalers. The same spec, with more rules, is a clique's template in the
set.
"""

from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.jobs import is_job
from shared_api.models.meta import KubeModel, KubeObject, KubeStatus, LastError
from shared_api.models.podspec import PodSpec
from shared_api.models.schema import (
    Int32,
    Markers,
    Opaque,
    Rule,
    forbidden,
    list_atomic,
    list_set,
)

Count = Annotated[Int32, Field(ge=0)]
PositiveInt32 = Annotated[Int32, Field(ge=1)]

MAX_REPLICAS = 10_000
"""Maximum of one clique, scaling group or set, so that a number with an extra digit is refused."""
# Only in the schema: Python must still read objects that were stored before the limit existed.
_AT_MOST = Markers({"maximum": MAX_REPLICAS})
Replicas = Annotated[PositiveInt32, _AT_MOST]
SetReplicas = Annotated[Count, _AT_MOST]
ScaledReplicas = Annotated[Count, _AT_MOST]
"""Size of an existing PodClique or scaling group, which may be scaled to 0."""

LastErrors = Annotated[tuple[LastError, ...], list_atomic()]

MIN_WITHIN_REPLICAS = Rule(
    check="!has(self.minAvailable) || self.minAvailable <= self.replicas",
    message="minAvailable must not be greater than replicas",
    detail="""'minAvailable must not be greater than replicas: minAvailable is %d, replicas is %d'
        .format([self.minAvailable, self.replicas])""",
    field=".minAvailable",
)


FIXED_JOB_SIZE = forbidden(
    f"self.replicas == oldSelf.replicas || !{is_job('self')}",
    "replicas is fixed at creation: the pods run to completion",
    ".replicas",
)


class AutoScalingConfig(KubeModel):
    """The HorizontalPodAutoscaler that core creates."""

    min_replicas: PositiveInt32 | None = None
    """Lower bound, at least minAvailable. Defaults to replicas."""

    max_replicas: PositiveInt32
    """Upper bound."""

    metrics: Annotated[tuple[Opaque, ...], list_atomic()] = ()
    """Metrics to scale on, as in autoscaling/v2."""


class PodCliqueSpec(KubeModel):
    """The pods of one role."""

    RULES: ClassVar[tuple[Rule, ...]] = (FIXED_JOB_SIZE,)

    role_name: Annotated[str, Field(max_length=253)] = ""
    """Role of the pods, unique among the cliques of a set; one clique may leave it out."""

    pod_spec: PodSpec
    """Spec of the pods, as in a Pod. It is stored as written and validated when core creates the pods."""

    replicas: ScaledReplicas = 1
    """Number of pods. Below minAvailable, the gang needs only these; with 0 it needs none."""

    min_available: PositiveInt32 | None = None
    """Number of pods that the gang needs to start. Below it the gang is terminated. Defaults to replicas."""

    starts_after: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], list_set()] = ()
    """PodCliques whose minAvailable pods must be ready before these pods start their containers."""

    auto_scaling_config: AutoScalingConfig | None = None
    """HorizontalPodAutoscaler of the clique. Not allowed for cliques of a scaling group."""

    @property
    def minimum(self) -> int:
        """Number of pods that the gang needs now: minAvailable, but never more than replicas."""
        wanted = self.replicas if self.min_available is None else self.min_available
        return min(wanted, self.replicas)


class PodsSelectedToUpdate(KubeModel):
    """Ready pods that an update replaces one by one."""

    current: str
    """Name of the pod that is being replaced."""

    completed: Annotated[tuple[str, ...], list_atomic()] = ()
    """Names of the pods that have been replaced."""


class PodCliqueUpdateProgress(KubeModel):
    """An update of the clique's pods."""

    update_started_at: datetime | None = None
    """When the update started."""

    update_ended_at: datetime | None = None
    """When the last pod was replaced."""

    pod_clique_set_generation_hash: str
    """Hash of the set's templates after the update."""

    pod_template_hash: str
    """Hash of the clique's template after the update."""

    ready_pods_selected_to_update: PodsSelectedToUpdate | None = None
    """Ready pods that are being or have been replaced."""


class WorkloadStatus(KubeStatus):
    """What the statuses of sets, scaling groups and cliques share."""

    last_errors: LastErrors = ()
    """The current problem of the object, if it has one; the code is the reason in conditions."""


class PodCliqueStatus(WorkloadStatus):
    """Observed state of the clique."""

    replicas: Count = 0
    """Pods that are not terminating."""

    ready_replicas: Count = 0
    """Pods that are ready."""

    updated_replicas: Count = 0
    """Pods that have the current template."""

    schedule_gated_replicas: Count = 0
    """Pods that have a scheduling gate."""

    scheduled_replicas: Count = 0
    """Pods that are bound to a node."""

    hpa_pod_selector: str | None = None
    """Label selector of the pods, for autoscalers."""

    current_pod_clique_set_generation_hash: str | None = None
    """Hash of the set's templates that the pods have."""

    current_pod_template_hash: str | None = None
    """Hash of the clique's template that the pods have."""

    update_progress: PodCliqueUpdateProgress | None = None
    """The latest update."""

    attempt: Count | None = None
    """How often the pods were restarted together before; completedIndexes, Completed and Failed are about
    this attempt. Only in sets with jobs."""

    completed_indexes: str | None = None
    """Indexes of the pods that succeeded, such as 0-2,5."""


class PodClique(KubeObject):
    """The pods of one role of one replica of a PodCliqueSet."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodClique"

    spec: PodCliqueSpec
    """Desired state of the pods."""

    status: PodCliqueStatus | None = None
    """Observed state of the pods."""
