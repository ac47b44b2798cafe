"""CPU of one pod event from the socket into the cache, and events through to the queue."""

import asyncio
import json
import time

from kubernetes_asyncio.client import CoreV1Api
from kubernetes_asyncio.watch import Watch  # noqa: TID251 - it is what we compare with

from benchmarks.runtime.clients import bare, library, ours
from benchmarks.runtime.figures import Figure, compare, cpu
from shared_api.kube.client import Client, Selector
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import enqueue_changes, itself
from shared_api.runtime.watching.reflector import Reflector, Source

EVENTS = 5_000
FEW = 300


async def measure(url: str) -> list[Figure]:
    """All figures of this module."""
    async with ours(url) as client:
        costs = await cpu(
            {
                "ours": lambda: _into_cache(client, EVENTS),
                "bare aiohttp + json": lambda: _bare(url, EVENTS),
                "kubernetes_asyncio Watch, dict": lambda: _library(url, FEW, typed=False),
                "kubernetes_asyncio Watch, V1Pod": lambda: _library(url, FEW, typed=True),
            }
        )
        piped = await _events_per_second(client)
    return [
        *compare("CPU per pod event into the cache", "us", costs, 40),
        Figure("events through watch, cache and queue", piped, "1/s"),
    ]


async def _into_cache(client: Client, count: int) -> int:
    """The state is empty; the changes that follow are what is measured."""
    cache, reflector = _watched(client, f"state=0,changes={count}")
    told, all_told = 0, asyncio.Event()

    def tell(_old: Pod | None, _new: Pod | None) -> None:
        nonlocal told
        told += 1
        if told == count:
            all_told.set()

    cache.subscribe(tell)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(cache.run(reflector))
        await all_told.wait()
        running.cancel()
    return count


def _watched(client: Client, wanted: str) -> tuple[Cache[Pod], Reflector[Pod]]:
    cache: Cache[Pod] = Cache({"node": lambda value: (value.spec.node_name,)})
    return cache, Reflector(client, Source(PODS, Pod, selector=Selector(labels=wanted)))


async def _events_per_second(client: Client, rounds: int = 4) -> float:
    """The best round; in the first one the server also makes the events."""
    best = 0.0
    for _ in range(rounds):
        cache, reflector = _watched(client, f"state={EVENTS}")
        queue = Queue[ObjectKey](lambda key: key.namespace)
        enqueue_changes(queue, cache, itself)
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(cache.run(reflector))
            for _ in range(EVENTS):
                queue.done(await queue.get())
            running.cancel()
        best = max(best, EVENTS / (time.perf_counter() - began))
    return best


async def _bare(url: str, count: int) -> int:
    path = f"{url}/api/v1/pods?watch=1&labelSelector=changes%3D{count}"
    held = {}
    async with bare() as session, session.get(path) as response:
        async for line in response.content:
            value = json.loads(line)["object"]
            held[value["metadata"]["namespace"], value["metadata"]["name"]] = value
    return count


async def _library(url: str, count: int, *, typed: bool) -> int:
    held = {}
    async with library(url) as client, Watch("V1Pod" if typed else "object") as watch:
        pods = CoreV1Api(client).list_pod_for_all_namespaces
        seen = 0
        async for event in watch.stream(pods, label_selector=f"changes={count}"):
            metadata = event["raw_object"]["metadata"]
            held[metadata["namespace"], metadata["name"]] = event["object"]
            seen += 1
            if seen == count:
                break
    return count
