"""Events for people: what the process node did to a pod, and why.

Recording never waits and never fails: events go through a bounded queue, the oldest event of a
flood is dropped, and what the API server refuses is logged. An event that repeats is counted on
the first one instead of being written again.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import aiohttp

from local_cluster.api import Api, ApiError, Object
from local_cluster.process_node.status import timestamp

COMPONENT = "process-node"
QUEUED, REMEMBERED = 200, 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Note:
    namespace: str
    about: tuple[tuple[str, str], ...]
    kind: str
    reason: str
    message: str


class Events:
    """Writes events in the background."""

    def __init__(self, api: Api, clock: Callable[[], datetime], node: str) -> None:
        self._api = api
        self._clock = clock
        self._node = node
        self._queue: asyncio.Queue[_Note] = asyncio.Queue(QUEUED)
        self._counts: dict[_Note, tuple[str, int]] = {}

    def record(self, pod: Object, kind: str, reason: str, message: str) -> None:
        """Note something about a pod; `kind` is Normal or Warning."""
        metadata = pod["metadata"]
        about = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        note = _Note(metadata["namespace"], tuple(about.items()), kind, reason, message[:1000])
        log.info("%s/%s: %s: %s", note.namespace, metadata["name"], reason, message)
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(note)

    async def run(self) -> None:
        """Write what was recorded until cancelled."""
        while True:
            note = await self._queue.get()
            try:
                await self._write(note)
            except (ApiError, aiohttp.ClientError, TimeoutError) as error:
                log.warning("event not written: %s", error)
                # It may have expired: the next event of its kind is created again.
                self._counts.pop(note, None)

    async def _write(self, note: _Note) -> None:
        path = f"/api/v1/namespaces/{note.namespace}/events"
        now = timestamp(self._clock())
        if note in self._counts:
            name, count = self._counts[note]
            await self._api.patch(f"{path}/{name}", {"count": count + 1, "lastTimestamp": now})
            self._counts[note] = (name, count + 1)
            return
        about = dict(note.about)
        name = f"{about['name']}.{uuid.uuid4().hex[:16]}"
        event: Object = {
            "metadata": {"name": name, "namespace": note.namespace},
            "involvedObject": about,
            "type": note.kind,
            "reason": note.reason,
            "message": note.message,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": COMPONENT, "host": self._node},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._node,
        }
        await self._api.create(path, event)
        if len(self._counts) >= REMEMBERED:
            self._counts.clear()
        self._counts[note] = (name, 1)
