"""How a gang fares, from YuniKorn's placeholders and events.

YuniKorn has no object that says it. While it reserves, members have no condition at all: how
many placeholders have a node is the progress, and what the others say is the reason. Words are
given once all members are released; before that YuniKorn does not look at the gang.
"""

from backend_controllers.contract.declaration import Facts, Words
from backend_controllers.contract.pod_counts import count, members_are_ungated
from backend_controllers.yunikorn import event_messages as tidings
from backend_controllers.yunikorn.placeholders import Reservation, reservation_of
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod

UNSCHEDULABLE = "Unschedulable"
OVER_QUOTA = "QueueQuotaExceeded"
GUARANTEE_LOST = "GangNotGuaranteed"
REJECTED = "ApplicationRejected"
TIMED_OUT = "ReservationTimedOut"

_SKIPPED = "SchedulingSkipped"
_TOLD = (UNSCHEDULABLE, _SKIPPED)
_TIMEOUT = "ResourceReservationTimeout"


def mirror(gang: PodGang, facts: Facts) -> Words:
    """What there is to say about a gang."""
    if count(gang, facts.pods).is_scheduled:
        lost = _lost_text(tidings.guarantee_lost(gang, facts))
        return Words(remarks=(lost,) if lost else ())
    disruption = tidings.preemption(gang, facts)
    reason, message = _why_not(gang, facts)
    return Words(reason=reason, message=message, disruption=disruption)


def _why_not(gang: PodGang, facts: Facts) -> tuple[str, str]:
    if not members_are_ungated(gang, facts.pods):
        failed = tidings.failure(gang, facts)
        return _given_up(failed, "the pods are made anew") if failed else ("", "")
    if stuck := tidings.failure_of_present(gang, facts):
        return _given_up(stuck, "it does not look at these pods again: delete them")
    if lost := tidings.guarantee_lost(gang, facts):
        return GUARANTEE_LOST, _lost_text(lost)
    found = reservation_of(gang, facts)
    if found.waiting:
        return _held_up(found, gang, facts)
    if told := _told_by(facts.pods):
        return UNSCHEDULABLE, "; ".join(told)
    # Without a reason: this passes in a moment.
    return "", _going_on(found)


def _going_on(found: Reservation) -> str:
    if found.is_complete:
        return f"{found.text()}, and pods are taking their places"
    if found.placeholders:
        return f"{found.text()}, and YuniKorn is reserving more"
    return "YuniKorn has not begun to reserve room; if that lasts, see whether its scheduler runs"


def _held_up(found: Reservation, gang: PodGang, facts: Facts) -> tuple[str, str]:
    waiting = found.waiting
    told, is_quota = tidings.causes({pod.metadata.name for pod in waiting}, gang, facts)
    conditions = [pod.condition("PodScheduled") for pod in waiting]
    said = {one.reason for one in conditions if one is not None and one.reason in _TOLD}
    if not said and not told:
        return "", _going_on(found)
    is_quota = is_quota or _SKIPPED in said
    reason = OVER_QUOTA if is_quota else UNSCHEDULABLE
    # YuniKorn tells of nodes that are unfit, and not of those that are full.
    causes = "; ".join([*_told_by(waiting), *told])
    return reason, f"{found.text()} by placeholder pods: {causes}"


def _given_up(why: str, then: str) -> tuple[str, str]:
    if _TIMEOUT in why:
        return TIMED_OUT, (
            "YuniKorn gave the reservation up after placeholderTimeoutSeconds, which is an option"
            f" of this backend; {then}"
        )
    text = why.removeprefix(f"{REJECTED}: ")
    return REJECTED, (
        f"YuniKorn rejected the gang: {text}; see that its queue exists, takes gangs and lets"
        f" this user in; {then}"
    )


def _lost_text(why: str) -> str:
    if not why:
        return ""
    return (
        f"YuniKorn schedules the pods one by one, since {why}: see the events of the gang's first"
        " pod, the namespace's quota and its pod security level; then delete the pods for them to"
        " be made anew"
    )


def _told_by(pods: tuple[Pod, ...]) -> list[str]:
    # Members keep the condition that they had while they were held: YuniKorn takes none back.
    conditions = (pod.condition("PodScheduled") for pod in pods if not pod.spec.node_name)
    return sorted(
        {
            condition.message
            for condition in conditions
            if condition is not None and condition.reason in _TOLD and condition.message
        }
    )
