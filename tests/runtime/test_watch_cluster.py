"""Watches and caches on a real API server, while it is restarted, cut off and flooded."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import ControlPlane
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source, WatchTiming
from tests.kube.cluster_access import config_map, new_namespace, through_proxy

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

OBJECTS = 5_000


class Watched:
    """A cache that follows the config maps of a namespace, and counts what it is told."""

    def __init__(self, client: Client, space: str, timing: WatchTiming | None = None) -> None:
        self.cache: Cache[PartialObject] = Cache()
        self.told: Counter[str] = Counter()
        self.restarts: Counter[str] = Counter()
        self.changed = asyncio.Event()
        self.restarted = asyncio.Event()
        self.reflector = Reflector(
            client,
            Source(CONFIGMAPS, PartialObject, space, metadata_only=True),
            on_restart=self.restart,
            timing=timing,
        )
        self.cache.subscribe(self.count)

    def count(self, old: PartialObject | None, new: PartialObject | None) -> None:
        self.told["added" if old is None else "removed" if new is None else "changed"] += 1
        self.changed.set()

    def restart(self, _: str, reason: str) -> None:
        self.restarts[reason] += 1
        self.restarted.set()

    async def run(self) -> None:
        await self.cache.run(self.reflector)

    async def until(self, size: int) -> None:
        """Wait until the cache holds this many objects."""
        while len(self.cache) != size:
            self.changed.clear()
            await self.changed.wait()


@pytest.fixture
def server(control_plane: ControlPlane) -> Cluster:
    return control_plane("1.36")


async def write(client: Client, space: str, name: str, value: str = "1") -> PartialObject:
    return await client.apply(CONFIGMAPS, config_map(space, name, x=value), field_manager="test")


async def write_many(client: Client, space: str, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(write(client, space, f"m{number:05}"))


async def test_ten_thousand_events_are_each_reported_once_and_pages_agree(server: Cluster) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client, asyncio.TaskGroup() as group:
        space = await new_namespace(client)
        watched = Watched(client, space)
        running = group.create_task(watched.run())
        await watched.cache.wait_synced()

        await write_many(client, space, OBJECTS)
        async with asyncio.timeout(60):
            await watched.until(OBJECTS)
        pages = [page async for page in client.pages(CONFIGMAPS, space, into=PartialObject)]
        path = CONFIGMAPS.path(space)
        await asyncio.to_thread(server.kubectl, "delete", "--raw", path)
        async with asyncio.timeout(60):
            await watched.until(0)
        running.cancel()

    listed = [item.metadata.key for page in pages for item in page.items]
    assert len(pages) == OBJECTS / 500
    assert len(set(listed)) == len(listed) == OBJECTS
    assert len({page.resource_version for page in pages}) == 1
    assert watched.told == {"added": OBJECTS, "removed": OBJECTS}


async def test_the_streamed_state_and_the_listed_state_agree(server: Cluster) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client, asyncio.TaskGroup() as group:
        space = await new_namespace(client)
        await write_many(client, space, 20)
        streamed, listed = Watched(client, space), Watched(client, space)
        listed.reflector._streams_initial_state = False
        running = [group.create_task(watched.run()) for watched in (streamed, listed)]
        async with asyncio.timeout(20):
            await streamed.cache.wait_synced()
            await listed.cache.wait_synced()
        for task in running:
            task.cancel()

    assert streamed.reflector._streams_initial_state
    assert list(streamed.cache) == list(listed.cache)
    assert len(streamed.cache) == 20


async def test_a_write_of_ours_is_seen_before_we_go_on(server: Cluster) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client, asyncio.TaskGroup() as group:
        space = await new_namespace(client)
        watched = Watched(client, space)
        running = group.create_task(watched.run())
        await watched.cache.wait_synced()
        written = await write(client, space, "a")
        key = written.metadata.key
        for number in range(20):
            written = await write(client, space, "a", str(number))
            watched.cache.note_write(key, written.metadata.resource_version)
            async with asyncio.timeout(10):
                await watched.cache.caught_up(key)
            assert watched.cache.get(key) == written
        watched.cache.note_deletion(key, written.metadata.uid)
        await client.delete(CONFIGMAPS, "a", space, uid=written.metadata.uid)
        async with asyncio.timeout(10):
            await watched.cache.caught_up(key)
        assert watched.cache.get(key) is None
        running.cancel()


async def test_a_restarted_server_is_followed_on_without_a_new_list(server: Cluster) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client, asyncio.TaskGroup() as group:
        space = await new_namespace(client)
        await write(client, space, "a")
        watched = Watched(client, space)
        running = group.create_task(watched.run())
        await watched.cache.wait_synced()
        await asyncio.to_thread(server.restart, "kube-apiserver")
        async with asyncio.timeout(60):
            await write(client, space, "b")
            await watched.until(2)
        running.cancel()

    assert watched.told == {"added": 2}
    assert sum(watched.restarts.values()) >= 1


async def test_a_gap_that_the_server_has_forgotten_is_bridged(
    server: Cluster, tmp_path: Path
) -> None:
    """Cut off before the writes, back after a restart: the versions between are gone (410)."""
    async with (
        Client.from_kubeconfig(server.kubeconfig) as direct,
        through_proxy(server, tmp_path) as (proxy, client),
        asyncio.TaskGroup() as group,
    ):
        space = await new_namespace(direct)
        kept, lost, reused = [
            await write(direct, space, name) for name in ("kept", "lost", "reused")
        ]
        watched = Watched(client, space)
        running = group.create_task(watched.run())
        await watched.cache.wait_synced()

        proxy.freeze()
        for gone in (lost, reused):
            await direct.delete(CONFIGMAPS, gone.metadata.name, space, uid=gone.metadata.uid)
        again = await write(direct, space, "reused")
        await asyncio.to_thread(server.restart, "kube-apiserver")
        # A restarted server knows versions from its start on: move past them.
        for number in range(3):
            await write(direct, space, "kept", str(number))
        newest = await write(direct, space, "kept", "last")
        proxy.cut()
        watched.cache.note_write(newest.metadata.key, newest.metadata.resource_version)
        async with asyncio.timeout(60):
            await watched.cache.caught_up(newest.metadata.key)
        running.cancel()

    assert watched.restarts["Gone"] == 1
    assert watched.cache.get(ObjectKey(space, "lost")) is None
    assert watched.cache.get(ObjectKey(space, "reused")) == again
    assert watched.cache.get(kept.metadata.key) == newest
    assert watched.told == {"added": 4, "removed": 2, "changed": 1}


async def test_a_connection_that_went_dead_is_replaced(server: Cluster, tmp_path: Path) -> None:
    async with (
        Client.from_kubeconfig(server.kubeconfig) as direct,
        through_proxy(server, tmp_path) as (proxy, client),
        asyncio.TaskGroup() as group,
    ):
        space = await new_namespace(direct)
        watched = Watched(client, space, timing=WatchTiming(inactivity=2))
        running = group.create_task(watched.run())
        await watched.cache.wait_synced()
        proxy.freeze()
        await write(direct, space, "a")
        async with asyncio.timeout(20):
            await watched.restarted.wait()
            assert watched.reflector.stale_for() >= 2
            proxy.thaw()
            await watched.until(1)
        running.cancel()

    assert watched.restarts["Timeout"] >= 1
    assert watched.told == {"added": 1}
