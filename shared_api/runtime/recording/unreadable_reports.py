"""Reports objects that cannot be read: a log line from every replica, an Event from the leader.

It owns the messages about unreadable objects that need no controller. It must not write to the
objects: conditions belong to the controllers of their kinds. A leader begins with an Event about
each object that is unreadable then, so that none is missed that was found by a standby.
"""

from functools import partial
from typing import Any

import structlog

from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.recording.event_objects import Regarding
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.watching.cache import Cache

log = structlog.stdlib.get_logger(__name__)


class UnreadableReports:
    """The unreadable objects of all caches of one process."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._leads = False
        self._caches: list[tuple[Resource, Cache[Any]]] = []

    def follow(self, resource: Resource, cache: Cache[Any]) -> None:
        """Report the unreadable objects of a cache from now on."""
        self._caches.append((resource, cache))
        cache.subscribe_unreadable(partial(self._on_change, resource, cache))

    def lead(self, *, leads: bool) -> None:
        """Record Events from now on, or no longer."""
        self._leads = leads
        for resource, cache in self._caches:
            for value in cache.unreadable.values():
                self._record(resource, value)

    def _on_change(
        self,
        resource: Resource,
        cache: Cache[Any],
        old: Unreadable | None,
        new: Unreadable | None,
    ) -> None:
        if new is None:
            log.info("object can be read again or is gone", **_subject(resource, old))
        elif not new.metadata.name:
            cache.count_defect()
            log.error("a watch event cannot be decoded", kind=resource.kind, problem=new.problem)
        elif old is None or (old.metadata.uid, old.problem) != (new.metadata.uid, new.problem):
            log.warning("object cannot be read", **_subject(resource, new), problem=new.problem)
            self._record(resource, new)

    def _record(self, resource: Resource, value: Unreadable) -> None:
        if self._recorder is not None and self._leads:
            key, uid = value.metadata.key, value.metadata.uid
            regarding = Regarding(resource.api_version, resource.kind, *key, uid)
            note = value.explained(resource.kind)
            self._recorder.record(regarding, names.REASON_UNREADABLE, note, type_="Warning")


def _subject(resource: Resource, value: Unreadable | None) -> dict[str, str]:
    return {"kind": resource.kind, "object": str(value.metadata.key) if value is not None else ""}
