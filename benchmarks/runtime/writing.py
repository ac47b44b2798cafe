"""CPU of one small server-side apply, 32 in flight."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from kubernetes_asyncio.client import ApiClient, CustomObjectsApi

from benchmarks.runtime.clients import bare, library, ours
from benchmarks.runtime.figures import Figure, compare, cpu
from shared_api.kube.resources import Resource

WRITES = 1_500
IN_FLIGHT = 32
THINGS = Resource("example.com", "v1", "things", "Thing")
MANIFEST = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "n", "labels": {"app": "bench", "team": "x"}},
    "spec": {"replicas": 3, "groups": [{"name": f"g{number}", "size": 8} for number in range(8)]},
}
APPLY = "application/apply-patch+yaml"


async def measure(url: str) -> list[Figure]:
    """All figures of this module."""
    async with ours(url) as client, bare() as session, library(url) as api_client:
        costs = await cpu(
            {
                "ours": lambda: _many(
                    lambda: client.apply(THINGS, MANIFEST, field_manager="b", force=True)
                ),
                "bare aiohttp": lambda: _many(lambda: _bare(session, url)),
                "kubernetes_asyncio CustomObjectsApi": lambda: _many(lambda: _library(api_client)),
            }
        )
    ratio = costs["ours"] / costs["bare aiohttp"]
    return [
        *compare("CPU per apply", "us", costs),
        Figure("CPU per apply: ours / bare aiohttp", ratio, "x", 1.3),
    ]


async def _many(write: Callable[[], Awaitable[object]]) -> int:
    numbers = itertools.islice(itertools.count(), WRITES)

    async def worker() -> None:
        for _ in numbers:
            await write()

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(worker())
    return WRITES


async def _bare(session: aiohttp.ClientSession, url: str) -> object:
    path = f"{url}/apis/example.com/v1/namespaces/n/things/a?fieldManager=b&force=true"
    body = json.dumps(MANIFEST).encode()
    headers = {"Content-Type": APPLY, "Accept": "application/json"}
    async with session.patch(path, data=body, headers=headers) as response:
        return json.loads(await response.read())


async def _library(client: ApiClient) -> object:
    api: Any = CustomObjectsApi(client)
    return await api.patch_namespaced_custom_object(
        *("example.com", "v1", "n", "things", "a"),
        MANIFEST,
        field_manager="b",
        force=True,
        _content_type=APPLY,
    )
