"""When Koordinator may see the PodGroups of a gang.

Koordinator counts gated pods as members that wait. Once there is capacity for all, it binds those
that are not gated. So the PodGroups are written when every member is ungated. A gang that loses
all its members after it ran is blocked as well, but by a minimum that cannot be reached: if its
PodGroups were deleted, Koordinator would forget the pods that it has counted.
"""

import enum

from backend_controllers.contract.declaration import Facts
from backend_controllers.koordinator.api import KEY_POD_GROUP, PODGROUPS
from backend_controllers.koordinator.membership import gang_groups, members, pod_group_name
from shared_api.kube.podgangs import ObservedPodGang

UNREACHABLE = 2**31 - 1
"""A minimum with which Koordinator schedules nothing, however many pods exist."""
AWAITS_UNGATED = (
    "the PodGroups are written when every member is ungated, since Koordinator would bind ungated"
    " members without the others"
)
AWAITS_AGAIN = (
    "all members were lost: the PodGroups request more pods than can exist until the new members"
    " are ungated and the old ones are gone"
)


class Visibility(enum.Enum):
    """What Koordinator may see of a gang now."""

    HIDDEN = "hidden"
    """No PodGroups."""
    BLOCKED = "blocked"
    """PodGroups from before, with a minimum that cannot be reached."""
    VISIBLE = "visible"


def visibility_of(gang: ObservedPodGang, facts: Facts) -> Visibility:
    """Return what Koordinator may see, given the gang's pods and PodGroups."""
    found = list(members(gang, facts.pods))
    is_known = bool(facts.owned(PODGROUPS))
    is_single = sum(group.min_replicas for group, _ in found) < 2
    if is_known and (is_single or any(pod.is_bound for _, pods in found for pod in pods)):
        # The gang runs. Lost members are recreated one by one and counted with the rest.
        return Visibility.VISIBLE
    is_whole = all(
        len(pods) >= group.min_replicas and not any(pod.is_gated for pod in pods)
        for group, pods in found
    )
    if is_whole and not (is_known and _counts_lost_members(gang, facts)):
        return Visibility.VISIBLE
    return Visibility.BLOCKED if is_known else Visibility.HIDDEN


def _counts_lost_members(gang: ObservedPodGang, facts: Facts) -> bool:
    """Tell whether terminating members are still bound: Koordinator counts them as running."""
    ours = {pod_group_name(gang, group.name) for group in gang_groups(gang)}
    return any(
        pod.is_bound and pod.metadata.labels.get(KEY_POD_GROUP) in ours for pod in facts.leaving
    )
