"""Ten thousand pods of a real API server into a cache, beside reading and dropping their bytes.

The pods are written to a bare API server once; nothing runs them. Reading takes turns with
caching, and the best turn of each counts, because the server's own speed varies more than
what is measured.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.runtime.figures import Figure
from local_cluster.cluster import ClusterOptions
from local_cluster.lifecycle import down, up
from shared_api.kube.client import Client, WatchStart
from shared_api.kube.codec import PartialObject
from shared_api.kube.pods import Pod
from shared_api.kube.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS, Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.kube.samples import pod

COUNT = 10_000
IN_FLIGHT = 64
TURNS = 4
SPACE = "bench"
RUN_TIME_METADATA = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generateName")


def measure() -> list[Figure]:
    """All figures of this module."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        options = ClusterOptions(parts="api")
        cluster = up(options, name="sync", directory=Path(directory) / "sync", leashed=True)
        try:
            return uvloop.run(_measure(cluster.kubeconfig))
        finally:
            down(cluster)


async def _measure(kubeconfig: Path) -> list[Figure]:
    async with Client.from_kubeconfig(kubeconfig) as client:
        await _fill(client)
        read, cached, cpu = [], [], []
        for _ in range(TURNS):
            read.append(await _read(client))
            began = time.process_time()
            cached.append(await _cache(client))
            cpu.append(time.process_time() - began)
    return [
        Figure(f"{COUNT:,} pods of an API server listed and cached", min(cached), "s"),
        Figure("their bytes, read and dropped", min(read), "s"),
        Figure("pods cached / bytes transferred", min(cached) / min(read), "x", 1.5),
        Figure("CPU per pod listed over TLS and cached", min(cpu) / COUNT * 1e6, "us"),
    ]


async def _fill(client: Client) -> None:
    await _create(client, NAMESPACES, {"name": SPACE})
    await _create(client, SERVICE_ACCOUNTS, {"name": "default", "namespace": SPACE})
    numbers = iter(range(COUNT))
    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(_create_pods(client, numbers))


async def _create(client: Client, resource: Resource, metadata: dict[str, str]) -> None:
    manifest = {"apiVersion": "v1", "kind": resource.kind, "metadata": metadata}
    await client.create(resource, manifest, field_manager="bench", into=PartialObject)


async def _create_pods(client: Client, numbers: Iterator[int]) -> None:
    for number in numbers:
        manifest = pod(number)
        del manifest["status"], manifest["spec"]["nodeName"]
        manifest["metadata"]["namespace"] = SPACE
        for field in RUN_TIME_METADATA:
            del manifest["metadata"][field]
        await client.create(PODS, manifest, field_manager="bench", into=PartialObject)


async def _read(client: Client) -> float:
    began = time.perf_counter()
    batches = client.watch_batches(PODS, start=WatchStart(initial_events=True))
    async with contextlib.aclosing(batches):
        async for lines in batches:
            if bytes(lines[-1][:18]) == b'{"type":"BOOKMARK"':
                break
        return time.perf_counter() - began


async def _cache(client: Client) -> float:
    cache: Cache[Pod] = Cache({"node": lambda value: (value.spec.node_name,)})
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(cache.run(Reflector(client, Source(PODS, Pod))))
        await cache.wait_synced()
        seconds = time.perf_counter() - began
        running.cancel()
    return seconds
