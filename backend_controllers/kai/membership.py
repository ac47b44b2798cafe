"""Which pods of a gang are in its PodGroup, and what the PodGroup has to ask for.

A pod names its PodGroup when it is made, and that name has the gang's UID. Pods that ran on while
somebody deleted their gang name the PodGroup of an earlier gang, which is gone, and KAI never
counts them for the new one. What they hold is not asked for again, else the pod that replaces
one of them would wait for ever. One of them that has no node never gets one, and is not counted
on: the gang is placed whole or not at all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from backend_controllers.contract.pod_counts import group_of
from backend_controllers.kai.api import KEY_POD_GROUP, gang_of, pod_group_name
from backend_controllers.kai.features import Features
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod

_ENDED = frozenset({"Failed", "Succeeded"})


def groups_below(gang: PodGang, pods: Iterable[Pod]) -> frozenset[str]:
    """The groups whose minimum is not on nodes, if these are the pods."""
    bound = Counter(
        group_of(pod) for pod in pods if pod.spec.node_name and pod.status.phase != "Failed"
    )
    return frozenset(
        group.name for group in gang.spec.podgroups if bound[group.name] < group.min_replicas
    )


def of_earlier_gang(gang: PodGang, pods: Iterable[Pod]) -> Iterator[Pod]:
    """The released pods that were made for an earlier gang of this name.

    Those that are still held do not count: core makes them anew with what is wanted now.
    """
    ours = pod_group_name(gang.metadata.name, gang.metadata.uid)
    for pod in pods:
        named = pod.metadata.annotations.get(KEY_POD_GROUP, "")
        if named != ours and gang_of(named) == gang.metadata.name and not pod.is_gated:
            yield pod


def asked_of(gang: PodGang, pods: Sequence[Pod], features: Features) -> dict[str, int]:
    """How many pods of each group KAI has to place together; groups that ask for none may lack."""
    earlier = tuple(of_earlier_gang(gang, pods))
    holding = Counter(
        group_of(pod) for pod in earlier if pod.spec.node_name and pod.status.phase not in _ENDED
    )
    asked = {
        group.name: max(group.min_replicas - holding[group.name], 0)
        for group in gang.spec.podgroups
    }
    if features.empty_groups or not holding:
        return asked
    if not any(asked.values()):
        # Surplus pods are placed too, and here only through a sub-group that asks for one.
        joined = {group_of(pod) for pod in pods if pod not in earlier}
        asked = dict.fromkeys((name for name in asked if name in joined), 1)
    return {name: count for name, count in asked.items() if count}
