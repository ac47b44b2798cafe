"""What YuniKorn tells of a gang in events of its pods, and nowhere else.

A pod that is preempted is simply deleted; only an event says for whom. A reservation that
YuniKorn gives up, and an application that it rejects, leave failed pods, which are gone in a
moment. Events outlast the pods by an hour, so each is taken for what it is: about a loss if it
came with the loss, about a wait if it came in it.
"""

import re
from collections.abc import Callable, Container, Iterator
from datetime import datetime, timedelta

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.timestamps import time_of
from backend_controllers.yunikorn.api import EVENTS, Involved, ObservedEvent
from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.podgangs import PodGang

# Everything that is told of pods but the steps that all of them go through.
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
    "PlaceholderCreateFailed": "placeholders could not be created",
    "GangSchedulingFailed": "the reservation timed out",
    "TaskGroupsError": "the task groups of its pods were not understood",
}

# Events are timed by the scheduler, conditions by us, each to its own clock.
_APART = timedelta(seconds=30)


def preemption(gang: PodGang, facts: Facts) -> str:
    """For whom the gang lost its pods, if that is why it is not placed."""
    since = _last_change(gang)
    for event in _newest_first(facts, _members(gang)):
        match = _PREEMPTED.search(event.message)
        at = time_of(event.at)
        if match is None or at is None or since is None or at < since - _APART:
            continue
        if match["quota"]:
            return f"preempted by {match['quota']}"
        return f"preempted by application {match['application']} in queue {match['queue']}"
    return ""


def failure(gang: PodGang, facts: Facts) -> str:
    """Why YuniKorn gave up members that the gang had since it waits, in its words."""
    since = _last_change(gang)
    for event in _newest_first(facts, _members(gang)):
        match = _FAILED.search(event.message)
        at = time_of(event.at)
        if match is not None and at is not None and since is not None and at >= since - _APART:
            return " ".join(match["why"].split())
    return ""


def failure_of_present(gang: PodGang, facts: Facts) -> str:
    """Why YuniKorn gave up members that are still there: it does not look at them again."""
    waiting = {pod.metadata.name for pod in facts.pods if not pod.spec.node_name}
    for event in _newest_first(facts, _named(gang, waiting)):
        if (match := _FAILED.search(event.message)) is not None:
            return " ".join(match["why"].split())
    return ""


def guarantee_lost(gang: PodGang, facts: Facts) -> str:
    """Why YuniKorn schedules the pods that the gang has now one by one."""
    present = {pod.metadata.name for pod in facts.pods}
    for event in _newest_first(facts, _named(gang, present)):
        if event.action in _LOST:
            return _LOST[event.action]
    return ""


def causes(pods: set[str], gang: PodGang, facts: Facts) -> tuple[list[str], bool]:
    """What keeps these pods from being placed, and whether it is a quota."""
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


def _newest_first(facts: Facts, is_meant: Callable[[Involved], bool]) -> Iterator[ObservedEvent]:
    found = (event for event in facts.all(EVENTS) if isinstance(event, ObservedEvent))
    meant = [event for event in found if is_meant(event.involved_object)]
    yield from sorted(meant, key=lambda event: (event.at, event.metadata.name), reverse=True)


def _named(gang: PodGang, pods: Container[str]) -> Callable[[Involved], bool]:
    """Whether something is one of these pods in the namespace of a gang."""
    namespace = gang.metadata.namespace
    return lambda about: about.namespace == namespace and about.name in pods


def _members(gang: PodGang) -> Callable[[Involved], bool]:
    """Whether something is the name of a pod that the gang has or had."""
    groups = {group.name for group in gang.spec.podgroups}
    namespace = gang.metadata.namespace
    return lambda about: about.namespace == namespace and about.name.rpartition("-")[0] in groups


def _last_change(gang: PodGang) -> datetime | None:
    """Since when the gang is placed, or not placed; None before anything was said."""
    conditions = gang.status.conditions if gang.status is not None else ()
    for condition in conditions:
        if condition.type == names.CONDITION_SCHEDULED:
            return time_of(condition.last_transition_time)
    return None
