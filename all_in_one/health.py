"""How the programs are, asked of their own pages, for the pages of the supervisor.

Each program's /livez and /readyz are read every few seconds. The pod is ready when all of them
are. It is alive as long as each has answered within the last half minute: a program whose event
loop is stuck does not end by itself, so its page is the only thing that tells.
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
"""A program that has never answered is given longer: on a busy machine imports take their time."""


class Health:
    """What is known about the programs."""

    def __init__(self, children: Sequence[Child], clock: Clock = SYSTEM) -> None:
        self._children = children
        self._clock = clock
        self._began = clock.monotonic()
        self._answered: dict[str, float] = {}
        self._unready: dict[str, str | None] = {
            child.name: "has not answered yet" for child in children
        }

    def live(self) -> dict[str, Check]:
        """The checks of /livez."""
        return self._checks(self._silence)

    def ready(self) -> dict[str, Check]:
        """The checks of /readyz."""
        return self._checks(self._unready.get)

    async def watch(self) -> None:
        """Ask again and again, until cancelled."""
        while True:
            async with asyncio.TaskGroup() as group:
                for child in self._children:
                    group.create_task(self.ask(child))
            await asyncio.sleep(INTERVAL_SECONDS)

    async def ask(self, child: Child) -> None:
        """Read the pages of one program."""
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if await _status(child, "/livez") == 200:
                    self._answered[child.name] = self._clock.monotonic()
                code = await _status(child, "/readyz")
                self._unready[child.name] = None if code == 200 else f"/readyz says {code}"
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
    """The status code of a page."""
    reader, writer = await asyncio.open_connection(child.host, child.port)
    try:
        request = f"GET {path} HTTP/1.1\r\nHost: {child.host}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        _, code, *_ = (await reader.readline()).split()
        return int(code)
    finally:
        writer.close()
