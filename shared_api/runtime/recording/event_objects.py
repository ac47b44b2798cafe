"""Builds the Events that the recorder writes, as pure functions.

The Events comply with `events.k8s.io/v1`: reasons, actions and notes are shortened, a series counts
at least two, and an Event about a cluster-scoped object is in the namespace `default`.
"""

from datetime import datetime
from typing import Literal, NamedTuple, Self

from shared_api.kube.resources import EVENTS
from shared_api.runtime.clock import micro_time
from shared_api.runtime.watching.predicates import ObjectMetadata

EventType = Literal["Normal", "Warning"]
NOTE_BYTES = 1024
WORD_CHARACTERS = 128
_NAME_CHARACTERS = 230


class Reporter(NamedTuple):
    """The controller and the process that write an Event."""

    controller: str
    instance: str


class Regarding(NamedTuple):
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, api_version: str, kind: str, metadata: ObjectMetadata) -> Self:
        """Return the reference to an object with this metadata."""
        namespace, uid = metadata.namespace or "", metadata.uid or ""
        return cls(api_version, kind, namespace, metadata.name, uid)


class EventIdentity(NamedTuple):
    """What makes two occurrences the same Event."""

    regarding: Regarding
    type: EventType
    reason: str
    action: str
    note: str

    @property
    def namespace(self) -> str:
        """The namespace of the Event; kubectl reads `default` for cluster-scoped objects."""
        return self.regarding.namespace or "default"


def event_identity(
    regarding: Regarding, type_: EventType, reason: str, action: str, note: str
) -> EventIdentity:
    """Return the identity of an Event, with its fields shortened to the API's limits."""
    fitting = note.encode()[:NOTE_BYTES].decode(errors="ignore")
    return EventIdentity(
        regarding, type_, reason[:WORD_CHARACTERS], action[:WORD_CHARACTERS], fitting
    )


def event_name(event: EventIdentity, first: datetime) -> str:
    """Return a name that is the same for every attempt to create the Event."""
    return f"{event.regarding.name[:_NAME_CHARACTERS]}.{int(first.timestamp() * 1e6):x}"


def event_manifest(event: EventIdentity, reporter: Reporter, first: datetime) -> dict[str, object]:
    """Return the manifest of an Event that happened once."""
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"namespace": event.namespace, "name": event_name(event, first)},
        "eventTime": micro_time(first),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance[:WORD_CHARACTERS],
        "action": event.action,
        "reason": event.reason,
        "type": event.type,
        "note": event.note,
        "regarding": {
            "apiVersion": event.regarding.api_version,
            "kind": event.regarding.kind,
            "namespace": event.regarding.namespace,
            "name": event.regarding.name,
            "uid": event.regarding.uid,
        },
    }


def event_series(count: int, last: datetime) -> dict[str, object]:
    """Return the series of an Event; the API requires a count of at least two."""
    return {"count": max(count, 2), "lastObservedTime": micro_time(last)}
