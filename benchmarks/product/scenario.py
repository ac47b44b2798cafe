"""The parts of the benchmark, in order.

First cluster: new processes make the big set (recorded); new ones find everything in place;
the set is deleted, small ones are made and scaled, gangs come one by one, a backend comes back
to gangs that were made without it, and sets are deleted with and without the product. Second
cluster, without the product: the recording is replayed. The onlooker is there in both, with the same watches.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product import parts
from benchmarks.product.choices import Choice
from benchmarks.product.deleting import in_turns
from benchmarks.product.processes import Controller, says, tell
from benchmarks.product.results import Backend, Deployed, Life, Product, Replayed
from benchmarks.product.site import Site, furnished, now, tiny
from benchmarks.product.workload import Sizes
from local_cluster.cluster import Cluster

IN_FLIGHT = 32
_UNTIL_RELEASED = "-"
_REPLAY_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """What to measure, and where files go."""

    choice: Choice
    sizes: Sizes
    directory: Path

    async def only_start(self, cluster: Cluster) -> Deployed:
        """The big set alone."""
        async with self._furnished(cluster) as site:
            return await self._deployed(site)

    async def with_product(self, cluster: Cluster) -> Product:
        """Everything that the product does."""
        async with self._furnished(cluster) as site:
            deployed = await self._deployed(site)
            began = now()
            async with site.core() as core:
                with site.phases.phase("restart of core"):
                    restarted = await parts.settled(core, began)
                if self.choice.is_real:
                    life, backend = await _with_backend(site, core)
                else:
                    life, backend = await _life(site, core, None), None
            with site.phases.phase("deleting in turns"):
                turns = await in_turns(site)
        return Product(deployed, restarted, life, backend, turns, site.phases.others)

    async def without_product(self, cluster: Cluster, deployed: Deployed) -> Replayed:
        """The same writes by a bare client."""
        async with (
            self._furnished(cluster) as site,
            site.place.program(self._replaying(cluster, deployed), "replayer.log") as replayer,
        ):
            await tell(replayer, deployed.uid)
            assert await says(replayer) == "ready"
            await site.until_idle()
            before = parts.Before.of(site)
            uid = await site.onlooker.create(site.workload(parts.BIG, self.sizes.replicas))
            await tell(replayer, uid)
            # Both at once, since a client that fails never gets the set up.
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(says(replayer, _REPLAY_SECONDS))
                start = await parts.started(site, before)
            writes, cpu = sending.result().split()
            return Replayed(start, int(writes), float(cpu))

    def _furnished(self, cluster: Cluster) -> contextlib.AbstractAsyncContextManager[Site]:
        return furnished(cluster, self.choice, self.sizes, self.directory)

    @property
    def _recordings(self) -> dict[str, Path]:
        """Where the writes of each process are kept."""
        processes = ("core", "backend") if self.choice.is_real else ("core",)
        return {process: self.directory / f"{process}.recording" for process in processes}

    async def _deployed(self, site: Site) -> Deployed:
        """The big set by new processes whose writes are kept."""
        files = self._recordings
        async with (
            site.backend_if_real(files.get("backend")) as backend,
            site.core(files["core"]) as core,
        ):
            return await parts.deploy(site, core, backend)

    def _replaying(self, cluster: Cluster, deployed: Deployed) -> list[str]:
        """The bare client, for what was sent until all pods were ready.

        The stand-in is there itself, so core's writes are all that is sent, and they are
        compared by when the last gate was lifted.
        """
        start = deployed.start
        ended = _nanoseconds(start.began + start.ready) if self.choice.is_real else _UNTIL_RELEASED
        arguments = [str(cluster.kubeconfig), str(IN_FLIGHT), _nanoseconds(start.began), ended]
        files = [str(file) for file in self._recordings.values()]
        return ["benchmarks.product.replayer", *arguments, *files]


def _nanoseconds(time: float) -> str:
    return str(int(time * 1e9))


async def _with_backend(site: Site, core: Controller) -> tuple[Life, Backend]:
    began = now()
    async with site.backend() as controller:
        with site.phases.phase("restart of the backend"):
            restarted = await parts.caught_up(site, controller, began)
        life = await _life(site, core, controller)
        with site.phases.phase("gangs one by one"):
            singles = await parts.one_by_one(site)
    return life, Backend(restarted, singles, await parts.awaited(site, core))


async def _life(site: Site, core: Controller, backend: Controller | None) -> Life:
    with site.phases.phase("delete"):
        deleted = await parts.delete(site, core, backend)
    with site.phases.phase("small sets"):
        rounds = range(site.sizes.tiny_rounds)
        small = [await tiny(site, core, f"tiny-{number}") for number in rounds]
    with site.phases.phase("scaling"):
        scaled = [await parts.scale(site, core, replicas) for replicas in site.sizes.scalings]
    return Life(deleted, tuple(small), tuple(scaled))
