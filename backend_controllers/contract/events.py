"""Events that schedulers record, as far as backends read them.

They are read from the core API group: only there the server selects events by the object that
they are about.
"""

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

EVENTS = Resource("", "v1", "events", "Event")


class InvolvedObject(msgspec.Struct, frozen=True):
    """The object that an event is about."""

    namespace: str = ""
    name: str = ""


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: str = ""


class SchedulerEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One event of a scheduler."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    involved_object: InvolvedObject = InvolvedObject()
    action: str = ""
    message: str = ""
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    series: _Series | None = None

    @property
    def at(self) -> str:
        """When it was last recorded."""
        repeated = self.series.last_observed_time if self.series is not None else ""
        recorded = repeated or self.last_timestamp or self.event_time or self.first_timestamp
        return recorded or self.metadata.creation_timestamp
