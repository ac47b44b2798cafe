"""PodPatch: what a scheduler needs on a pod. Core applies it without interpreting it.

Most of these fields are immutable on a pod, so they must be known before core creates it. A value
may contain the placeholders `{namespace}`, `{gang}`, `{gangUID}`, `{incarnation}`, `{group}` and
`{index}`. Core replaces exactly these tokens, so JSON in an annotation needs no escaping. A patch
has no logic: a backend that needs logic publishes one patch per gang.
"""

from typing import Annotated, Literal

from pydantic import Field

from shared_api.models.meta import KubeModel
from shared_api.models.schema import Markers, forbidden, list_atomic, rules

PLACEHOLDERS = ("{namespace}", "{gang}", "{gangUID}", "{incarnation}", "{group}", "{index}")

# Keys of Kubernetes' domains, of grove.io, and without a domain. Users' Services and
# NetworkPolicies select pods by them. CEL and Python both use these expressions.
RESERVED_KEYS = r"^([^/]*|([^/]*[.])?(kubernetes[.]io|k8s[.]io|grove[.]io)/.*)$"
SCHEDULERS_KEYS = (
    r"^(pod-group[^/]*|([^/]*[.])?scheduling([.]sigs)?[.]k8s[.]io/.*|scheduler[.]grove[.]io/.*)$"
)
"""Reserved keys that a backend may set, because they are for schedulers."""
SYSTEM_CLASSES = "system-"
"""Prefix of the names of Kubernetes' own priority classes."""

_Text = Annotated[str, Field(min_length=1, max_length=253)]
# Not checked as labels: a value becomes valid only when its placeholders are replaced.
_TextMap = Annotated[
    dict[str, str], Markers({"x-kubernetes-map-type": "granular", "maxProperties": 32})
]
_PriorityClass = Annotated[
    _Text,
    rules(
        forbidden(
            f"!self.startsWith('{SYSTEM_CLASSES}')",
            "priority classes of the system cannot be given to pods by a backend",
        )
    ),
]


class WorkloadReference(KubeModel):
    """Membership in a gang on a pod of Kubernetes 1.35."""

    name: _Text
    """Name of the Workload."""

    pod_group: _Text
    """Name of the pod group in the Workload."""

    pod_group_replica_key: _Text | None = None
    """Key that distinguishes replicas of the pod group."""


class SchedulingGroup(KubeModel):
    """Membership in a gang on a pod of Kubernetes 1.36 and later."""

    pod_group_name: _Text
    """Name of the PodGroup."""


class PatchedToleration(KubeModel):
    """A taint that pods tolerate for as long as it stays."""

    key: _Text
    """Key of the taint, with any value."""

    operator: Literal["Exists"] = "Exists"
    """Always `Exists`."""

    effect: Literal["NoExecute"] = "NoExecute"
    """Always `NoExecute`: the pod is not evicted."""


class PodSpecPatch(KubeModel):
    """The only pod spec fields that a backend may set."""

    scheduler_name: _Text | None = None
    """Name of the scheduler."""

    priority_class_name: _PriorityClass | None = None
    """Priority class, for schedulers that need the same one in the whole gang."""

    workload_ref: WorkloadReference | None = None
    """spec.workloadRef of the pod."""

    scheduling_group: SchedulingGroup | None = None
    """spec.schedulingGroup of the pod."""

    tolerations: Annotated[tuple[PatchedToleration, ...], list_atomic(at_most=8)] | None = None
    """Taints that the pods tolerate, in place of those of the template. For backends with a virtual
    node: pods must not be evicted while that node has no heartbeat."""


class PodPatch(KubeModel):
    """What core adds to a pod when it creates it. It overrides the user's template."""

    labels: _TextMap = Field(default_factory=dict)
    """Labels of the pod."""

    annotations: _TextMap = Field(default_factory=dict)
    """Annotations of the pod."""

    spec: PodSpecPatch | None = None
    """Fields of the pod's spec."""


# Atomic: an empty patch has a meaning. If server-side apply merged patches field by field, a patch
# that loses its last field would become null, and the server would refuse it.
_Whole = Annotated[PodPatch | None, Markers({"x-kubernetes-map-type": "atomic"})]


class PodPatches(KubeModel):
    """The patches of the pods of a group: members and surplus pods."""

    members: _Whole = None
    """For pods whose index is below minReplicas of their group."""

    surplus: _Whole = None
    """For the other pods. If absent, `members` applies; if empty, nothing."""

    def of_pod(self, index: int, min_replicas: int) -> PodPatch:
        """Return the patch of the pod with this index in its group."""
        if index >= min_replicas and self.surplus is not None:
            return self.surplus
        return self.members or PodPatch()
