"""How YuniKorn schedules a gang, from its placeholders and events.

YuniKorn has no object that reports it. While it reserves, members have no condition: the number of
bound placeholders is the progress, and the conditions of the others have the reason. Messages are
reported once all members are ungated; before that YuniKorn does not try the gang.
"""

from backend_controllers.contract.declaration import Facts, Report
from backend_controllers.contract.pod_counts import count, members_are_ungated
from backend_controllers.contract.scheduling_conditions import unscheduled_conditions
from backend_controllers.yunikorn import event_messages
from backend_controllers.yunikorn.placeholders import Reservation, reservation_of
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod

UNSCHEDULABLE = "Unschedulable"
OVER_QUOTA = "QueueQuotaExceeded"
GUARANTEE_LOST = "GangNotGuaranteed"
REJECTED = "ApplicationRejected"
TIMED_OUT = "ReservationTimedOut"

_SKIPPED = "SchedulingSkipped"
_TIMEOUT = "ResourceReservationTimeout"


def mirror(gang: ObservedPodGang, facts: Facts) -> Report:
    """Return what YuniKorn reports about a gang."""
    if count(gang, facts.pods).is_scheduled:
        lost = event_messages.guarantee_lost(gang, facts)
        return Report(remarks=(_not_guaranteed(lost),) if lost else ())
    disruption = event_messages.preemption(gang, facts)
    reason, message = _why_unscheduled(gang, facts)
    return Report(reason=reason, message=message, disruption=disruption)


def _why_unscheduled(gang: ObservedPodGang, facts: Facts) -> tuple[str, str]:
    if not members_are_ungated(gang, facts.pods):
        failed = event_messages.failure(gang, facts)
        return _given_up(failed, "The pods are being recreated") if failed else ("", "")
    if stuck := event_messages.failure_of_present(gang, facts):
        return _given_up(stuck, "Delete these pods: YuniKorn does not try them again")
    if lost := event_messages.guarantee_lost(gang, facts):
        return GUARANTEE_LOST, _not_guaranteed(lost)
    found = reservation_of(gang, facts)
    if found.waiting:
        return _why_incomplete(found, gang, facts)
    if reported := _messages_of(facts.pods):
        return UNSCHEDULABLE, "; ".join(reported)
    # No reason: this ends soon.
    return "", _progress(found)


def _progress(found: Reservation) -> str:
    if found.is_complete:
        return f"{found.message()}, and pods are replacing the placeholders"
    if found.placeholders:
        return f"{found.message()}, and YuniKorn is reserving more"
    return "YuniKorn has not begun to reserve capacity"


def _why_incomplete(found: Reservation, gang: ObservedPodGang, facts: Facts) -> tuple[str, str]:
    waiting = found.waiting
    names = {pod.metadata.name for pod in waiting}
    reported, is_quota = event_messages.causes(names, gang, facts)
    reasons = {one.reason for one in unscheduled_conditions(waiting, UNSCHEDULABLE, _SKIPPED)}
    if not reasons and not reported:
        return "", _progress(found)
    reason = OVER_QUOTA if is_quota or _SKIPPED in reasons else UNSCHEDULABLE
    # YuniKorn reports nodes that are unfit, and not those that are full.
    causes = "; ".join([*_messages_of(waiting), *reported])
    return reason, f"{found.message()} by placeholder pods: {causes}"


def _given_up(why: str, remedy: str) -> tuple[str, str]:
    if _TIMEOUT in why:
        return TIMED_OUT, (
            "YuniKorn gave up the reservation after placeholderTimeoutSeconds, an option of this"
            f" backend. {remedy}"
        )
    cause = why.removeprefix(f"{REJECTED}: ")
    return REJECTED, (
        f"YuniKorn rejected the gang: {cause}. Check that its queue exists, accepts gangs and allows"
        f" this user. {remedy}"
    )


def _not_guaranteed(why: str) -> str:
    return (
        f"YuniKorn schedules the pods one by one: {why}. Check the events of the gang's first pod,"
        " the namespace's quota and its pod security level; then delete the pods to recreate them"
    )


def _messages_of(pods: tuple[Pod, ...]) -> list[str]:
    # YuniKorn removes no condition: members keep the one that they had while they were gated.
    conditions = unscheduled_conditions(pods, UNSCHEDULABLE, _SKIPPED)
    return sorted({condition.message for condition in conditions if condition.message})
