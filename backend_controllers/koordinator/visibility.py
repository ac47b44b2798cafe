"""When Koordinator may know a gang.

It takes pods that are still gated for members that only wait, and when there is room for all
it binds those that are not gated. So it is told of a gang when every member is free. A gang
that is lost after it was placed is held in the same way, but by a minimum that cannot be
reached: a PodGroup that goes takes the pods along that Koordinator has counted, and one that
comes back finds none of them.
"""

import enum

from backend_controllers.contract.declaration import Facts
from backend_controllers.koordinator.api import KEY_POD_GROUP, PODGROUPS
from backend_controllers.koordinator.membership import gang_groups, members, pod_group_name
from shared_api.kube.podgangs import PodGang

UNREACHABLE = 2**31 - 1
"""A minimum with which nothing is scheduled, however many pods there are."""
AWAITS = (
    "the PodGroups follow when every member is released, since Koordinator would bind those that"
    " are without the others"
)
AWAITS_AGAIN = (
    "all members were lost: the PodGroups ask for more pods than there can be until the new"
    " members are released and the old ones are gone"
)


class Knowledge(enum.Enum):
    """What Koordinator may know of a gang now."""

    NOTHING = "nothing"
    HELD = "held"
    """It knows the gang from before, and must not schedule it."""
    ALL = "all"


def knowledge_of(gang: PodGang, facts: Facts) -> Knowledge:
    """What Koordinator may know, given the gang's pods and PodGroups."""
    found = list(members(gang, facts.pods))
    known = bool(facts.owned(PODGROUPS))
    is_one = sum(group.min_replicas for group, _ in found) < 2
    if known and (is_one or any(pod.spec.node_name for _, pods in found for pod in pods)):
        # It runs. What it lost is made anew one by one, and counted with the rest.
        return Knowledge.ALL
    is_whole = all(
        len(pods) >= group.min_replicas and not any(pod.is_gated for pod in pods)
        for group, pods in found
    )
    if is_whole and not (known and _is_counted_still(gang, facts)):
        return Knowledge.ALL
    return Knowledge.HELD if known else Knowledge.NOTHING


def _is_counted_still(gang: PodGang, facts: Facts) -> bool:
    """Tell whether lost members keep their nodes, which Koordinator takes for running ones."""
    ours = {pod_group_name(gang, group.name) for group in gang_groups(gang)}
    return any(
        pod.spec.node_name and pod.metadata.labels.get(KEY_POD_GROUP) in ours
        for pod in facts.leaving
    )
