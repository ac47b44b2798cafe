"""The parts of the benchmark, in order.

On the first cluster, new processes create the big set (recorded) and are restarted. The set is
deleted, small sets are created and scaled (recorded), gangs are created one by one, the backend
restarts with waiting gangs, and sets are deleted with and without the product. On the second
cluster, the recordings are replayed without the product. The watches are the same on both.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product import parts
from benchmarks.product.bare import BareClient, Recordings
from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.deleting import in_turns
from benchmarks.product.measures import leads
from benchmarks.product.processes import ControllerProcess
from benchmarks.product.results import (
    BackendResults,
    Deployed,
    Life,
    Product,
    Replayed,
    RestartResults,
)
from benchmarks.product.site import Site, furnished, now, tiny
from benchmarks.product.workload import Sizes
from local_cluster.cluster import Cluster

_START, _LIFE = "start", "life"
"""What is recorded, each in files of its own."""
_TINY_REPLAYS = 5


@dataclass(frozen=True, slots=True)
class Scenario:
    """What to measure, and where files go."""

    choice: BackendUnderTest
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
            async with contextlib.AsyncExitStack() as processes:
                core, restarted = await self._restarted(site, processes)
                if self.choice.is_real:
                    life, backend = await self._with_backend(site, core)
                else:
                    life, backend = await _life(site, core, None), None
            with site.phases.phase("deleting in turns"):
                turns = await in_turns(site)
        return Product(deployed, restarted, life, backend, turns, site.phases.others)

    async def without_product(self, cluster: Cluster, product: Product) -> Replayed:
        """The same writes by a bare client."""
        async with self._furnished(cluster) as site:
            client = BareClient(site, self._recordings)
            life = product.life
            replayed = [*life.tiny[-_TINY_REPLAYS:], *(scaled.up for scaled in life.scaled)]
            bursts = {burst.name: await client.burst(_LIFE, burst) for burst in replayed}
            return await client.big(_START, product.deployed, bursts)

    def _furnished(self, cluster: Cluster) -> contextlib.AbstractAsyncContextManager[Site]:
        return furnished(cluster, self.choice, self.sizes, self.directory)

    @property
    def _recordings(self) -> Recordings:
        return Recordings(self.directory, self.choice.is_real)

    async def _deployed(self, site: Site) -> Deployed:
        """The big set by new processes whose writes are kept."""
        files = self._recordings
        async with (
            site.backend_if_real(files.backend(_START)) as backend,
            site.core(files.core(_START)) as core,
        ):
            return await parts.deploy(site, core, backend)

    async def _restarted(
        self, site: Site, processes: contextlib.AsyncExitStack
    ) -> tuple[ControllerProcess, RestartResults]:
        """Core, which finds everything in place, its backend included.

        Of a backend that is down it would report on every gang.
        """
        async with site.backend_if_real() as backend:
            if backend is not None:
                await backend.until_page(leads)
            began = now()
            core = await processes.enter_async_context(site.core(self._recordings.core(_LIFE)))
            with site.phases.phase("restart of core"):
                restarted = await parts.settled(core, began)
        await core.until_settled()
        return core, restarted

    async def _with_backend(
        self, site: Site, core: ControllerProcess
    ) -> tuple[Life, BackendResults]:
        began = now()
        async with site.backend(self._recordings.backend(_LIFE)) as controller:
            with site.phases.phase("restart of the backend"):
                restarted = await parts.caught_up(site, controller, began)
            life = await _life(site, core, controller)
            with site.phases.phase("gangs one by one"):
                singles = await parts.one_by_one(site)
        return life, BackendResults(restarted, singles, await parts.awaited(site, core))


async def _life(site: Site, core: ControllerProcess, backend: ControllerProcess | None) -> Life:
    with site.phases.phase("delete"):
        deleted = await parts.delete(site, core, backend)
    with site.phases.phase("small sets"):
        rounds = range(site.sizes.tiny_rounds)
        small = [await tiny(site, core, f"tiny-{number}") for number in rounds]
    with site.phases.phase("scaling"):
        scaled = [
            await parts.scale(site, core, f"scaled-{number}", replicas)
            for number, replicas in enumerate(site.sizes.scalings)
        ]
    return Life(deleted, tuple(small), tuple(scaled))
