"""CPU of one reconcile that finds nothing to do: from the queue to the worker and back."""

import asyncio
import json

from kubernetes_asyncio.client import CoreV1Api

from benchmarks.runtime.clients import bare, library
from benchmarks.runtime.figures import Figure, compare, cpu
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.pods import Pod
from shared_api.runtime.reconciling.controller import Controller, ControllerOptions
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Restarted, Synced

KEYS = 5_000
READS = 500


async def measure(url: str) -> list[Figure]:
    """All figures of this module; without a cache, finding nothing to do takes a read."""
    costs = await cpu(
        {
            "ours": _reconciles,
            "bare aiohttp, one GET": lambda: _bare(url),
            "kubernetes_asyncio, one typed GET": lambda: _library(url),
        }
    )
    return compare("CPU per no-op reconcile", "us", costs)


class _Reader:
    """A reconciler that reads its object and finds nothing to do."""

    def __init__(self, cache: Cache[Pod]) -> None:
        self._cache = cache
        self._left = len(cache)
        self.done = asyncio.Event()

    async def reconcile(self, key: ObjectKey) -> None:
        assert self._cache.get(key) is not None
        self._left -= 1
        if not self._left:
            self.done.set()


async def _reconciles() -> int:
    keys = [ObjectKey(f"team-{number % 10}", f"pod-{number}") for number in range(KEYS)]
    cache: Cache[Pod] = Cache()
    cache.take(Restarted())
    for key in keys:
        cache.take(Changed(Pod(Metadata(key.name, key.namespace, str(key), "1"))))
    cache.take(Synced("1"))
    reconciler = _Reader(cache)
    controller = Controller(
        "bench", reconciler, PendingWrites(), Telemetry(), options=ControllerOptions(workers=4)
    )
    for key in keys:
        controller.queue.add(key)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(controller.run())
        await reconciler.done.wait()
        running.cancel()
    return KEYS


async def _bare(url: str) -> int:
    async with bare() as session:
        for _ in range(READS):
            async with session.get(f"{url}/api/v1/namespaces/n/configmaps/a") as response:
                json.loads(await response.read())
    return READS


async def _library(url: str) -> int:
    async with library(url) as client:
        api = CoreV1Api(client)
        for _ in range(READS):
            await api.read_namespaced_config_map("a", "n")
    return READS
