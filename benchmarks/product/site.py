"""A cluster with the processes that run longer than one part of the benchmark.

The onlooker is; so is the stand-in backend, which both halves have. The product's processes
come and go with the parts, and a site knows how to start them.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.machine import Phases
from benchmarks.product.onlooker import RELEASED, Onlooker
from benchmarks.product.processes import ClusterPlace, ControllerProcess, cpu_of, read_line
from benchmarks.product.results import Burst
from benchmarks.product.workload import PODS_PER_GANG, TINY_REPLICAS, Sizes, workload
from local_cluster.api import Object
from local_cluster.cluster import Cluster
from local_cluster.components import API_SERVER
from shared_api.kube.client import Client

_IDLE_CPU = 0.2
"""Of a core: what a hundred nodes that renew their Leases take, and some more."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster, the onlooker, and what is being measured."""

    cluster: Cluster
    place: ClusterPlace
    onlooker: Onlooker
    choice: BackendUnderTest
    sizes: Sizes
    phases: Phases = field(default_factory=Phases)

    def core(self, recording: Path | None = None) -> AbstractAsyncContextManager[ControllerProcess]:
        """The core operator."""
        return self.place.controller("core_operator", recording=recording)

    def backend(
        self, recording: Path | None = None
    ) -> AbstractAsyncContextManager[ControllerProcess]:
        """The backend controller; there is none where the stand-in is."""
        assert self.choice.is_real
        arguments = ("--backend", self.choice.name)
        return self.place.controller("backend_controllers", *arguments, recording=recording)

    @contextlib.asynccontextmanager
    async def backend_if_real(
        self, recording: Path | None = None
    ) -> AsyncIterator[ControllerProcess | None]:
        """The backend controller, or None with the stand-in."""
        if not self.choice.is_real:
            yield None
            return
        async with self.backend(recording) as controller:
            yield controller

    def workload(self, name: str, replicas: int) -> Object:
        """A set for the backend that was chosen."""
        return workload(name, replicas, self.choice.annotations)

    def server_cpu(self) -> float:
        """CPU seconds that the API server has used so far."""
        return cpu_of(self.cluster.control.components()[API_SERVER]["pid"])

    def cluster_cpu(self) -> dict[str, float]:
        """The same of each part of the control plane."""
        parts = self.cluster.control.components()
        return {name: cpu_of(part["pid"]) for name, part in parts.items()}

    async def until_idle(self) -> None:
        """Wait until the API server is idle: after its start it is busy for a while."""
        async with asyncio.timeout(120):
            used = 1.0
            while used > _IDLE_CPU:
                before = self.server_cpu()
                await asyncio.sleep(1)  # no event announces rest
                used = self.server_cpu() - before


@contextlib.asynccontextmanager
async def furnished(
    cluster: Cluster, choice: BackendUnderTest, sizes: Sizes, directory: Path
) -> AsyncIterator[Site]:
    """A site whose API server has been used."""
    place = ClusterPlace(cluster.kubeconfig, directory)
    async with contextlib.AsyncExitStack() as stack:
        if not choice.is_real:
            module = ["benchmarks.product.backend", str(cluster.kubeconfig)]
            stand_in = await stack.enter_async_context(place.program(module, "stand-in.log"))
            assert await read_line(stand_in) == "ready"
        client = await stack.enter_async_context(
            Client.from_kubeconfig(cluster.kubeconfig, user_agent="bench")
        )
        onlooker = await stack.enter_async_context(Onlooker(client, choice).watching())
        site = Site(cluster, place, onlooker, choice, sizes)
        # A new server builds the schema of a kind when it is first applied.
        async with site.backend_if_real(), site.core() as core:
            await tiny(site, core, "warm-up")
        yield site


async def tiny(site: Site, core: ControllerProcess, name: str) -> Burst:
    """From the creation of ten pods' set until the pods are released."""
    onlooker, pods = site.onlooker, TINY_REPLICAS * PODS_PER_GANG
    began = now()
    uid = await onlooker.create(site.workload(name, TINY_REPLICAS))
    released = await onlooker.until(lambda: onlooker.counts[RELEASED] == pods)
    await onlooker.until(lambda: onlooker.is_content(name), seconds=60)
    await onlooker.delete(name)
    await core.until_settled()
    return Burst(name, uid, TINY_REPLICAS, pods, began, released - began)


def now() -> float:
    """The loop's time, which is the machine's monotonic clock."""
    return asyncio.get_running_loop().time()
