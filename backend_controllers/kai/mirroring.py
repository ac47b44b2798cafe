"""How a gang fares, in KAI's words.

KAI publishes neither a phase nor success: a gang is placed when its pods have nodes. Its
one condition says why a cycle placed nothing, is written once, and before v0.17 stays for
ever, so it counts only while nothing of the gang is bound and no start came after it.
Pods of the gang say the rest. While members are missing or gated KAI does not look at the
gang, and old words about it are not repeated.
"""

from backend_controllers.contract.declaration import Facts, Words
from backend_controllers.contract.pod_counts import group_of, members_are_ungated
from backend_controllers.contract.timestamps import time_of
from backend_controllers.kai import evictions, podgrouper, queues
from backend_controllers.kai import messages as texts
from backend_controllers.kai import topology_levels as placement
from backend_controllers.kai.api import (
    PODGROUPS,
    Explanation,
    ObservedPodGroup,
    SchedulingCondition,
    pod_group_name,
)
from backend_controllers.kai.features import KaiInstallation
from backend_controllers.kai.membership import groups_below, of_earlier_gang
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod

PODGROUPER_CLASH = "PodGrouperClash"
EARLIER_GANG = "PodsOfEarlierGang"


def mirror(installation: KaiInstallation, gang: PodGang, facts: Facts) -> Words:
    """What there is to say about a gang."""
    pod_group = _pod_group(gang, facts)
    clash = podgrouper.clash(installation.features, gang, facts, pod_group)
    announced = _announced(gang, facts.pods)
    if not groups_below(gang, facts.pods):
        return Words(disruption=announced, remarks=(clash,) if clash else ())
    eviction = evictions.last_eviction(gang, pod_group, facts) if pod_group else None
    taken = evictions.reason_of(eviction) if eviction else ""
    disruption = evictions.text_of(eviction) if eviction else announced
    reason, message = _why_not(installation, gang, facts, pod_group)
    if not (reason or message) and clash:
        reason, message = PODGROUPER_CLASH, clash
    if not reason and taken:
        reason, message = taken, disruption
    return Words(
        reason=reason,
        message=message,
        disruption=disruption,
        disruption_reason=taken,
        remarks=(clash,) if clash and reason != PODGROUPER_CLASH else (),
    )


def _why_not(
    installation: KaiInstallation, gang: PodGang, facts: Facts, pod_group: ObservedPodGroup | None
) -> tuple[str, str]:
    name = queues.queue_of(gang, installation.options.default_queue)
    flaw = queues.flaw_of(name, facts) if name else None
    if flaw is None and installation.features.topology:
        flaw = placement.flaw_of(gang, facts)
    if flaw is not None:
        return flaw
    earlier = tuple(of_earlier_gang(gang, facts.pods))
    if stuck := _stuck(gang, facts.pods, earlier):
        return EARLIER_GANG, stuck
    if not members_are_ungated(gang, facts.pods):
        return "", ""
    joined = tuple(pod for pod in facts.pods if pod not in earlier) if earlier else facts.pods
    return _told_by_kai(pod_group, joined)


def _told_by_kai(pod_group: ObservedPodGroup | None, pods: tuple[Pod, ...]) -> tuple[str, str]:
    failed = _failed_binding(pods)
    if failed:
        return "BindingFailed", failed
    condition = _current(pod_group, pods)
    if condition is not None:
        listed = condition.reasons or (texts.explanation_of(condition.message),)
        return texts.explain(listed)
    if _is_binding(pod_group, pods):
        # Without a reason: this passes in a moment unless the binder is down.
        return "", "KAI chose the nodes, its binder has not bound all pods yet"
    told = _told_by_pods(pods)
    return texts.explain(told) if told else ("", "")


def _pod_group(gang: PodGang, facts: Facts) -> ObservedPodGroup | None:
    name = pod_group_name(gang.metadata.name, gang.metadata.uid)
    found = facts.get(PODGROUPS, gang.metadata.namespace, name)
    return found if isinstance(found, ObservedPodGroup) else None


def _current(
    pod_group: ObservedPodGroup | None, pods: tuple[Pod, ...]
) -> SchedulingCondition | None:
    if pod_group is None or any(pod.spec.node_name for pod in pods):
        # KAI leaves the condition alone as soon as anything of the group has a node.
        return None
    conditions = pod_group.status.scheduling_conditions
    newest = max(conditions, key=_transition, default=None)
    if newest is None or newest.status != "True":
        return None
    started, since = evictions.last_start(pod_group), time_of(newest.last_transition_time)
    if started is not None and (since is None or since <= started):
        return None
    return newest


def _is_binding(pod_group: ObservedPodGroup | None, pods: tuple[Pod, ...]) -> bool:
    """Tell whether KAI has chosen nodes for all pods that have none; later pods were no part of it."""
    started = evictions.last_start(pod_group) if pod_group else None
    if started is None:
        return False
    made = (time_of(pod.metadata.creation_timestamp) for pod in pods if not pod.spec.node_name)
    return all(at is not None and at <= started for at in made)


def _transition(condition: SchedulingCondition) -> int:
    number = condition.transition_id
    # Anybody may write the status. Python reads no number of more than 4,300 digits.
    return int(number) if number.isdecimal() and len(number) < 100 else -1


def _told_by_pods(pods: tuple[Pod, ...]) -> list[Explanation]:
    conditions = (pod.condition("PodScheduled") for pod in pods if not pod.spec.node_name)
    told = {
        condition.message
        for condition in conditions
        if condition is not None
        and condition.status == "False"
        and condition.reason == "Unschedulable"
        and condition.message
    }
    return [texts.explanation_of(message) for message in sorted(told)]


def _failed_binding(pods: tuple[Pod, ...]) -> str:
    waiting = (pod for pod in pods if not pod.spec.node_name)
    failures = (pod.condition(kind) for pod in waiting for kind in ("PodBound", "PodScheduled"))
    messages = {
        failure.message.rstrip(" .")
        for failure in failures
        if failure is not None and failure.status == "False" and failure.reason == "BindingError"
    }
    return "; ".join(sorted(messages))


def _announced(gang: PodGang, pods: tuple[Pod, ...]) -> str:
    """An eviction that pods carry already, where KAI's scheduler is told to mark them.

    It is none of the gang as long as every group keeps its minimum without these pods.
    """
    marked = {
        pod.metadata.name: target
        for pod in pods
        if (target := pod.condition("DisruptionTarget")) is not None and target.status == "True"
    }
    if not marked:
        return ""
    hit = groups_below(gang, (pod for pod in pods if pod.metadata.name not in marked))
    for pod in pods:
        target = marked.get(pod.metadata.name)
        if target is not None and group_of(pod) in hit:
            return f"pod {pod.metadata.name} is being evicted: {target.message or target.reason}"
    return ""


def _stuck(gang: PodGang, pods: tuple[Pod, ...], earlier: tuple[Pod, ...]) -> str:
    """Which pods keep the gang from its minimum, since KAI never places them."""
    short = groups_below(gang, pods)
    stuck = sorted(
        pod.metadata.name for pod in earlier if not pod.spec.node_name and group_of(pod) in short
    )
    if not stuck:
        return ""
    return (
        "pods that were made for an earlier gang of this name are never placed: delete"
        f" {', '.join(stuck)} for them to be made anew"
    )
