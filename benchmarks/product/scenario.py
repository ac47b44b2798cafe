"""The parts of the benchmark, in order.

First cluster: a new operator makes the big set (recorded); a new one finds everything in
place; it then deletes the set, makes small ones and scales. Second cluster, without an
operator: the recording is replayed, and its objects are deleted. The stand-in backend and
the onlooker are there in both, so both halves carry the same load besides.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product.machine import Usage, others_share, usage
from benchmarks.product.measures import Writes, refused
from benchmarks.product.onlooker import EXIST, READY, RELEASED, Onlooker
from benchmarks.product.processes import Core, cpu_of, operator, program, says, tell
from benchmarks.product.workload import PODS_PER_GANG, TINY_REPLICAS, Sizes, workload
from local_cluster.cluster import Cluster
from local_cluster.components import API_SERVER
from shared_api.kube.client import Client

IN_FLIGHT = 32
_BIG = "scale"
_IDLE_CPU = 0.2
"""Of a core: what a hundred nodes that renew their Leases take, and some more."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a set came up."""

    exist: float
    released: float
    ready: float
    server_cpu: float
    """CPU seconds of the API server until the last gate was lifted."""
    others: float
    """The part of the machine that other programs had meanwhile."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What the clocks said before a set was created."""

    time: float
    server_cpu: float
    usage: Usage


@dataclass(frozen=True, slots=True)
class Deployed:
    """The big set, made by the operator."""

    start: Start
    uid: str
    writes: Writes
    refused: int
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True)
class Restarted:
    """A new operator beside a set that is in place."""

    synced: float
    settled_cpu: float
    writes: Writes


@dataclass(frozen=True, slots=True)
class Scaled:
    """Halved, and doubled again."""

    replicas: int
    down: float
    up: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """The big set, made by a client that only writes."""

    start: Start
    writes: int
    cpu: float
    delete: float


@dataclass(frozen=True, slots=True)
class Product:
    """What the first cluster showed."""

    deployed: Deployed
    restarted: Restarted
    delete: float
    delete_writes: Writes
    tiny: tuple[float, ...]
    scaled: tuple[Scaled, ...]


async def with_operator(cluster: Cluster, sizes: Sizes, recording: Path) -> Product:
    """Everything that the operator does."""
    directory = recording.parent
    async with _surroundings(cluster, directory) as onlooker:
        async with operator(cluster.kubeconfig, directory, recording=recording) as core:
            deployed = await _deploy(cluster, core, onlooker, sizes)
        began = _now()
        async with operator(cluster.kubeconfig, directory) as core:
            synced = _now() - began
            await core.until_settled()
            restarted = Restarted(synced, core.cpu_seconds(), await core.writes())
            delete = await onlooker.delete(_BIG)
            await core.until_settled()
            delete_writes = await core.writes() - restarted.writes
            rounds = [f"tiny-{number}" for number in range(sizes.tiny_rounds)]
            tiny = [await _tiny(onlooker, core, name) for name in rounds]
            scaled = [await _scale(onlooker, core, replicas) for replicas in sizes.scalings]
    return Product(deployed, restarted, delete, delete_writes, tuple(tiny), tuple(scaled))


async def only_start(cluster: Cluster, sizes: Sizes, recording: Path) -> Deployed:
    """The big set alone, made in the same way."""
    directory = recording.parent
    async with (
        _surroundings(cluster, directory) as onlooker,
        operator(cluster.kubeconfig, directory, recording=recording) as core,
    ):
        return await _deploy(cluster, core, onlooker, sizes)


async def without_operator(
    cluster: Cluster, sizes: Sizes, recording: Path, recorded_uid: str
) -> Replayed:
    """The same writes by a bare client, and the garbage collector alone."""
    directory = recording.parent
    arguments = [str(cluster.kubeconfig), str(recording), str(IN_FLIGHT)]
    module = ["benchmarks.product.replayer", *arguments]
    async with (
        _surroundings(cluster, directory) as onlooker,
        program(module, cluster.kubeconfig, directory / "replayer.log") as replayer,
    ):
        await tell(replayer, recorded_uid)
        assert await says(replayer) == "ready"
        await _until_idle(cluster)
        before = _Before(_now(), _server_cpu(cluster), usage())
        await tell(replayer, await onlooker.create(workload(_BIG, sizes.replicas)))
        start = await _started(cluster, onlooker, sizes.pods, before)
        writes, cpu = (await says(replayer)).split()
        return Replayed(start, int(writes), float(cpu), await onlooker.delete(_BIG))


