"""How kube-scheduler schedules a gang: reason and message.

The condition of a PodGroup is about the last attempt and stays True once it was. So it is read
only while the gang is not scheduled, and only if it is False. On 1.36 it has no numbers, and on
1.35 there is none: then the PodScheduled condition of a pod without a node has the numbers.
Members that wait for the others have no condition, or an old one about a gate. Messages from
before the gang was ungated are not repeated.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from backend_controllers.contract.declaration import Facts, Report
from backend_controllers.contract.minimums import groups_below
from backend_controllers.contract.scheduling_conditions import unscheduled_conditions
from backend_controllers.default.membership import GATE, gang_name, members
from backend_controllers.default.messages import cleaned, names_nodes
from backend_controllers.default.served import GroupCondition, WorkloadPodGroup
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched

REASON_GATED = "SchedulingGated"
ONE_BY_ONE = (
    "its pods are bound one by one: kube-scheduler runs without gang scheduling. Set its feature"
    " gates GenericWorkload and, on Kubernetes 1.35 and 1.36, GangScheduling"
)

_GROUP_CONDITIONS = frozenset({"PodGroupScheduled", "PodGroupInitiallyScheduled"})
_ERROR = "SchedulerError"
_GROUPS_SHOWN = 4


def mirror_groups(
    groups: Resource, gang: ObservedPodGang, facts: Facts, *, surplus_stands_in: bool = False
) -> Report:
    """Return what kube-scheduler reports about a gang that has PodGroups of this kind."""
    found = tuple(group for group in facts.owned(groups) if isinstance(group, WorkloadPodGroup))
    return _mirror(gang, members(gang, facts.pods, surplus_stands_in=surplus_stands_in), found)


def mirror_pods(gang: ObservedPodGang, facts: Facts, *, surplus_stands_in: bool = False) -> Report:
    """Return what kube-scheduler reports about a gang without PodGroups."""
    return _mirror(gang, members(gang, facts.pods, surplus_stands_in=surplus_stands_in), ())


def failures_of(group: Watched) -> tuple[GroupCondition, ...]:
    """Return the conditions that are False. Success is seen by the nodes of the pods."""
    if not isinstance(group, WorkloadPodGroup):
        return ()
    return tuple(
        condition
        for condition in group.conditions
        if condition.type in _GROUP_CONDITIONS and condition.status == "False"
    )


def _mirror(
    gang: ObservedPodGang, found: Sequence[tuple[str, Pod]], groups: Sequence[WorkloadPodGroup]
) -> Report:
    below = groups_below(gang, (group for group, pod in found if pod.is_bound))
    if not below:
        return Report()
    # Surplus pods may be gated while enough other pods of the group are not.
    lacking = groups_below(gang, (group for group, pod in found if not pod.is_gated))
    gated = tuple(pod for group, pod in found if group in lacking and pod.is_gated)
    if gated:
        return Report(*_foreign_gates(gated))
    waiting = tuple(pod for group, pod in found if group in below and not pod.is_bound)
    reason, message = _why_unscheduled(gang, groups, waiting)
    pods = tuple(pod for _, pod in found)
    remarks = (ONE_BY_ONE,) if groups and _is_split(groups, pods) else ()
    return Report(reason, message, remarks=remarks)


def _why_unscheduled(
    gang: ObservedPodGang, groups: Sequence[WorkloadPodGroup], waiting: Sequence[Pod]
) -> tuple[str, str]:
    failures = _failures(gang, groups)
    for reason, text in failures.values():
        if reason == _ERROR:
            return reason, text
    pod_reason, about_nodes = _most_common(_reported_by(waiting))
    lines = _lines({group: text for group, (_, text) in failures.items()})
    # A group has the better message about itself than its pods.
    if names_nodes(about_nodes) or not lines:
        lines.append(about_nodes)
    reasons = [reason for reason, _ in failures.values()] or [pod_reason]
    message = "; ".join(text for text in lines if text)
    # A reason without a message is the noise of a gang that is just being ungated.
    return (reasons[0], message) if message else ("", "")


def _failures(
    gang: ObservedPodGang, groups: Sequence[WorkloadPodGroup]
) -> dict[str, tuple[str, str]]:
    """Return reason and message by group; the group of the whole gang has an empty name."""
    prefix = f"{gang_name(gang)}-"
    return {
        group.metadata.name.partition(prefix)[2]: (condition.reason, text)
        for group in sorted(groups, key=lambda group: group.metadata.name)
        for condition in failures_of(group)
        if (text := cleaned(condition.message))
    }


def _lines(messages: dict[str, str]) -> list[str]:
    """Return the messages of the groups, with the group's name if they differ."""
    if len(set(messages.values())) < 2:
        return [*messages.values()][:1]
    named = [f"{group}: {text}" for group, text in messages.items()]
    more = len(named) - _GROUPS_SHOWN
    return [*named[:_GROUPS_SHOWN], *([f"and {more} more groups"] if more > 0 else [])]


def _reported_by(pods: Iterable[Pod]) -> list[tuple[str, str]]:
    """Return the reasons and cleaned messages of pods without a node."""
    conditions = unscheduled_conditions(pods, "Unschedulable", _ERROR)
    return [(condition.reason, cleaned(condition.message)) for condition in conditions]


def _most_common(reported: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the most common reason and message; errors and messages about nodes come first."""
    counted = Counter(one for one in reported if one[1])
    if not counted:
        return "", ""
    return max(counted, key=lambda one: (one[0] == _ERROR, names_nodes(one[1]), counted[one], one))


def _foreign_gates(pods: Sequence[Pod]) -> tuple[str, str]:
    """Return the foreign gates of pods, once our own gate is removed from all of them."""
    gates = Counter(gate.name for pod in pods for gate in pod.spec.scheduling_gates)
    if GATE in gates:
        return "", ""
    listed = ", ".join(f"{name} ({count} pods)" for name, count in sorted(gates.items()))
    return REASON_GATED, f"pods have foreign scheduling gates: {listed}"


def _is_split(groups: Sequence[WorkloadPodGroup], pods: Sequence[Pod]) -> bool:
    """Tell whether pods are bound while others do not fit, and no group has a condition.

    With gang scheduling, a group has a condition before one of its pods is bound.
    """
    has_condition = any(group.conditions for group in groups)
    return not has_condition and any(pod.is_bound for pod in pods) and bool(_reported_by(pods))
