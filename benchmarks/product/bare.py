"""The run without the product: a client that only writes sends the writes of the product.

It replays the big set and some of the bursts, which measure latency instead of throughput. The
watcher is the same in both runs. So is the stand-in, if there is one: then only core's writes are
replayed.
"""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product import parts
from benchmarks.product.onlooker import RELEASED
from benchmarks.product.processes import read_line, send_line
from benchmarks.product.results import Burst, Deployed, Replayed
from benchmarks.product.site import Site, now

IN_FLIGHT = 32
_UNTIL_RELEASED = "-"
_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Recordings:
    """Where the writes of the product's processes are kept."""

    directory: Path
    has_backend: bool

    def core(self, part: str) -> Path:
        """Those of core in a part of the benchmark."""
        return self.directory / f"core-{part}.recording"

    def backend(self, part: str) -> Path | None:
        """Those of the backend, if it is one of the product's own."""
        return self.directory / f"backend-{part}.recording" if self.has_backend else None

    def all(self, part: str) -> list[str]:
        """All files of a part."""
        return [str(file) for file in (self.core(part), self.backend(part)) if file is not None]


@dataclass(frozen=True, slots=True)
class BareClient:
    """Sends recorded writes to a site."""

    site: Site
    recordings: Recordings

    async def big(self, part: str, deployed: Deployed, bursts: dict[str, float]) -> Replayed:
        """The big set; with the stand-in until the last gate, else until all are ready."""
        site, start = self.site, deployed.start
        ended = _UNTIL_RELEASED
        if self.recordings.has_backend:
            ended = _nanoseconds(start.began + start.ready)
        async with self._prepared(part, deployed.uid, start.began, ended) as client:
            before = parts.Before.of(site)
            uid = await site.onlooker.create(site.workload(parts.BIG, site.sizes.replicas))
            await send_line(client, uid)
            # Both at once, since a client that fails never gets the set up.
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(read_line(client, _SECONDS))
                found = await parts.started(site, before)
            writes, cpu = sending.result().split()
            return Replayed(found, int(writes), float(cpu), bursts)

    async def burst(self, part: str, burst: Burst) -> float:
        """Some gangs at once; the seconds until they were released."""
        onlooker = self.site.onlooker
        ended = _nanoseconds(burst.began + burst.seconds)
        async with self._prepared(part, burst.uid, burst.began, ended) as client:
            began = now()
            uid = await onlooker.create(self.site.workload(burst.name, burst.replicas))
            await send_line(client, uid)
            async with asyncio.TaskGroup() as group:
                group.create_task(read_line(client))
                released = await onlooker.until(lambda: onlooker.counts[RELEASED] == burst.pods)
        await onlooker.delete(burst.name)
        return released - began

    @contextlib.asynccontextmanager
    async def _prepared(
        self, part: str, uid: str, began: float, ended: str
    ) -> AsyncIterator[Process]:
        """The client, connected and with its list of writes, while the server is idle."""
        kubeconfig = str(self.site.cluster.kubeconfig)
        arguments = [kubeconfig, str(IN_FLIGHT), _nanoseconds(began), ended]
        module = ["benchmarks.product.replayer", *arguments, *self.recordings.all(part)]
        async with self.site.place.program(module, "replayer.log") as client:
            await send_line(client, uid)
            assert await read_line(client) == "ready"
            await self.site.until_idle()
            yield client


def _nanoseconds(time: float) -> str:
    return str(int(time * 1e9))
