"""How a gang fares, in kube-scheduler's words.

A PodGroup's condition is about the last attempt and stays at True for ever once it was, so it
is listened to only while the gang is not placed and only if it is False. On 1.36 it has no
numbers, and on 1.35 there is none: the numbers are then in the PodScheduled condition of a
pod that found no node. Members that wait for the others have no condition of their own, or
an old one about a gate. Nothing is repeated that was said before the gang was released.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from backend_controllers.contract.declaration import Facts, Words
from backend_controllers.default.membership import (
    GATE,
    gang_name,
    groups_below,
    is_bound,
    members,
)
from backend_controllers.default.messages import cleaned, names_nodes
from backend_controllers.default.served import GroupCondition, PodGroup
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched

REASON_GATED = "SchedulingGated"
ONE_BY_ONE = (
    "its pods are bound one by one: kube-scheduler runs without gang scheduling; set its feature"
    " gates GenericWorkload and, on Kubernetes 1.35 and 1.36, GangScheduling"
)

_GROUP_CONDITIONS = frozenset({"PodGroupScheduled", "PodGroupInitiallyScheduled"})
_ERROR = "SchedulerError"
_SAYS_WHY = frozenset({"Unschedulable", _ERROR})
_GROUPS_SHOWN = 4
_NOTHING_TO_SAY = Words()


def mirror_groups(
    groups: Resource, gang: PodGang, facts: Facts, *, surplus_stands_in: bool = False
) -> Words:
    """What is to say about a gang that has PodGroups of this kind."""
    found = tuple(group for group in facts.owned(groups) if isinstance(group, PodGroup))
    return _mirror(gang, members(gang, facts.pods, surplus_stands_in=surplus_stands_in), found)


def mirror_pods(gang: PodGang, facts: Facts, *, surplus_stands_in: bool = False) -> Words:
    """What is to say about a gang of which only the pods tell anything."""
    return _mirror(gang, members(gang, facts.pods, surplus_stands_in=surplus_stands_in), ())


def failures_of(group: Watched) -> tuple[GroupCondition, ...]:
    """What of a PodGroup is worth a look: success is seen by the pods that get nodes."""
    if not isinstance(group, PodGroup):
        return ()
    return tuple(condition for condition in group.conditions if _is_failure(condition))


def _is_failure(condition: GroupCondition) -> bool:
    return condition.type in _GROUP_CONDITIONS and condition.status == "False"


def _mirror(gang: PodGang, found: Sequence[tuple[str, Pod]], groups: Sequence[PodGroup]) -> Words:
    short = groups_below(gang, (group for group, pod in found if is_bound(pod)))
    if not short:
        return _NOTHING_TO_SAY
    # More than enough may be free while somebody holds a pod back.
    lacking = groups_below(gang, (group for group, pod in found if not pod.is_gated))
    held = tuple(pod for group, pod in found if group in lacking and pod.is_gated)
    if held:
        return Words(*_held(held))
    waiting = tuple(pod for group, pod in found if group in short and not is_bound(pod))
    reason, message = _why_not(gang, groups, waiting)
    pods = tuple(pod for _, pod in found)
    remarks = (ONE_BY_ONE,) if groups and _is_split(groups, pods) else ()
    return Words(reason, message, remarks=remarks)


def _why_not(gang: PodGang, groups: Sequence[PodGroup], waiting: Sequence[Pod]) -> tuple[str, str]:
    failures = _failures(gang, groups)
    for reason, text in failures.values():
        if reason == _ERROR:
            return reason, text
    pod_reason, about_nodes = _most_common(_told_by(waiting))
    texts = _listed({group: text for group, (_, text) in failures.items()})
    # What pods say about their group, the group says better.
    if names_nodes(about_nodes) or not texts:
        texts.append(about_nodes)
    reasons = [reason for reason, _ in failures.values()] or [pod_reason]
    message = "; ".join(text for text in texts if text)
    # A reason without a text is the noise of a gang whose gates are just going.
    return (reasons[0], message) if message else ("", "")


def _failures(gang: PodGang, groups: Sequence[PodGroup]) -> dict[str, tuple[str, str]]:
    """Reason and text by group, where there is a text; one that stands for all has no name."""
    prefix = f"{gang_name(gang)}-"
    return {
        group.metadata.name.partition(prefix)[2]: (condition.reason, text)
        for group in sorted(groups, key=lambda group: group.metadata.name)
        for condition in failures_of(group)
        if (text := cleaned(condition.message))
    }


def _listed(texts: dict[str, str]) -> list[str]:
    """What the groups say, each by its name if they differ."""
    if len(set(texts.values())) < 2:
        return [*texts.values()][:1]
    named = [f"{group}: {text}" for group, text in texts.items()]
    more = len(named) - _GROUPS_SHOWN
    return [*named[:_GROUPS_SHOWN], *([f"and {more} more groups"] if more > 0 else [])]


def _told_by(pods: Sequence[Pod]) -> Iterator[tuple[str, str]]:
    for pod in pods:
        condition = pod.condition("PodScheduled")
        if condition is not None and condition.status == "False" and condition.reason in _SAYS_WHY:
            yield condition.reason, cleaned(condition.message)


def _most_common(told: Iterator[tuple[str, str]]) -> tuple[str, str]:
    """The reason and text that most say; errors and texts about nodes come first."""
    counted = Counter(one for one in told if one[1])
    if not counted:
        return "", ""
    return max(
        counted,
        key=lambda one: (one[0] == _ERROR, names_nodes(one[1]), counted[one], one),
    )


def _held(pods: Sequence[Pod]) -> tuple[str, str]:
    """Who else holds pods, once our own gate is gone."""
    if any(gate.name == GATE for pod in pods for gate in pod.spec.scheduling_gates):
        return "", ""
    held = Counter(gate.name for pod in pods for gate in pod.spec.scheduling_gates)
    listed = ", ".join(f"{name} ({count} pods)" for name, count in sorted(held.items()))
    return REASON_GATED, f"held by scheduling gates of others: {listed}"


def _is_split(groups: Sequence[PodGroup], pods: Sequence[Pod]) -> bool:
    """Tell whether pods have nodes while others find none, and no group was ever judged.

    The scheduler judges a group before it binds a pod of it.
    """
    judged = any(group.conditions for group in groups)
    return not judged and any(pod.spec.node_name for pod in pods) and any(_told_by(pods))
