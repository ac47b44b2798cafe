"""How a gang fares, in Volcano's words.

A gang is placed when its pods have nodes: the phase of a PodGroup lags, and of its two
conditions both stay True once they were. So pods speak first, each with its own reason, and
the newest condition only when no pod says why. While members are missing or gated Volcano
does not look at the gang, and old words about it are not repeated.
"""

from backend_controllers.contract.declaration import Facts, Words
from backend_controllers.contract.pod_counts import members_are_ungated
from backend_controllers.volcano import messages as texts
from backend_controllers.volcano import queues
from backend_controllers.volcano.api import (
    PODGROUPS,
    SCHEDULABLE,
    SCHEDULED,
    UNSCHEDULABLE,
    ObservedPodGroup,
)
from backend_controllers.volcano.features import VolcanoInstallation
from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod

_NOT_ENQUEUED = "NotEnqueued"
_BINDING_FAILED = "BindingFailed"
_SCHEDULER_ERROR = "SchedulerError"


def mirror(installation: VolcanoInstallation, gang: PodGang, facts: Facts) -> Words:
    """What there is to say about a gang."""
    pod_group = _pod_group(gang, facts)
    reason, message = _why_not(installation, gang, facts, pod_group)
    return Words(reason=reason, message=message)


def _why_not(
    installation: VolcanoInstallation,
    gang: PodGang,
    facts: Facts,
    pod_group: ObservedPodGroup | None,
) -> tuple[str, str]:
    queue = queues.queue_of(gang, installation.options.default_queue)
    flaw = queues.flaw_of(queue, facts)
    if flaw is not None:
        return flaw
    if not members_are_ungated(gang, facts.pods):
        return "", ""
    about_gang = _unscheduled_since(pod_group)
    told = _told_by_pods(gang, facts.pods, about_gang)
    return told or _told_by_pod_group(pod_group, about_gang, queue)


def _told_by_pods(gang: PodGang, pods: tuple[Pod, ...], about_gang: str) -> tuple[str, str] | None:
    waiting = [pod for pod in pods if not pod.spec.node_name and not pod.is_gated]
    if failures := texts.cleaned(_said(waiting, _SCHEDULER_ERROR)):
        return _BINDING_FAILED, failures
    told, before = _said(waiting, UNSCHEDULABLE), _said_before(gang)
    cause = texts.cleaned(told, before)
    if cause or not any(map(texts.has_place, told)):
        return (UNSCHEDULABLE, _fitting(gang, pods, waiting) + cause) if cause else None
    # Each of them was found a place in another attempt, or in a place that is being vacated.
    cause = texts.cleaned([about_gang], before)
    return UNSCHEDULABLE, cause or "there is a place for each pod, but not yet for all at once"


def _told_by_pod_group(
    pod_group: ObservedPodGroup | None, about_gang: str, queue: str
) -> tuple[str, str]:
    # Of a gang whose pods are gated Volcano says that it is not ready, and no more.
    if cause := texts.cause_of(about_gang):
        return UNSCHEDULABLE, cause
    if pod_group is not None and pod_group.status.phase == "Pending":
        asked = sorted(pod_group.spec.min_resources.items())
        minimum = ", ".join(f"{name} {amount}" for name, amount in asked)
        return _NOT_ENQUEUED, (
            f"Volcano has not let the gang into queue '{queue}': the queue or the cluster has less"
            f" left than the minimum of the gang, {minimum or 'which it does not state'}; the Events"
            " of the PodGroup say which"
        )
    return "", ""


def _pod_group(gang: PodGang, facts: Facts) -> ObservedPodGroup | None:
    found = facts.get(PODGROUPS, gang.metadata.namespace, gang.metadata.name)
    return found if isinstance(found, ObservedPodGroup) else None


def _said(pods: list[Pod], reason: str) -> list[str]:
    conditions = (pod.condition("PodScheduled") for pod in pods)
    return [
        condition.message
        for condition in conditions
        if condition is not None and (condition.status, condition.reason) == ("False", reason)
    ]


def _fitting(gang: PodGang, pods: tuple[Pod, ...], waiting: list[Pod]) -> str:
    """How much of a gang fits, where the pods tell it."""
    if len(gang.spec.podgroups) > 1:
        # Groups are tried one after the other and in another order when others are evicted for
        # them: what two pods say need not go together.
        return ""
    placed = sum(bool(pod.spec.node_name) for pod in pods)
    placed += len(_said(waiting, SCHEDULABLE))
    # Pods whose place is being vacated call themselves unschedulable too.
    placed += sum(map(texts.has_place, _said(waiting, UNSCHEDULABLE)))
    needed = sum(group.min_replicas for group in gang.spec.podgroups)
    return f"fits {placed} of {needed}: " if placed < needed else ""


def _said_before(gang: PodGang) -> str:
    """What the gang says now about not being placed."""
    conditions = gang.status.conditions if gang.status is not None else ()
    kind = names.CONDITION_SCHEDULED
    return next((found.message for found in conditions if found.type == kind), "")


def _unscheduled_since(pod_group: ObservedPodGroup | None) -> str:
    """Why a gang is not placed, if Volcano has not said since then that it is."""
    conditions = pod_group.status.conditions if pod_group is not None else ()
    by_type = {condition.type: condition for condition in conditions if condition.status == "True"}
    why, placed = by_type.get(UNSCHEDULABLE), by_type.get(SCHEDULED)
    if why is None or (placed and placed.last_transition_time >= why.last_transition_time):
        return ""
    return why.message
