"""What happened to gangs: losses, preemptions, moves, terminations and updates, with their cause.

It owns the reading of Events about our objects. The causes are the messages of the product; nothing
is guessed here. All functions are pure.
"""

from enum import StrEnum

import msgspec

from shared_api.kube.metadata import Metadata

KEPT = 500
"""Events that the page shows; older ones are left out."""


class Sort(StrEnum):
    """What kind of thing happened."""

    PREEMPTION = "preemption"
    LOSS = "loss"
    MOVE = "move"
    TERMINATION = "termination"
    UPDATE = "update"
    PROBLEM = "problem"
    NOTE = "note"


_SORTS = {
    "PodLost": Sort.LOSS,
    "Preempted": Sort.PREEMPTION,
    "BackendMoved": Sort.MOVE,
    "TopologyChanged": Sort.MOVE,
    "Replaced": Sort.MOVE,
    "GangTerminated": Sort.TERMINATION,
    "UpdateStarted": Sort.UPDATE,
    "UpdateEnded": Sort.UPDATE,
}


class RegardedObject(msgspec.Struct, frozen=True):
    """The object that an Event is about."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class EventSeries(msgspec.Struct, frozen=True, rename="camel"):
    """How often an Event was repeated."""

    count: int = 0
    last_observed_time: str | None = None


class ListedEvent(msgspec.Struct, frozen=True, rename="camel"):
    """An Event of the cluster."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    regarding: RegardedObject = RegardedObject()
    reason: str = ""
    note: str = ""
    type: str = ""
    event_time: str | None = None
    series: EventSeries | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_count: int = 0

    @property
    def at(self) -> str:
        """Return when it happened last."""
        repeated = self.series.last_observed_time if self.series else None
        found = repeated or self.event_time or self.deprecated_last_timestamp
        return found or self.metadata.creation_timestamp


class ActivityDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that happened."""

    kind: str
    at: str
    sort: Sort
    is_warning: bool
    namespace: str
    set: str
    """Name of the PodCliqueSet; empty if it is not known."""
    about: str
    """Kind and name of the object."""
    reason: str
    cause: str
    count: int


def activity_document(event: ListedEvent, of_set: str) -> ActivityDocument:
    """Return what an Event about one of our objects reports."""
    is_warning = event.type == "Warning"
    usual = Sort.PROBLEM if is_warning else Sort.NOTE
    count = event.series.count if event.series else event.deprecated_count
    regarding = event.regarding
    return ActivityDocument(
        "activity",
        event.at,
        _SORTS.get(event.reason, usual),
        is_warning,
        regarding.namespace,
        of_set,
        f"{regarding.kind} {regarding.name}",
        event.reason,
        event.note,
        max(count, 1),
    )
