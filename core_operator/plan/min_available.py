"""minAvailable: whether a deletion would leave fewer ready pods or replicas than promised.

This check does not trust the plans that choose pods: it looks only at what would be left. Only
`writes/pod_writer.py` calls it, before each deletion from a PodClique that goes on running. A
deletion that fails the check is a defect of a plan: it is counted and not sent. In the replica that
is being updated, one pod of a PodClique or one replica of a scaling group may be missing.
"""

from collections.abc import Sequence

from core_operator.plan.pods.replicas import GroupFacts
from shared_api.kube.pods import Pod


def breaks_min_available(
    live: Sequence[Pod], delete: Sequence[Pod], minimum: int, replicas: int, *, is_updating: bool
) -> bool:
    """Return whether a PodClique would have fewer ready pods than its minAvailable."""
    floor = min(minimum, replicas - 1) if is_updating else minimum
    deleted = {pod.metadata.uid for pod in delete}
    before = sum(pod.is_ready for pod in live)
    after = sum(pod.is_ready for pod in live if pod.metadata.uid not in deleted)
    return after < min(floor, before)


def breaks_group_min_available(group: GroupFacts, replica: int) -> bool:
    """Return whether a scaling group would have too few available replicas without this one."""
    floor = min(group.minimum, len(group.replicas) - 1)
    after = sum(other.is_available for other in group.replicas if other.index != replica)
    return after < min(floor, group.available)
