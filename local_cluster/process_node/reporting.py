"""The way of a pod's status to the API server.

One patch at a time, only when something changed, tried again until it arrives. Patches merge
strategically, so conditions of others survive, and carry the pod's UID, so a successor of the
same name is never touched.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import aiohttp

from local_cluster.api import STRATEGIC_PATCH, Api, ApiError, Object

FIRST_RETRY, LAST_RETRY = 0.2, 10.0
GONE = (404, 409)

log = logging.getLogger(__name__)


class StatusReporter:
    """Sends the status of one pod."""

    def __init__(self, api: Api, pod: Object, status: Callable[[Object], Object]) -> None:
        metadata = pod["metadata"]
        self._api = api
        self._path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        self._uid: str = metadata["uid"]
        self._status = status
        self._sent: Object = {}
        self._dirty = asyncio.Event()

    def touch(self) -> None:
        """Something may have changed."""
        self._dirty.set()

    async def run(self) -> None:
        """Report changes until cancelled."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            await self.send()

    async def send(self) -> None:
        """Report the status as it is now, if it is not what was reported last."""

        async def attempt() -> None:
            # Computed at each attempt: after an outage the latest status counts.
            status = self._status(self._sent)
            if status != self._sent:
                patch = {"metadata": {"uid": self._uid}, "status": status}
                await self._api.patch(f"{self._path}/status", patch, content_type=STRATEGIC_PATCH)
                self._sent = status

        await self._insist(attempt)

    async def delete(self) -> None:
        """Remove the pod from the API: its processes are gone."""

        async def attempt() -> None:
            body: Object = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._uid}}
            await self._api.delete(self._path, body)

        await self._insist(attempt)

    async def _insist(self, attempt: Callable[[], Awaitable[None]]) -> None:
        pause = FIRST_RETRY
        while True:
            try:
                return await attempt()
            except ApiError as error:
                if error.code in GONE:
                    return None
                log.warning("%s: %s", self._path, error)
            except (aiohttp.ClientError, TimeoutError) as error:
                log.warning("%s: %s", self._path, str(error) or type(error).__name__)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LAST_RETRY)
