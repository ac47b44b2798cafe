"""The supervisor's health checks, based on /livez and /readyz of the programs.

Both are requested every 2 seconds. The pod is ready if all programs are. The pod is live if every
program answered within the last 30 seconds: a program whose event loop is stuck does not exit.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from all_in_one.children import Child
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.serving.server import Check

INTERVAL_SECONDS = 2.0
_DEADLINE_SECONDS = 2.0
_SILENCE_SECONDS = 30.0
_STARTED_SECONDS = 90.0
"""Before its first answer a program gets more time: imports are slow on a busy machine."""


class Health:
    """State of the programs."""

    def __init__(self, children: Sequence[Child], clock: Clock = SYSTEM) -> None:
        self._children = children
        self._clock = clock
        self._began = clock.monotonic()
        self._answered: dict[str, float] = {}
        self._unready: dict[str, str | None] = {
            child.name: "has not answered yet" for child in children
        }

    def live(self) -> dict[str, Check]:
        """Return the checks of /livez."""
        return self._checks(self._silence)

    def ready(self) -> dict[str, Check]:
        """Return the checks of /readyz."""
        return self._checks(self._unready.get)

    async def watch(self) -> None:
        """Check all programs periodically, until cancelled."""
        while True:
            async with asyncio.TaskGroup() as group:
                for child in self._children:
                    group.create_task(self.ask(child))
            await asyncio.sleep(INTERVAL_SECONDS)

    async def ask(self, child: Child) -> None:
        """Check one program."""
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if await _status(child, "/livez") == 200:
                    self._answered[child.name] = self._clock.monotonic()
                code = await _status(child, "/readyz")
                self._unready[child.name] = None if code == 200 else f"/readyz returns {code}"
        except (OSError, TimeoutError, ValueError) as error:
            self._unready[child.name] = f"does not answer: {str(error) or type(error).__name__}"

    def _checks(self, problem: Callable[[str], str | None]) -> dict[str, Check]:
        return {child.name: partial(problem, child.name) for child in self._children}

    def _silence(self, name: str) -> str | None:
        now, answered = self._clock.monotonic(), self._answered.get(name)
        since = now - (self._began if answered is None else answered)
        allowed = _STARTED_SECONDS if answered is None else _SILENCE_SECONDS
        return None if since <= allowed else f"has not answered for {since:.0f} s"


async def _status(child: Child, path: str) -> int:
    """Return the HTTP status code of a path."""
    reader, writer = await asyncio.open_connection(child.host, child.port)
    try:
        request = f"GET {path} HTTP/1.1\r\nHost: {child.host}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        _, code, *_ = (await reader.readline()).split()
        return int(code)
    finally:
        writer.close()
