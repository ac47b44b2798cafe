"""Who took the room of a gang, from the events that KAI records on its PodGroup.

The victim's PodGroup shows nothing of a preemption before KAI v0.17; the events do, on every
version, and outlast the pods by an hour. An eviction is news until KAI starts the gang
again, which it notes on the PodGroup, or the gang has its minimum again.

An event does not say whether it took members or surplus, and what is lost long after it is not
the evictor's doing. So it has to belong to the loss: once the status says since when the gang
lacks its minimum, by its time, and before that by the name of a pod that is just going.
"""

import re
from datetime import datetime, timedelta

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.timestamps import time_of
from backend_controllers.kai.api import (
    EVENTS,
    KEY_EVICTED_PODS,
    KEY_EVICTOR_ACTION,
    KEY_EVICTOR_NAME,
    KEY_EVICTOR_NAMESPACE,
    KEY_LAST_START,
    ObservedEvent,
    ObservedPodGroup,
    gang_of,
)
from shared_api import names
from shared_api.kube.podgangs import Condition, PodGang
from shared_api.runtime.watching.predicates import Watched

# Recorders merge what they take for repetitions.
_MERGED = "(combined from similar events): "
# Between the loss of a gang's minimum and the time that its status gives for it; this process may
# have been away.
_NOTICED_WITHIN = timedelta(minutes=2)
_NAMED = re.compile(r"\bPod [^/\s]+/(?P<pod>\S+)")
_WORDS = {
    "preempt": ("Preempted", "preempted"),
    "reclaim": ("Reclaimed", "reclaimed for its queue's share"),
    "consolidation": ("Consolidated", "moved to make contiguous room"),
    "stalegangeviction": ("StaleGangEvicted", "evicted, since it fell below its minimum"),
}


def gang_of_event(event: Watched) -> tuple[str, str] | None:
    """Namespace and name of the gang that an event is about."""
    if not isinstance(event, ObservedEvent):
        return None
    gang = gang_of(event.involved_object.name)
    return (event.involved_object.namespace, gang) if gang else None


def last_start(pod_group: ObservedPodGroup) -> datetime | None:
    """When KAI last placed the gang; None if it never did."""
    return time_of(pod_group.metadata.annotations.get(KEY_LAST_START, ""))


def last_eviction(gang: PodGang, pod_group: ObservedPodGroup, facts: Facts) -> ObservedEvent | None:
    """The latest eviction that may have cost the gang its minimum, since KAI last placed it."""
    started = last_start(pod_group)
    if started is None:
        # It has never had room that could be taken; this spares most gangs the search.
        return None
    told = _scheduled(gang)
    earliest = _earliest(told) if told is not None else None
    since = started if earliest is None else max(started, earliest)
    going = _going(gang, facts) if told is not None and told.status == "True" else None
    latest: tuple[datetime, str] | None = None
    found: ObservedEvent | None = None
    for event in facts.all(EVENTS):
        if not isinstance(event, ObservedEvent) or not _is_about(event, pod_group):
            continue
        at = time_of(event.at)
        # Both are whole seconds, so that the same second may mean after it.
        if at is None or at < since or (going is not None and not _takes_any(event, going)):
            continue
        rank = (at, event.metadata.name)
        if latest is None or rank > latest:
            latest, found = rank, event
    return found


def _scheduled(gang: PodGang) -> Condition | None:
    conditions = gang.status.conditions if gang.status is not None else ()
    return next((one for one in conditions if one.type == names.CONDITION_SCHEDULED), None)


def _earliest(told: Condition) -> datetime | None:
    """The time before which nothing can have cost a gang what it lacks now."""
    at = time_of(told.last_transition_time)
    return at if at is None or told.status == "True" else at - _NOTICED_WITHIN


def _takes_any(event: ObservedEvent, going: frozenset[str]) -> bool:
    named = _NAMED.search(event.message)
    return named is not None and named["pod"] in going


def _going(gang: PodGang, facts: Facts) -> frozenset[str]:
    """The pods that the gang is just losing."""
    present = {pod.metadata.name for pod in facts.pods}
    referred = (one.name for group in gang.spec.podgroups for one in group.pod_references)
    leaving = (pod.metadata.name for pod in facts.leaving)
    return frozenset(name for name in (*referred, *leaving) if name not in present)


def reason_of(event: ObservedEvent) -> str:
    """What was done to the gang, in one word."""
    action = event.metadata.annotations.get(KEY_EVICTOR_ACTION, "")
    return _WORDS.get(action, ("Evicted", ""))[0]


def text_of(event: ObservedEvent) -> str:
    """Who did what to the gang, and why as far as KAI says so."""
    annotations = event.metadata.annotations
    action = annotations.get(KEY_EVICTOR_ACTION, "")
    verb = _WORDS.get(action, ("", "evicted"))[1]
    evictor = annotations.get(KEY_EVICTOR_NAME, "")
    count = annotations.get(KEY_EVICTED_PODS, "")
    by = ""
    if evictor:
        gang = gang_of(evictor)
        whom = f"gang {gang}" if gang else f"PodGroup {evictor}"
        by = f" by {whom} in namespace {annotations.get(KEY_EVICTOR_NAMESPACE, '')}"
    size = f" ({count} pods)" if count else ""
    why = _why(event.message, has_evictor=bool(evictor))
    return f"{verb}{by}{size}" + (f": {why}" if why else "")


def _why(message: str, *, has_evictor: bool) -> str:
    lines = [line.strip().rstrip(".") for line in message.removeprefix(_MERGED).splitlines()]
    # The first line names one of the pods and the evictor; the others are about queues.
    told = lines[1:] if has_evictor else lines
    return "; ".join(line for line in told if line)


def _is_about(event: ObservedEvent, pod_group: ObservedPodGroup) -> bool:
    about, metadata = event.involved_object, pod_group.metadata
    return about.name == metadata.name and about.namespace == metadata.namespace
