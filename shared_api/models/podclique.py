"""PodClique: the pods of one role.

Core creates PodCliques from a PodCliqueSet and writes everything in them but `replicas`,
which belongs to whoever scales the clique. The same spec, with more rules, is the template
of a clique in the set.
"""

from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.meta import Conditions, KubeModel, KubeObject, LastError
from shared_api.models.podspec import PodSpec
from shared_api.models.schema import Int32, Int64, Markers, Opaque, Rule, list_atomic, list_set

Count = Annotated[Int32, Field(ge=0)]
PositiveInt32 = Annotated[Int32, Field(ge=1)]

MAX_REPLICAS = 10_000
"""Of one clique, scaling group or set: a number with a digit too many is refused."""
# For the server alone: who reads must not fail at what was stored before there was a limit.
_AT_MOST = Markers({"maximum": MAX_REPLICAS})
Replicas = Annotated[PositiveInt32, _AT_MOST]
SetReplicas = Annotated[Count, _AT_MOST]

LastErrors = Annotated[tuple[LastError, ...], list_atomic()]

MIN_WITHIN_REPLICAS = Rule(
    check="!has(self.minAvailable) || self.minAvailable <= self.replicas",
    message="minAvailable must not exceed replicas",
    detail="""'minAvailable must not exceed replicas: minAvailable is %d, replicas is %d'.format(
        [self.minAvailable, self.replicas])""",
    field=".minAvailable",
)


class AutoScalingConfig(KubeModel):
    """A HorizontalPodAutoscaler that is created along."""

    min_replicas: PositiveInt32 | None = None
    """Lower bound; replicas when absent. Not below minAvailable."""

    max_replicas: PositiveInt32
    """Upper bound."""

    metrics: Annotated[tuple[Opaque, ...], list_atomic()] = ()
    """What to scale on, as in autoscaling/v2."""


class PodCliqueSpec(KubeModel):
    """The pods of one role."""

    RULES: ClassVar[tuple[Rule, ...]] = (MIN_WITHIN_REPLICAS,)

    role_name: Annotated[str, Field(max_length=253)]
    """What the pods do; unique among the cliques of a set."""

    pod_spec: PodSpec
    """Spec of the pods, as in a Pod. It is stored as written, and checked in full when pods are created."""

    replicas: Replicas = 1
    """Number of pods."""

    min_available: PositiveInt32 | None = None
    """Number of pods without which the gang is not started, and is terminated; replicas when absent."""

    starts_after: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], list_set()] = ()
    """PodCliques whose minAvailable pods must be ready before these pods start their containers."""

    auto_scaling_config: AutoScalingConfig | None = None
    """Automatic scaling of the clique; not for cliques of a scaling group."""

    @property
    def minimum(self) -> int:
        """Pods that the gang needs: minAvailable, or all of them when it is not said."""
        return self.replicas if self.min_available is None else self.min_available


class PodsSelectedToUpdate(KubeModel):
    """Ready pods that an update replaces one after the other."""

    current: str
    """Name of the pod that is being replaced."""

    completed: Annotated[tuple[str, ...], list_atomic()] = ()
    """Names of the pods that were replaced."""


class PodCliqueUpdateProgress(KubeModel):
    """An update of the clique's pods."""

    update_started_at: datetime | None = None
    """When the update began."""

    update_ended_at: datetime | None = None
    """When the last pod was replaced."""

    pod_clique_set_generation_hash: str
    """Hash of the set's templates that the update leads to."""

    pod_template_hash: str
    """Hash of the clique's template that the update leads to."""

    ready_pods_selected_to_update: PodsSelectedToUpdate | None = None
    """Ready pods in the order in which they are replaced."""


class PodCliqueStatus(KubeModel):
    """What is known about the clique."""

    conditions: Conditions = ()
    """Current state by aspect."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the status describes."""

    last_errors: LastErrors = ()
    """Failures that are still in force."""

    replicas: Count = 0
    """Pods that exist and are not terminating."""

    ready_replicas: Count = 0
    """Pods that are ready."""

    updated_replicas: Count = 0
    """Pods of the current template."""

    schedule_gated_replicas: Count = 0
    """Pods that are held by a scheduling gate."""

    scheduled_replicas: Count = 0
    """Pods that are bound to a node."""

    hpa_pod_selector: str | None = None
    """Label selector of the pods, for autoscalers."""

    current_pod_clique_set_generation_hash: str | None = None
    """Hash of the set's templates that the pods are of."""

    current_pod_template_hash: str | None = None
    """Hash of the clique's template that the pods are of."""

    update_progress: PodCliqueUpdateProgress | None = None
    """The latest update."""


class PodClique(KubeObject):
    """The pods of one role of one replica of a PodCliqueSet."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodClique"

    spec: PodCliqueSpec
    """The pods."""

    status: PodCliqueStatus | None = None
    """How they are."""
