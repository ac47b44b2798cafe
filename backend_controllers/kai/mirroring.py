"""How KAI schedules a gang: reason, message and disruption.

KAI publishes neither a phase nor success: a gang is scheduled when its pods are bound. KAI's one
condition has the reason why a cycle scheduled nothing. It is written once and, before v0.17, never removed.
So it counts only while no pod of the gang is bound and KAI has not started the gang since. The
rest comes from the pods. While members are missing or gated, KAI does not try the gang, so older
messages about it are not repeated.
"""

from collections.abc import Sequence

from backend_controllers.contract.declaration import Facts, Report
from backend_controllers.contract.pod_counts import group_of, members_are_ungated
from backend_controllers.contract.requested_values import requested_values
from backend_controllers.contract.scheduling_conditions import unscheduled_conditions
from backend_controllers.contract.timestamps import time_of
from backend_controllers.kai import evictions, messages, podgrouper, queues
from backend_controllers.kai.api import PODGROUPS, KaiPodGroup, SchedulingCondition, pod_group_name
from backend_controllers.kai.installation import KaiInstallation
from backend_controllers.kai.membership import (
    groups_below_minimum,
    pods_of_earlier_gang,
    pods_of_grove,
)
from backend_controllers.kai.topology_levels import topology_problem
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod

PODGROUPER_CLASH = "PodGrouperClash"
EARLIER_GANG = names.REASON_PODS_OF_EARLIER_GANG
_NAMED = 8
"""Pods whose names fit in a condition, with the rest of the message."""


def mirror(installation: KaiInstallation, gang: ObservedPodGang, facts: Facts) -> Report:
    """Return what KAI reports about a gang."""
    pod_group = _pod_group(gang, facts)
    clash = podgrouper.clash(installation.features, gang, facts, pod_group)
    announced = _announced_eviction(gang, facts.pods)
    if not groups_below_minimum(gang, facts.pods):
        return Report(disruption=announced, remarks=(clash,) if clash else ())
    eviction = evictions.last_eviction(gang, pod_group, facts) if pod_group else None
    disruption_reason = evictions.reason_of(eviction) if eviction else ""
    disruption = evictions.message_of(eviction) if eviction else announced
    reason, message = _why_unscheduled(installation, gang, facts, pod_group)
    if not (reason or message) and clash:
        reason, message = PODGROUPER_CLASH, clash
    if not reason and disruption_reason:
        reason, message = disruption_reason, disruption
    return Report(
        reason=reason,
        message=message,
        disruption=disruption,
        disruption_reason=disruption_reason,
        remarks=(clash,) if clash and reason != PODGROUPER_CLASH else (),
    )


def _why_unscheduled(
    installation: KaiInstallation,
    gang: ObservedPodGang,
    facts: Facts,
    pod_group: KaiPodGroup | None,
) -> tuple[str, str]:
    queue = queues.queue_of(installation, requested_values(gang, facts))
    problem = queues.queue_problem(queue, facts) if queue else None
    if problem is None and installation.features.topology:
        problem = topology_problem(gang, facts)
    if problem is not None:
        return problem
    earlier = tuple(pods_of_earlier_gang(gang, facts.pods))
    if stuck := _stuck_pods(gang, facts.pods, earlier):
        return EARLIER_GANG, (
            "KAI never schedules pods that were created for an earlier gang of this name."
            f" {_deletion(gang, stuck)}"
        )
    if not members_are_ungated(gang, facts.pods):
        return "", ""
    others = (*earlier, *pods_of_grove(gang, facts.pods))
    joined = tuple(pod for pod in facts.pods if pod not in others) if others else facts.pods
    return _reported_by_kai(pod_group, joined)


def _reported_by_kai(pod_group: KaiPodGroup | None, pods: tuple[Pod, ...]) -> tuple[str, str]:
    failed = _failed_binding(pods)
    if failed:
        return "BindingFailed", failed
    condition = _current(pod_group, pods)
    if condition is not None:
        return messages.explain(condition.reasons or (messages.explanation_of(condition.message),))
    if _is_binding(pod_group, pods):
        # No reason: this ends soon unless the binder is down.
        return "", "KAI chose the nodes, and its binder has not bound all pods yet"
    conditions = unscheduled_conditions(pods, "Unschedulable")
    reported = sorted({condition.message for condition in conditions if condition.message})
    return messages.explain(map(messages.explanation_of, reported)) if reported else ("", "")


