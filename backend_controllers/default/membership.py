"""How a pod joins its gang, and which pods of a gang have not joined.

A pod names its group when it is created and cannot change that. The names contain the gang's UID:
a finalizer keeps a PodGroup while a pod names it, so the PodGroup of a deleted gang may exist for
long. A new gang of the same name must not use it.

A pod is not in the group, and never will be, if it was created before its gang got this UID,
before the API was served, or while it was above the minimum. A group that counts it would wait
forever. So each member has an annotation with the group that it joined (the field itself differs
between versions). A bound pod that did not join lowers what the group requests. A pod without a
node never does.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.models import (
    PodPatch,
    PodPreparationSpec,
    PodSpecPatch,
    PreparationMode,
    SchedulingGroup,
    WorkloadReference,
)

GATE = "scheduling.k8s.io/workload"
ANNOTATION_JOINED = "scheduler.grove.io/scheduling-group"
EMBEDDED_GROUP = "gang"
"""Name of the one group in a Workload of 1.35, and of the one template later."""

_GANG = "{gang}-{gangUID}"
_LEAF = "{gang}-{gangUID}-{group}"

Joined = Callable[[ObservedPodGang, str], str]
"""Returns the annotation of a member of a gang, given the name of its group."""


def gang_name(gang: ObservedPodGang) -> str:
    """Return the name of the object of a whole gang."""
    return f"{gang.metadata.name}-{gang.metadata.uid}"


def part_name(gang: ObservedPodGang, part: str) -> str:
    """Return the name of the object of one group, or of one set of groups."""
    return f"{gang_name(gang)}-{part}"


def joined_workload(gang: ObservedPodGang, _group: str) -> str:
    """Return the annotation of a member in 1.35."""
    return f"workload/{gang_name(gang)}"


def joined_gang(gang: ObservedPodGang, _group: str) -> str:
    """Return the annotation of a member of the one PodGroup of a gang."""
    return f"podgroup/{gang_name(gang)}"


def joined_leaf(gang: ObservedPodGang, group: str) -> str:
    """Return the annotation of a member of the PodGroup of one group."""
    return f"podgroup/{part_name(gang, group)}"


def in_workload(scheduler: str) -> PodPreparationSpec:
    """Return the preparation by which members join the Workload and surplus pods do not."""
    reference = WorkloadReference(name=_GANG, pod_group=EMBEDDED_GROUP)
    spec = PodSpecPatch(scheduler_name=scheduler, workload_ref=reference)
    return _static(f"workload/{_GANG}", spec, surplus=plain(scheduler).members)


def in_gang(scheduler: str) -> PodPreparationSpec:
    """Return the preparation by which members join the PodGroup of the gang.

    Surplus pods stay outside: inside, the surplus of one group could fill the minimum of another.
    """
    group = SchedulingGroup(pod_group_name=_GANG)
    spec = PodSpecPatch(scheduler_name=scheduler, scheduling_group=group)
    return _static(f"podgroup/{_GANG}", spec, surplus=plain(scheduler).members)


def in_leaf(scheduler: str) -> PodPreparationSpec:
    """Return the preparation by which all pods join the PodGroup of their group."""
    group = SchedulingGroup(pod_group_name=_LEAF)
    return _static(
        f"podgroup/{_LEAF}", PodSpecPatch(scheduler_name=scheduler, scheduling_group=group)
    )


def plain(scheduler: str) -> PodPreparationSpec:
    """Return the preparation of pods that join nothing."""
    patch = PodPatch(spec=PodSpecPatch(scheduler_name=scheduler))
    return PodPreparationSpec(mode=PreparationMode.STATIC, members=patch)


def _static(joined: str, spec: PodSpecPatch, **surplus: PodPatch | None) -> PodPreparationSpec:
    members = PodPatch(annotations={ANNOTATION_JOINED: joined}, spec=spec)
    return PodPreparationSpec(mode=PreparationMode.STATIC, members=members, **surplus)


def members(
    gang: ObservedPodGang, pods: Sequence[Pod], *, surplus_stands_in: bool = False
) -> tuple[tuple[str, Pod], ...]:
    """Return the pods that count for the minimum, each with the name of its group.

    If surplus pods may fill the minimum, these are all pods. A pod without an index was created by
    hand and counts as a member.
    """
    group_of = {
        reference.name: group for group in gang.spec.podgroups for reference in group.pod_references
    }
    return tuple(
        (group.name, pod)
        for pod in pods
        if (group := group_of.get(pod.metadata.name)) is not None
        and not pod.has_failed
        and (surplus_stands_in or (pod.index or 0) < group.min_replicas)
    )


def outsiders(gang: ObservedPodGang, pods: Sequence[Pod], joined: Joined) -> Counter[str]:
    """Count the bound members of each group that can never join it.

    Members without a node do not count: core recreates them, or they get a node by themselves. If
    they lowered the minimum, the others could start without them.
    """
    return Counter(
        group
        for group, pod in members(gang, pods)
        if pod.is_bound and pod.metadata.annotations.get(ANNOTATION_JOINED) != joined(gang, group)
    )