@contextlib.asynccontextmanager
async def _surroundings(cluster: Cluster, directory: Path) -> AsyncIterator[Onlooker]:
    """The backend that both halves have, and the onlooker; a server that has been used."""
    module = ["benchmarks.product.backend", str(cluster.kubeconfig)]
    async with (
        program(module, cluster.kubeconfig, directory / "backend.log") as backend,
        Client.from_kubeconfig(cluster.kubeconfig, user_agent="bench") as client,
        Onlooker(client).watching() as onlooker,
    ):
        assert await says(backend) == "ready"
        # A new server builds the schema of a kind when it is first applied.
        async with operator(cluster.kubeconfig, directory) as core:
            await _tiny(onlooker, core, "warm-up")
        yield onlooker


async def _deploy(cluster: Cluster, core: Core, onlooker: Onlooker, sizes: Sizes) -> Deployed:
    await core.until_settled()
    await _until_idle(cluster)
    written, cpu = await core.writes(), core.cpu_seconds()
    before = _Before(_now(), _server_cpu(cluster), usage())
    uid = await onlooker.create(workload(_BIG, sizes.replicas))
    start = await _started(cluster, onlooker, sizes.pods, before)
    await onlooker.until(lambda: onlooker.is_content(_BIG), seconds=120)
    await core.until_settled()
    used, page = core.cpu_seconds() - cpu, await core.page()
    writes = await core.writes() - written
    return Deployed(start, uid, writes, refused(page), used, core.peak_memory())


async def _started(cluster: Cluster, onlooker: Onlooker, pods: int, before: _Before) -> Start:
    began = before.time
    exist = await onlooker.until(lambda: onlooker.counts[EXIST] == pods)
    released = await onlooker.until(lambda: onlooker.counts[RELEASED] == pods)
    used = _server_cpu(cluster) - before.server_cpu
    ready = await onlooker.until(lambda: onlooker.counts[READY] == pods)
    others = others_share(before.usage, usage())
    return Start(exist - began, released - began, ready - began, used, others)


async def _tiny(onlooker: Onlooker, core: Core, name: str) -> float:
    """Seconds from the creation of ten pods' set until the pods are released."""
    pods = TINY_REPLICAS * PODS_PER_GANG
    began = _now()
    await onlooker.create(workload(name, TINY_REPLICAS))
    released = await onlooker.until(lambda: onlooker.counts[RELEASED] == pods)
    await onlooker.until(lambda: onlooker.is_content(name), seconds=60)
    await onlooker.delete(name)
    await core.until_settled()
    return released - began


async def _scale(onlooker: Onlooker, core: Core, replicas: int) -> Scaled:
    name, pods = f"scaled-{replicas}", replicas * PODS_PER_GANG
    await onlooker.create(workload(name, replicas))
    await onlooker.until(lambda: onlooker.is_content(name))
    await core.until_settled()
    began = _now()
    await onlooker.scale(name, replicas // 2)
    down = await onlooker.until(lambda: onlooker.counts[EXIST] == pods // 2) - began
    await onlooker.until(lambda: onlooker.is_content(name))
    await core.until_settled()
    began = _now()
    await onlooker.scale(name, replicas)
    up = await onlooker.until(lambda: onlooker.counts[RELEASED] == pods) - began
    await onlooker.until(lambda: onlooker.is_content(name))
    await onlooker.delete(name)
    await core.until_settled()
    return Scaled(replicas, down, up)


async def _until_idle(cluster: Cluster) -> None:
    """Wait until the API server rests: after its start it works for itself for a while."""
    async with asyncio.timeout(120):
        used = 1.0
        while used > _IDLE_CPU:
            before = _server_cpu(cluster)
            await asyncio.sleep(1)  # rest is no event
            used = _server_cpu(cluster) - before


def _server_cpu(cluster: Cluster) -> float:
    return cpu_of(cluster.control.components()[API_SERVER]["pid"])


def _now() -> float:
    return asyncio.get_running_loop().time()
