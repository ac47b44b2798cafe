"""The objects that the recorder writes, as pure functions of what was said.

They keep the limits of `events.k8s.io/v1`: lengths of words and notes, a series of at least
two, and a namespace also for what has none.
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
    """Who says it."""

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
        """Where the Event lives; kubectl looks into `default` for cluster-scoped objects."""
        return self.regarding.namespace or "default"


def say(
    regarding: Regarding, type_: EventType, reason: str, action: str, note: str
) -> EventIdentity:
    """Cut words and note to what the API takes."""
    fitting = note.encode()[:NOTE_BYTES].decode(errors="ignore")
    return EventIdentity(
        regarding, type_, reason[:WORD_CHARACTERS], action[:WORD_CHARACTERS], fitting
    )


def event_name(said: EventIdentity, first: datetime) -> str:
    """A name that is the same for every attempt to create the Event."""
    return f"{said.regarding.name[:_NAME_CHARACTERS]}.{int(first.timestamp() * 1e6):x}"


def event_manifest(said: EventIdentity, reporter: Reporter, first: datetime) -> dict[str, object]:
    """An Event that happened once."""
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"namespace": said.namespace, "name": event_name(said, first)},
        "eventTime": micro_time(first),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance[:WORD_CHARACTERS],
        "action": said.action,
        "reason": said.reason,
        "type": said.type,
        "note": said.note,
        "regarding": {
            "apiVersion": said.regarding.api_version,
            "kind": said.regarding.kind,
            "namespace": said.regarding.namespace,
            "name": said.regarding.name,
            "uid": said.regarding.uid,
        },
    }


def event_series(count: int, last: datetime) -> dict[str, object]:
    """How often it happened; the API wants at least two."""
    return {"count": max(count, 2), "lastObservedTime": micro_time(last)}
