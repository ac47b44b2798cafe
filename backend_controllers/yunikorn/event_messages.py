"""What YuniKorn reports about a gang only in events of its pods.

YuniKorn deletes a preempted pod, and only an event names the preemptor. After a reservation
that it gives up, or an application that it rejects, the pods fail and are soon deleted. Events are
kept for an hour longer than the pods. So the time of an event decides whether it explains the
current loss or the current wait.
"""

import re
from collections.abc import Callable, Container, Iterator
from datetime import timedelta

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.events import EVENTS, InvolvedObject, SchedulerEvent
from backend_controllers.contract.scheduling_conditions import scheduled_condition
from backend_controllers.contract.timestamps import time_of
from shared_api.kube.client import Selector
from shared_api.kube.podgangs import ObservedPodGang

# All events about pods, except those of the steps that every pod has.
_STEPS = (
    "Scheduling",
    "Scheduled",
    "Pending",
    "PodBindSuccessful",
    "PodUnschedulable",
    "TaskCompleted",
)
SELECTOR = Selector(
    fields=",".join(
        [
            "involvedObject.kind=Pod",
            "reportingComponent=yunikorn",
            *(f"reason!={reason}" for reason in _STEPS),
        ]
    )
)

_PREEMPTED = re.compile(
    r"Preempted by \S+ from application (?P<application>\S+) in (?P<queue>\S+)"
    r"|Preempted by (?P<quota>Quota change .*)"
)
_UNPLACED = re.compile(r"Unschedulable request '[^']*': (?P<why>.+)", re.DOTALL)
_PLUGIN = re.compile(r"failed plugin: '[^']*'\s*")
_OVER_QUOTA = re.compile(
    r"Request '[^']*' (?P<why>does not fit in queue .+|exceeds the available .+)"
)
_FITS_AGAIN = re.compile(r"has become schedulable in queue|fits in the available user quota")
_FAILED = re.compile(r"Application \S+ scheduling failed, reason: (?P<why>.+)", re.DOTALL)
_LOST = {
    "PlaceholderCreateFailed": "it could not create placeholders",
    "GangSchedulingFailed": "the reservation timed out",
    "TaskGroupsError": "it could not parse the task groups of the pods",
}

# The scheduler's clock dates events, ours dates conditions.
_CLOCK_SKEW = timedelta(seconds=30)


def preemption(gang: ObservedPodGang, facts: Facts) -> str:
    """Return which application preempted the gang, if that is why it is not scheduled."""
    match = _latest(_PREEMPTED, gang, facts)
    if match is None:
        return ""
    if match["quota"]:
        return f"preempted by {match['quota']}"
    return f"preempted by application {match['application']} in queue {match['queue']}"


def failure(gang: ObservedPodGang, facts: Facts) -> str:
    """Return why YuniKorn gave up members since the gang waits."""
    match = _latest(_FAILED, gang, facts)
    return " ".join(match["why"].split()) if match is not None else ""


def failure_of_present(gang: ObservedPodGang, facts: Facts) -> str:
    """Return why YuniKorn gave up members that still exist: it does not try them again."""
    waiting = {pod.metadata.name for pod in facts.pods if not pod.spec.node_name}
    for event in _newest_first(facts, _named(gang, waiting)):
        if (match := _FAILED.search(event.message)) is not None:
            return " ".join(match["why"].split())
    return ""


def guarantee_lost(gang: ObservedPodGang, facts: Facts) -> str:
    """Return why YuniKorn schedules the current pods of the gang one by one."""
    present = {pod.metadata.name for pod in facts.pods}
    for event in _newest_first(facts, _named(gang, present)):
        if event.action in _LOST:
            return _LOST[event.action]
    return ""


def causes(pods: set[str], gang: ObservedPodGang, facts: Facts) -> tuple[list[str], bool]:
    """Return why these pods are not scheduled, and whether a quota is the reason."""
    found: dict[str, None] = {}
    is_quota = False
    fits_again: set[str] = set()
    for event in _newest_first(facts, _named(gang, pods)):
        over, unplaced = _OVER_QUOTA.search(event.message), _UNPLACED.search(event.message)
        if _FITS_AGAIN.search(event.message):
            fits_again.add(event.involved_object.name)
        elif over is not None and event.involved_object.name not in fits_again:
            is_quota = True
            found.setdefault(over["why"].strip(), None)
        elif unplaced is not None:
            found.setdefault(_PLUGIN.sub("", unplaced["why"]).strip(" ;"), None)
    return list(found)[:3], is_quota


def _latest(pattern: re.Pattern[str], gang: ObservedPodGang, facts: Facts) -> re.Match[str] | None:
    """Return the newest match in events about members since the gang was last (un)scheduled."""
    condition = scheduled_condition(gang)
    since = time_of(condition.last_transition_time) if condition is not None else None
    for event in _newest_first(facts, _members(gang)):
        match, at = pattern.search(event.message), time_of(event.at)
        if match is not None and at is not None and since is not None and at >= since - _CLOCK_SKEW:
            return match
    return None


def _newest_first(
    facts: Facts, is_about: Callable[[InvolvedObject], bool]
) -> Iterator[SchedulerEvent]:
    found = (event for event in facts.all(EVENTS) if isinstance(event, SchedulerEvent))
    meant = [event for event in found if is_about(event.involved_object)]
    yield from sorted(meant, key=lambda event: (event.at, event.metadata.name), reverse=True)


def _named(gang: ObservedPodGang, pods: Container[str]) -> Callable[[InvolvedObject], bool]:
    """Return a test for events about these pods in the namespace of a gang."""
    namespace = gang.metadata.namespace
    return lambda about: about.namespace == namespace and about.name in pods


def _members(gang: ObservedPodGang) -> Callable[[InvolvedObject], bool]:
    """Return a test for events about pods that the gang has or had."""
    groups = {group.name for group in gang.spec.podgroups}
    namespace = gang.metadata.namespace
    return lambda about: about.namespace == namespace and about.name.rpartition("-")[0] in groups
