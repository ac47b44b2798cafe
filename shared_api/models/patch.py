"""PodPatch: what a scheduler needs on a pod, as data that core applies without reading it.

Most of these fields are immutable on a pod, so they must be known before it is created. A
value may contain the placeholders `{namespace}`, `{gang}`, `{gangUID}`, `{incarnation}`,
`{group}` and `{index}`; exactly these tokens are replaced and every other brace stands for
itself, so JSON in an annotation needs no escaping. There is no logic in a patch: a scheduler that needs some
publishes patches per gang.
"""

from typing import Annotated

from pydantic import Field

from shared_api.models.meta import KubeModel
from shared_api.models.schema import Markers, Rule, rules

PLACEHOLDERS = ("{namespace}", "{gang}", "{gangUID}", "{incarnation}", "{group}", "{index}")

# Keys of Kubernetes' domains and of ours, and keys without a domain: by those, Services and
# NetworkPolicies of users select pods. CEL and Python both read these expressions.
RESERVED_KEYS = r"^([^/]*|([^/]*[.])?(kubernetes[.]io|k8s[.]io|grove[.]io)/.*)$"
SCHEDULERS_KEYS = (
    r"^(pod-group[^/]*|([^/]*[.])?scheduling([.]sigs)?[.]k8s[.]io/.*|scheduler[.]grove[.]io/.*)$"
)
"""Those of the reserved keys that are for schedulers."""
SYSTEM_CLASSES = "system-"
"""What the names of Kubernetes' own priority classes begin with."""

_Text = Annotated[str, Field(min_length=1, max_length=253)]
# Not checked as labels: a value is one only after its placeholders are replaced.
_TextMap = Annotated[
    dict[str, str], Markers({"x-kubernetes-map-type": "granular", "maxProperties": 32})
]
_PriorityClass = Annotated[
    _Text,
    rules(
        Rule(
            check=f"!self.startsWith('{SYSTEM_CLASSES}')",
            message="priority classes of the system cannot be given to pods by a backend",
            reason="FieldValueForbidden",
        )
    ),
]


class WorkloadReference(KubeModel):
    """Membership in a gang as Kubernetes 1.35 expresses it on a pod."""

    name: _Text
    """Name of the Workload."""

    pod_group: _Text
    """Name of the pod group in the Workload."""

    pod_group_replica_key: _Text | None = None
    """Tells replicas of the pod group apart."""


class SchedulingGroup(KubeModel):
    """Membership in a gang as Kubernetes 1.36 and later express it on a pod."""

    pod_group_name: _Text
    """Name of the PodGroup."""


class PodSpecPatch(KubeModel):
    """The pod spec fields that a backend may set, and no others."""

    scheduler_name: _Text | None = None
    """Scheduler of the pod."""

    priority_class_name: _PriorityClass | None = None
    """Priority class of the pod, for schedulers that want it equal in the whole gang."""

    workload_ref: WorkloadReference | None = None
    """spec.workloadRef of the pod."""

    scheduling_group: SchedulingGroup | None = None
    """spec.schedulingGroup of the pod."""


class PodPatch(KubeModel):
    """What is added to a pod when it is created; it wins over the user's template."""

    labels: _TextMap = Field(default_factory=dict)
    """Labels of the pod."""

    annotations: _TextMap = Field(default_factory=dict)
    """Annotations of the pod."""

    spec: PodSpecPatch | None = None
    """Fields of the pod's spec."""


# Atomic: merged field by field, a patch that loses all of its fields and stays as an empty one,
# which means something, becomes null in the server's hands, and the server then refuses it.
_Whole = Annotated[PodPatch | None, Markers({"x-kubernetes-map-type": "atomic"})]


class PodPatches(KubeModel):
    """The patches of the pods of a group, by what a pod is to its gang."""

    members: _Whole = None
    """For pods whose index is below minReplicas of their group."""

    surplus: _Whole = None
    """For the other pods; as members when absent, nothing when empty."""

    def of_pod(self, index: int, min_replicas: int) -> PodPatch:
        """The patch of the pod with this index in its group."""
        if index >= min_replicas and self.surplus is not None:
            return self.surplus
        return self.members or PodPatch()
