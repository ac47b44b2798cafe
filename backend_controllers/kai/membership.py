"""Which pods of a gang belong to its PodGroup, and the minimums of that PodGroup.

A pod names its PodGroup when it is created, and that name contains the gang's UID. If a user
deletes a gang while its pods run, the pods name a PodGroup that no longer exists. KAI never counts
them for the new gang. Minimums that such bound pods fill are not requested again: otherwise the
replacement of one of them would wait forever. Such a pod without a node never gets one, so it is
not counted: the gang is scheduled as a whole or not at all.

Grove names the PodGroup like the gang. Pods that ran before the gang was taken over from Grove stay
in it, as long as they run. They fill minimums in the same way.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from backend_controllers.contract.minimums import groups_below
from backend_controllers.contract.pod_counts import group_of
from backend_controllers.kai.api import KEY_POD_GROUP, gang_of, pod_group_name
from backend_controllers.kai.installation import KaiFeatures
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod


def groups_below_minimum(gang: ObservedPodGang, pods: Iterable[Pod]) -> frozenset[str]:
    """Return the groups of a gang whose minimum is not bound, given these pods."""
    bound = (group_of(pod) for pod in pods if pod.is_bound and not pod.has_failed)
    return groups_below(gang, bound)


def pods_of_earlier_gang(gang: ObservedPodGang, pods: Iterable[Pod]) -> Iterator[Pod]:
    """Yield the ungated pods that were created for an earlier gang of this name.

    Gated pods are left out: core recreates them for this gang.
    """
    ours = pod_group_name(gang.metadata.name, gang.metadata.uid)
    for pod in pods:
        named = pod.metadata.annotations.get(KEY_POD_GROUP, "")
        if named != ours and gang_of(named) == gang.metadata.name and not pod.is_gated:
            yield pod


def pods_of_grove(gang: ObservedPodGang, pods: Iterable[Pod]) -> Iterator[Pod]:
    """Yield the ungated pods of a gang that are in the PodGroup that Grove made."""
    for pod in pods:
        if pod.metadata.annotations.get(KEY_POD_GROUP) == gang.metadata.name and not pod.is_gated:
            yield pod


def minimums(gang: ObservedPodGang, pods: Sequence[Pod], features: KaiFeatures) -> dict[str, int]:
    """Return how many pods of each group KAI must schedule together; some groups may be absent."""
    earlier = (*pods_of_earlier_gang(gang, pods), *pods_of_grove(gang, pods))
    filled = Counter(group_of(pod) for pod in earlier if pod.is_bound and not pod.has_failed)
    requested = {
        group.name: max(group.min_replicas - filled[group.name], 0) for group in gang.spec.podgroups
    }
    if features.empty_groups or not filled:
        return requested
    if not any(requested.values()):
        # Surplus pods need a sub-group too, and in this KAI its minimum is at least 1.
        joined = {group_of(pod) for pod in pods if pod not in earlier}
        requested = dict.fromkeys((name for name in requested if name in joined), 1)
    return {name: count for name, count in requested.items() if count}
