"""Who evicted pods of a gang, from the events that KAI records on its PodGroup.

Before KAI v0.17 the victim's PodGroup shows nothing about a preemption. The events do on every
version, and they are kept for an hour longer than the pods. An eviction is reported until KAI
starts the gang again, which it writes on the PodGroup, or until the gang has its minimum again.

An event does not show whether it evicted members or surplus, and a later loss has other causes. So
the event must match the loss. Once the status has the time when the gang fell below its minimum, the
time must match; before that, the event must name a pod that is being lost.
"""

import re
from datetime import datetime, timedelta

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.events import EVENTS, SchedulerEvent
from backend_controllers.contract.scheduling_conditions import scheduled_condition
from backend_controllers.contract.timestamps import time_of
from backend_controllers.kai.api import (
    KEY_EVICTED_PODS,
    KEY_EVICTOR_ACTION,
    KEY_EVICTOR_NAME,
    KEY_EVICTOR_NAMESPACE,
    KEY_LAST_START,
    KaiPodGroup,
    gang_of,
)
from shared_api.kube.podgangs import ObservedCondition, ObservedPodGang
from shared_api.runtime.watching.predicates import Watched

# Event recorders merge events that they consider repetitions.
_MERGED = "(combined from similar events): "
# The longest time between the loss of the minimum and its time in the status: this process may
# have been down.
_NOTICED_WITHIN = timedelta(minutes=2)
_EVICTED_POD = re.compile(r"\bPod [^/\s]+/(?P<pod>\S+)")
_ACTIONS = {
    "preempt": ("Preempted", "preempted"),
    "reclaim": ("Reclaimed", "reclaimed for the share of another queue"),
    "consolidation": ("Consolidated", "moved to free contiguous capacity"),
    "stalegangeviction": ("StaleGangEvicted", "evicted because it was below its minimum"),
}


def gang_of_event(event: Watched) -> tuple[str, str] | None:
    """Return namespace and name of the gang that an event is about."""
    if not isinstance(event, SchedulerEvent):
        return None
    gang = gang_of(event.involved_object.name)
    return (event.involved_object.namespace, gang) if gang else None


def last_start(pod_group: KaiPodGroup) -> datetime | None:
    """Return when KAI last scheduled the gang; None if it never did."""
    return time_of(pod_group.metadata.annotations.get(KEY_LAST_START, ""))


def last_eviction(
    gang: ObservedPodGang, pod_group: KaiPodGroup, facts: Facts
) -> SchedulerEvent | None:
    """Return the latest eviction since the last start that can explain the lost minimum."""
    started = last_start(pod_group)
    if started is None:
        # It never ran, so nothing can be evicted. Most gangs end here, without a search.
        return None
    reported = scheduled_condition(gang)
    earliest = _earliest(reported) if reported is not None else None
    since = started if earliest is None else max(started, earliest)
    lost = _lost_pods(gang, facts) if reported is not None and reported.status == "True" else None
    metadata = pod_group.metadata
    found: list[tuple[datetime, str, SchedulerEvent]] = []
    for event in facts.all(EVENTS):
        if not isinstance(event, SchedulerEvent):
            continue
        about, at = event.involved_object, time_of(event.at)
        if (about.namespace, about.name) != (metadata.namespace, metadata.name):
            continue
        # Both times are whole seconds, so the same second may be after the start.
        if at is not None and at >= since and (lost is None or _evicts_any(event, lost)):
            found.append((at, event.metadata.name, event))
    return max(found, key=lambda row: row[:2])[2] if found else None


def _earliest(reported: ObservedCondition) -> datetime | None:
    """Return the time before which no eviction can explain the lost minimum."""
    at = time_of(reported.last_transition_time)
    return at if at is None or reported.status == "True" else at - _NOTICED_WITHIN


def _evicts_any(event: SchedulerEvent, pods: frozenset[str]) -> bool:
    evicted = _EVICTED_POD.search(event.message)
    return evicted is not None and evicted["pod"] in pods


def _lost_pods(gang: ObservedPodGang, facts: Facts) -> frozenset[str]:
    """Return the pods that the gang is losing now."""
    present = {pod.metadata.name for pod in facts.pods}
    referred = (one.name for group in gang.spec.podgroups for one in group.pod_references)
    leaving = (pod.metadata.name for pod in facts.leaving)
    return frozenset(name for name in (*referred, *leaving) if name not in present)


def reason_of(event: SchedulerEvent) -> str:
    """Return the reason of an eviction, in CamelCase."""
    action = event.metadata.annotations.get(KEY_EVICTOR_ACTION, "")
    return _ACTIONS.get(action, ("Evicted", ""))[0]


def message_of(event: SchedulerEvent) -> str:
    """Return who evicted the gang and, if KAI reports it, why."""
    annotations = event.metadata.annotations
    action = annotations.get(KEY_EVICTOR_ACTION, "")
    verb = _ACTIONS.get(action, ("", "evicted"))[1]
    evictor = annotations.get(KEY_EVICTOR_NAME, "")
    count = annotations.get(KEY_EVICTED_PODS, "")
    by = ""
    if evictor:
        gang = gang_of(evictor)
        name = f"gang {gang}" if gang else f"PodGroup {evictor}"
        by = f" by {name} in namespace {annotations.get(KEY_EVICTOR_NAMESPACE, '')}"
    size = f" ({count} pods)" if count else ""
    lines = [line.strip().rstrip(".") for line in event.message.removeprefix(_MERGED).splitlines()]
    # The first line names one pod and the evictor; the other lines are about queues.
    why = "; ".join(line for line in (lines[1:] if evictor else lines) if line)
    return f"{verb}{by}{size}" + (f": {why}" if why else "")
