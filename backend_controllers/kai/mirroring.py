"""How a gang fares, in KAI's words.

KAI publishes neither a phase nor success: a gang is placed when its pods have nodes. Its
one condition says why a cycle placed nothing, is written once, and before v0.17 stays for
ever, so it counts only while nothing of the gang is bound and no start came after it.
Pods of the gang say the rest. While members are missing or gated KAI does not look at the
gang, and old words about it are not repeated.
"""

from collections import Counter

from backend_controllers.contract import Facts, Words
from backend_controllers.kai import evictions, placement, queues, texts
from backend_controllers.kai.api import (
    KEY_POD_GROUP,
    KEY_SKIP_PODGROUPER,
    PODGROUPS,
    Explanation,
    ObservedPodGroup,
    SchedulingCondition,
    pod_group_name,
)
from backend_controllers.kai.translation import Speech
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodGang

PODGROUPER_CLASH = "PodGrouperClash"


def mirror(speech: Speech, gang: PodGang, facts: Facts) -> Words:
    """What there is to say about a gang."""
    pod_group = _pod_group(gang, facts)
    clash = _clash(speech, gang, facts, pod_group)
    if is_placed(gang, facts.pods):
        return Words(disruption=_announced(facts), remarks=(clash,) if clash else ())
    eviction = evictions.last_eviction(pod_group, facts) if pod_group else None
    disruption = evictions.text_of(eviction) if eviction else _announced(facts)
    reason, message = _why_not(speech, gang, facts, pod_group)
    if not reason and clash:
        reason, message = PODGROUPER_CLASH, clash
    if not reason and eviction is not None:
        reason, message = evictions.reason_of(eviction), disruption
    return Words(
        reason=reason,
        message=message,
        disruption=disruption,
        remarks=(clash,) if clash and reason != PODGROUPER_CLASH else (),
    )


def is_placed(gang: PodGang, pods: tuple[Pod, ...]) -> bool:
    """Tell whether every group has its minimum on nodes."""
    bound = Counter(
        pod.metadata.labels.get(names.LABEL_PODCLIQUE)
        for pod in pods
        if pod.spec.node_name and pod.status.phase != "Failed"
    )
    return all(bound[group.name] >= group.min_replicas for group in gang.spec.podgroups)


def _why_not(
    speech: Speech, gang: PodGang, facts: Facts, pod_group: ObservedPodGroup | None
) -> tuple[str, str]:
    name = queues.queue_of(gang, speech.options.default_queue)
    flaw = queues.flaw_of(name, facts) if name else None
    if flaw is None and speech.features.topology:
        flaw = placement.flaw_of(gang, facts)
    if flaw is not None:
        return flaw
    if not _is_looked_at(gang, facts.pods):
        return "", ""
    failed = _failed_binding(facts.pods)
    if failed:
        return "BindingFailed", failed
    condition = _current(pod_group, facts.pods)
    if condition is not None:
        listed = condition.reasons or (texts.explanation_of(condition.message),)
        return texts.explain(listed)
    if _is_binding(pod_group, facts.pods):
        # Without a reason: this passes in a moment unless the binder is down.
        return "", "KAI chose the nodes, its binder has not bound all pods yet"
    told = _told_by_pods(facts.pods)
    return texts.explain(told) if told else ("", "")


def _pod_group(gang: PodGang, facts: Facts) -> ObservedPodGroup | None:
    name = pod_group_name(gang.metadata.name, gang.metadata.uid or "")
    found = facts.get(PODGROUPS, gang.metadata.namespace or "", name)
    return found if isinstance(found, ObservedPodGroup) else None


def _is_looked_at(gang: PodGang, pods: tuple[Pod, ...]) -> bool:
    free = Counter(
        pod.metadata.labels.get(names.LABEL_PODCLIQUE) for pod in pods if not pod.is_gated
    )
    return all(free[group.name] >= group.min_replicas for group in gang.spec.podgroups)


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
    started, since = evictions.last_start(pod_group), evictions.time_of(newest.last_transition_time)
    if started is not None and (since is None or since <= started):
        return None
    return newest


def _is_binding(pod_group: ObservedPodGroup | None, pods: tuple[Pod, ...]) -> bool:
    """Tell whether KAI has chosen nodes for all pods that have none; later pods were no part of it."""
    started = evictions.last_start(pod_group) if pod_group else None
    if started is None:
        return False
    made = (
        evictions.time_of(pod.metadata.creation_timestamp) for pod in pods if not pod.spec.node_name
    )
    return all(at is not None and at <= started for at in made)


def _transition(condition: SchedulingCondition) -> int:
    return int(condition.transition_id) if condition.transition_id.isdigit() else -1


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


def _announced(facts: Facts) -> str:
    """An eviction that pods carry already, where KAI's scheduler is told to mark them."""
    for pod in facts.pods:
        target = pod.condition("DisruptionTarget")
        if target is not None and target.status == "True":
            return f"pod {pod.metadata.name} is being evicted: {target.message or target.reason}"
    return ""


def _clash(speech: Speech, gang: PodGang, facts: Facts, pod_group: ObservedPodGroup | None) -> str:
    ours = pod_group_name(gang.metadata.name, gang.metadata.uid or "")
    groups = {pod.metadata.annotations.get(KEY_POD_GROUP, "") for pod in facts.pods} - {ours}
    if groups:
        others = ", ".join(group or "none" for group in sorted(groups))
        found = f"pods of the gang were given to another PodGroup: {others}"
    elif pod_group is not None and pod_group.spec.min_member is not None:
        found = f"KAI's podgrouper has written into PodGroup {ours}"
    else:
        return ""
    if speech.features.min_sub_group:
        fix = f"set the annotation {KEY_SKIP_PODGROUPER}=true on the PodCliqueSet"
    else:
        fix = (
            "upgrade KAI to v0.15 or newer, or keep its podgrouper away from this namespace with"
            " its flag --namespace-label-selector"
        )
    return f"{found}; {fix}, and delete the pods for them to be made anew"