def _pod_group(gang: ObservedPodGang, facts: Facts) -> KaiPodGroup | None:
    name = pod_group_name(gang.metadata.name, gang.metadata.uid)
    found = facts.get(PODGROUPS, gang.metadata.namespace, name)
    return found if isinstance(found, KaiPodGroup) else None


def _current(pod_group: KaiPodGroup | None, pods: tuple[Pod, ...]) -> SchedulingCondition | None:
    """Return the newest condition if it is about the pods as they are now."""
    if pod_group is None or any(pod.is_bound for pod in pods):
        # KAI stops updating the condition as soon as one pod of the group is bound.
        return None
    conditions = pod_group.status.scheduling_conditions
    newest = max(conditions, key=_transition, default=None)
    if newest is None or newest.status != "True":
        return None
    started, since = evictions.last_start(pod_group), time_of(newest.last_transition_time)
    if started is not None and (since is None or since <= started):
        return None
    return newest


def _is_binding(pod_group: KaiPodGroup | None, pods: tuple[Pod, ...]) -> bool:
    """Tell whether KAI has chosen nodes for all unbound pods. Pods created later have none."""
    started = evictions.last_start(pod_group) if pod_group else None
    if started is None:
        return False
    created = (time_of(pod.metadata.creation_timestamp) for pod in pods if not pod.is_bound)
    return all(at is not None and at <= started for at in created)


def _transition(condition: SchedulingCondition) -> int:
    number = condition.transition_id
    # Any client may write the status. Python converts no number of more than 4,300 digits.
    return int(number) if number.isdecimal() and len(number) < 100 else -1


def _failed_binding(pods: tuple[Pod, ...]) -> str:
    waiting = (pod for pod in pods if not pod.is_bound)
    failures = (pod.condition(kind) for pod in waiting for kind in ("PodBound", "PodScheduled"))
    found = {
        failure.message.rstrip(" .")
        for failure in failures
        if failure is not None and failure.status == "False" and failure.reason == "BindingError"
    }
    return "; ".join(sorted(found))


def _announced_eviction(gang: ObservedPodGang, pods: tuple[Pod, ...]) -> str:
    """Return the eviction that KAI has announced on pods, if it is configured to do so.

    It does not disrupt the gang while every group keeps its minimum without these pods.
    """
    targets = {
        pod.metadata.name: target
        for pod in pods
        if (target := pod.condition("DisruptionTarget")) is not None and target.status == "True"
    }
    if not targets:
        return ""
    hit = groups_below_minimum(gang, (pod for pod in pods if pod.metadata.name not in targets))
    for pod in pods:
        target = targets.get(pod.metadata.name)
        if target is not None and group_of(pod) in hit:
            return f"pod {pod.metadata.name} is being evicted: {target.message or target.reason}"
    return ""


def _deletion(gang: ObservedPodGang, pods: Sequence[str]) -> str:
    """Return how to delete these pods; so many that a condition has no place for them, by a command.

    The command also deletes unbound pods of this gang, which are recreated and lose nothing.
    """
    if len(pods) <= _NAMED:
        return f"Delete them to recreate them: {', '.join(pods)}"
    return (
        f"Delete the unbound pods of the gang to recreate them: kubectl -n {gang.metadata.namespace}"
        f" delete pods -l {names.LABEL_PODGANG}={gang.metadata.name} --field-selector=spec.nodeName="
    )


def _stuck_pods(
    gang: ObservedPodGang, pods: tuple[Pod, ...], earlier: tuple[Pod, ...]
) -> list[str]:
    """Return the pods of an earlier gang that keep this gang below its minimum."""
    below = groups_below_minimum(gang, pods)
    return sorted(
        pod.metadata.name for pod in earlier if not pod.is_bound and group_of(pod) in below
    )
