"""The promise about the minimum, checked apart from the plans that should keep it.

Every deletion of ours passes here. Pods that serve must not become fewer than the minimum by
it; in the replica whose turn it is in an update, one pod of a clique, or one copy of a group,
may be away. What would break this is a defect: it is counted, and not done.
"""

from collections.abc import Sequence

from core_operator.plan.replicas import GroupFacts
from shared_api.kube.pods import Pod


def breaks_minimum(
    live: Sequence[Pod], delete: Sequence[Pod], minimum: int, replicas: int, *, is_turn: bool
) -> bool:
    """Tell whether a clique that stands alone would serve with fewer pods than it must."""
    floor = min(minimum, replicas - 1) if is_turn else minimum
    going = {pod.metadata.uid for pod in delete}
    before = sum(pod.is_ready for pod in live)
    after = sum(pod.is_ready for pod in live if pod.metadata.uid not in going)
    return after < min(floor, before)


def breaks_group(group: GroupFacts, copy: int) -> bool:
    """Tell whether a group would have fewer copies that serve than it must without this one."""
    floor = min(group.minimum, len(group.copies) - 1)
    after = sum(other.is_available for other in group.copies if other.index != copy)
    return after < min(floor, group.available)
