"""How a pod joins its gang, and which pods of a gang have not joined.

A pod names its group when it is created and cannot change that. The names contain the gang's
UID: a PodGroup is held by a finalizer while a pod names it, so that one of a deleted gang may
be there for long, and the gang that follows under the same name must not meet it.

A pod that was created before its gang got this UID, before the API was served, or while it
was still above the minimum, is not in the group and never will be. Counting on it would make
the group wait for ever. Each member therefore carries what it joined as an annotation (the
field itself has a different form in every version). A pod that has a node and did not join is
not asked for again; one that has no node never lowers what the group asks for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from shared_api import names
from shared_api.kube.podgangs import PodGang
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
_ENDED = frozenset({"Failed", "Succeeded"})

Joined = Callable[[PodGang, str], str]
"""What the annotation of a member of a gang says, given the name of its group."""


def gang_name(gang: PodGang) -> str:
    """The name of what stands for a whole gang."""
    return f"{gang.metadata.name}-{gang.metadata.uid}"


def part_name(gang: PodGang, part: str) -> str:
    """The name of what stands for one group, or one set of groups, of a gang."""
    return f"{gang_name(gang)}-{part}"


def joined_workload(gang: PodGang, _group: str) -> str:
    """Membership as in 1.35."""
    return f"workload/{gang_name(gang)}"


def joined_gang(gang: PodGang, _group: str) -> str:
    """Membership in the one PodGroup of a gang."""
    return f"podgroup/{gang_name(gang)}"


def joined_leaf(gang: PodGang, group: str) -> str:
    """Membership in the PodGroup of one group."""
    return f"podgroup/{part_name(gang, group)}"


def in_workload(scheduler: str) -> PodPreparationSpec:
    """Members join the Workload, the others stay outside."""
    reference = WorkloadReference(name=_GANG, pod_group=EMBEDDED_GROUP)
    spec = PodSpecPatch(scheduler_name=scheduler, workload_ref=reference)
    return _prepared(f"workload/{_GANG}", spec, plain(scheduler).members)


def in_gang(scheduler: str) -> PodPreparationSpec:
    """Members join the one PodGroup of the gang, the others stay outside.

    Were they in it, the surplus of one group could stand in for the minimum of another.
    """
    spec = PodSpecPatch(
        scheduler_name=scheduler, scheduling_group=SchedulingGroup(pod_group_name=_GANG)
    )
    return _prepared(f"podgroup/{_GANG}", spec, plain(scheduler).members)


def in_leaf(scheduler: str) -> PodPreparationSpec:
    """All pods join the PodGroup of their group."""
    spec = PodSpecPatch(
        scheduler_name=scheduler, scheduling_group=SchedulingGroup(pod_group_name=_LEAF)
    )
    return _prepared(f"podgroup/{_LEAF}", spec, None)


def plain(scheduler: str) -> PodPreparationSpec:
    """Pods that belong to nothing."""
    patch = PodPatch(spec=PodSpecPatch(scheduler_name=scheduler))
    return PodPreparationSpec(mode=PreparationMode.STATIC, members=patch)


def _prepared(joined: str, spec: PodSpecPatch, surplus: PodPatch | None) -> PodPreparationSpec:
    members = PodPatch(annotations={ANNOTATION_JOINED: joined}, spec=spec)
    if surplus is None:
        return PodPreparationSpec(mode=PreparationMode.STATIC, members=members)
    return PodPreparationSpec(mode=PreparationMode.STATIC, members=members, surplus=surplus)


def members(
    gang: PodGang, pods: Sequence[Pod], *, surplus_stands_in: bool = False
) -> tuple[tuple[str, Pod], ...]:
    """The pods that the gang cannot do without, each with the name of its group.

    Where surplus stands in for them these are all pods. A pod to which nobody gave an index was
    made by hand and counts as a member.
    """
    group_of = {
        reference.name: group for group in gang.spec.podgroups for reference in group.pod_references
    }
    return tuple(
        (group.name, pod)
        for pod in pods
        if (group := group_of.get(pod.metadata.name)) is not None
        and pod.status.phase not in _ENDED
        and (surplus_stands_in or _index(pod) < group.min_replicas)
    )


def outsiders(gang: PodGang, pods: Sequence[Pod], joined: Joined) -> Counter[str]:
    """How many members of each group have a node and can never join it.

    Those without a node do not count: core recreates them, or they get a node by themselves.
    Would they lower the minimum, the others could start without them.
    """
    return Counter(
        group
        for group, pod in members(gang, pods)
        if is_bound(pod) and pod.metadata.annotations.get(ANNOTATION_JOINED) != joined(gang, group)
    )


def is_bound(pod: Pod) -> bool:
    """Tell whether a pod has a node."""
    return bool(pod.spec.node_name)


def groups_below(gang: PodGang, groups: Iterable[str]) -> frozenset[str]:
    """The groups whose minimum is not reached by pods of these groups."""
    found = Counter(groups)
    return frozenset(
        group.name for group in gang.spec.podgroups if found[group.name] < group.min_replicas
    )


def _index(pod: Pod) -> int:
    label = pod.metadata.labels.get(names.LABEL_POD_INDEX, "")
    return int(label) if label.isdecimal() and label.isascii() else 0
