"""How Volcano schedules a gang: reason and message.

A gang is scheduled when its pods are bound: the phase of a PodGroup is late, and both of its
conditions stay True once they were. So the pods are read first, each with its own reason. The
newest condition is read only if no pod has a reason. While members are missing or gated, Volcano
does not try the gang, so older messages about it are not repeated.
"""

from backend_controllers.contract.declaration import Facts, Report
from backend_controllers.contract.pod_counts import members_are_ungated
from backend_controllers.contract.requested_values import requested_values
from backend_controllers.contract.scheduling_conditions import (
    scheduled_condition,
    unscheduled_conditions,
)
from backend_controllers.volcano import messages, queues
from backend_controllers.volcano.api import (
    PODGROUPS,
    SCHEDULABLE,
    SCHEDULED,
    UNSCHEDULABLE,
    VolcanoPodGroup,
)
from backend_controllers.volcano.installation import VolcanoInstallation
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod

_NOT_ENQUEUED = "NotEnqueued"
_BINDING_FAILED = "BindingFailed"
_SCHEDULER_ERROR = "SchedulerError"


def mirror(installation: VolcanoInstallation, gang: ObservedPodGang, facts: Facts) -> Report:
    """Return what Volcano reports about a gang."""
    queue = queues.queue_of(installation, requested_values(gang, facts))
    problem = queues.queue_problem(queue, facts)
    if problem is not None:
        return Report(*problem)
    if not members_are_ungated(gang, facts.pods):
        return Report()
    found = facts.get(PODGROUPS, gang.metadata.namespace, gang.metadata.name)
    pod_group = found if isinstance(found, VolcanoPodGroup) else None
    about_gang = _unscheduled_message(pod_group)
    reported = _reported_by_pods(gang, facts.pods, about_gang)
    return Report(*(reported or _reported_by_pod_group(pod_group, about_gang, queue)))


def _reported_by_pods(
    gang: ObservedPodGang, pods: tuple[Pod, ...], about_gang: str
) -> tuple[str, str] | None:
    waiting = [pod for pod in pods if not pod.is_bound and not pod.is_gated]
    if failures := messages.cleaned(_reported(waiting, _SCHEDULER_ERROR)):
        return _BINDING_FAILED, failures
    reported = _reported(waiting, UNSCHEDULABLE)
    condition = scheduled_condition(gang)
    before = condition.message if condition is not None else ""
    cause = messages.cleaned(reported, before)
    if cause:
        return UNSCHEDULABLE, _fitting(gang, pods, waiting) + cause
    if not any(map(messages.is_assignable, reported)):
        return None
    # Volcano found a node for each pod, but in different attempts or on nodes that are not free yet.
    cause = messages.cleaned([about_gang], before)
    return UNSCHEDULABLE, cause or "each pod fits, but not yet all at once"


def _reported_by_pod_group(
    pod_group: VolcanoPodGroup | None, about_gang: str, queue: str
) -> tuple[str, str]:
    # About a gang with gated pods Volcano reports only that it is not ready.
    if cause := messages.cause_of(about_gang):
        return UNSCHEDULABLE, cause
    if pod_group is None or pod_group.status.phase != "Pending":
        return "", ""
    requested = sorted(pod_group.spec.min_resources.items())
    minimum = ", ".join(f"{name} {amount}" for name, amount in requested) or "unknown"
    return _NOT_ENQUEUED, (
        f"Volcano has not admitted the gang to queue '{queue}': the queue or the cluster has less"
        f" capacity than the gang's minimum ({minimum}). See the Events of the PodGroup for which"
    )


def _reported(pods: list[Pod], reason: str) -> list[str]:
    return [condition.message for condition in unscheduled_conditions(pods, reason)]


def _fitting(gang: ObservedPodGang, pods: tuple[Pod, ...], waiting: list[Pod]) -> str:
    """Return how many pods of a gang fit, if the pods report it."""
    if len(gang.spec.podgroups) > 1:
        # Volcano tries groups one after the other, and in another order when it evicts pods for
        # them: the reports of two pods may be from different attempts.
        return ""
    fitting = sum(pod.is_bound for pod in pods)
    fitting += len(_reported(waiting, SCHEDULABLE))
    # Pods whose node is not free yet are reported as unschedulable, too.
    fitting += sum(map(messages.is_assignable, _reported(waiting, UNSCHEDULABLE)))
    needed = sum(group.min_replicas for group in gang.spec.podgroups)
    return f"fits {fitting} of {needed}: " if fitting < needed else ""


def _unscheduled_message(pod_group: VolcanoPodGroup | None) -> str:
    """Return the condition's message, if Volcano has not scheduled the gang since then."""
    conditions = pod_group.status.conditions if pod_group is not None else ()
    by_type = {condition.type: condition for condition in conditions if condition.status == "True"}
    why, scheduled = by_type.get(UNSCHEDULABLE), by_type.get(SCHEDULED)
    if why is None or (scheduled and scheduled.last_transition_time >= why.last_transition_time):
        return ""
    return why.message
