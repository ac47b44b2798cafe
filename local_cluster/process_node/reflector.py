"""A watched collection that starts over by itself.

Each round asks for the current objects and then for changes in one request (WatchList). A
round ends at the server's time limit, with 410 or with a lost connection; the next one then
reports as deleted what is no longer there. Callbacks see UIDs only once per life: ADDED or
MODIFIED any number of times, DELETED once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable

import aiohttp

from local_cluster.api import Api, ApiError, Object

ROUND_SECONDS = 300
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
INITIAL_END = "k8s.io/initial-events-end"

log = logging.getLogger(__name__)

OnChange = Callable[[str, Object], None]


class Reflector:
    """Watches one collection and calls one callback."""

    def __init__(self, api: Api, path: str, on_change: OnChange, **selector: str) -> None:
        self._api = api
        self._path = path
        self._on_change = on_change
        self._selector = selector
        self._known: dict[str, Object] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Follow the collection until cancelled."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self._round()
                pause = FIRST_PAUSE
            except (ApiError, aiohttp.ClientError, TimeoutError) as error:
                log.warning("watch of %s: %s", self._path, str(error) or type(error).__name__)
                pause = min(pause * 2, LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _round(self) -> None:
        fresh: set[str] | None = set()
        stream = self._api.current_and_following(
            self._path, timeoutSeconds=str(ROUND_SECONDS), **self._selector
        )
        # The server ends the round in time; the deadline is for a server that is not there.
        async with asyncio.timeout(ROUND_SECONDS + 30), contextlib.aclosing(stream) as events:
            async for event in events:
                item = event["object"]
                if event["type"] == "ERROR":
                    raise ApiError(item.get("code", 500), item.get("message", ""))
                if event["type"] != "BOOKMARK":
                    if fresh is not None:
                        fresh.add(item["metadata"]["uid"])
                    self._tell(event["type"], item)
                elif fresh is not None and INITIAL_END in item["metadata"].get("annotations", {}):
                    for uid in self._known.keys() - fresh:
                        self._tell("DELETED", self._known[uid])
                    fresh = None
                    self.synced.set()

    def _tell(self, kind: str, item: Object) -> None:
        uid = item["metadata"]["uid"]
        if kind == "DELETED":
            if self._known.pop(uid, None) is None:
                return
        else:
            self._known[uid] = item
        self._on_change(kind, item)
