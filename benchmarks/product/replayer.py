"""A client that does nothing but write: `replayer KUBECONFIG IN_FLIGHT BEGAN ENDED FILE...`.

It reads the writes from BEGAN to ENDED (`-`: until the last pod was ungated) and the recorded UID of
the set, and prints `ready`. It then waits for a line with the new UID of the set, and sends all
writes with so many requests in flight, each as soon as its dependencies exist. It prints the number
of writes and the CPU seconds. A refused write is an error.
"""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec

from benchmarks.product.recording import read
from benchmarks.product.replay import ReplayStep, between, plan
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.codec import PartialObject

_DEADLINE = aiohttp.ClientTimeout(total=60)
_KEPT = 300.0
"""Seconds; longer than it takes until there is something to send."""
_END = -1


class Replayer:
    """Sends steps."""

    def __init__(
        self, session: aiohttp.ClientSession, server: str, steps: Sequence[ReplayStep]
    ) -> None:
        self._session = session
        self._server = server
        self._steps = steps
        self._missing = [len(step.waits_for) for step in steps]
        self._dependents: dict[int, list[int]] = defaultdict(list)
        for index, step in enumerate(steps):
            for before in step.waits_for:
                self._dependents[before].append(index)
        self._left = len(steps)
        self._ready: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
        self._uid = msgspec.json.Decoder(PartialObject)

    async def connect(self, connections: int) -> None:
        """Open the connections, so that what is measured is writing."""
        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(self._ask())

    async def _ask(self) -> None:
        async with self._session.get(f"{self._server}/version") as response:
            await response.read()

    async def send_all(self, uids: dict[str, str], in_flight: int) -> None:
        """Send all steps, the earliest of those that can be sent first."""
        for index, missing in enumerate(self._missing):
            if not missing:
                self._ready.put_nowait(index)
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(self._work(uids, in_flight))

    async def _work(self, uids: dict[str, str], workers: int) -> None:
        while (index := await self._ready.get()) != _END:
            step = self._steps[index]
            uids[step.uid] = await self._send(step, uids)
            for dependent in self._dependents[index]:
                self._missing[dependent] -= 1
                if not self._missing[dependent]:
                    self._ready.put_nowait(dependent)
            self._left -= 1
            if not self._left:
                for _ in range(workers):
                    self._ready.put_nowait(_END)

    async def _send(self, step: ReplayStep, uids: dict[str, str]) -> str:
        async with self._session.request(
            step.method,
            self._server + step.target(uids),
            data=step.body(uids),
            headers={"Content-Type": step.content_type},
        ) as response:
            answer = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{step.method} {step.target}: {answer[:500]!r}")
            return self._uid.decode(answer).metadata.uid or ""


async def main(kubeconfig: str, in_flight: str, began: str, ended: str, *files: str) -> None:
    """Replay a recording."""
    old = sys.stdin.readline().strip()
    recorded = [write for file in files for write in read(Path(file))]
    chosen = between(recorded, int(began), None if ended == "-" else int(ended))
    steps = plan(chosen, frozenset({old}))
    access = from_kubeconfig(kubeconfig)
    await access.open()
    connector = aiohttp.TCPConnector(limit=0, ssl=access.tls or True, keepalive_timeout=_KEPT)
    async with aiohttp.ClientSession(connector=connector, timeout=_DEADLINE) as session:
        replayer = Replayer(session, access.server, steps)
        await replayer.connect(int(in_flight))
        _say("ready")
        new = sys.stdin.readline().strip()
        used = time.process_time()
        await replayer.send_all({old: new}, int(in_flight))
        _say(f"{len(steps)} {time.process_time() - used}")
    # What a process that has ended had used would count as the work of others.
    sys.stdin.readline()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
