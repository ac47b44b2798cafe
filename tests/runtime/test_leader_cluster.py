"""Two real processes and one lease: at no time do both write, not even after a freeze."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import CONFIGMAPS, LEASES
from shared_api.runtime.leading.lease import Lease
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.runtime.cluster_kit import client_of

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

NAMES = ("red", "blue")


class History:
    """Every write of both processes and every holder of the lease, by resource version."""

    def __init__(self) -> None:
        self.writes: list[tuple[int, str]] = []
        self.holders: list[tuple[int, str]] = []
        self.changed = asyncio.Event()

    def on_write(self, old: PartialObject | None, new: PartialObject | None) -> None:
        if old is not None and new is not None:
            writer = new.metadata.name.partition("-")[0]
            self.writes.append((int(new.metadata.resource_version), writer))
        self.changed.set()

    def on_lease(self, old: Lease | None, new: Lease | None) -> None:
        if new is not None and (not self.holders or self.holders[-1][1] != new.holder):
            self.holders.append((int(new.metadata.resource_version), new.holder))
        self.changed.set()

    async def until(self, condition: Callable[[], bool], seconds: float = 30) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await self.changed.wait()
                self.changed.clear()

    def count(self, writer: str) -> int:
        return sum(name == writer for _, name in self.writes)

    async def until_it_writes(self, writer: str) -> None:
        before = self.count(writer)
        await self.until(lambda: self.count(writer) >= before + 10)

    def strays(self) -> list[tuple[int, str, str]]:
        """Writes at a time when somebody else, or nobody, held the lease."""
        found = []
        for version, writer in self.writes:
            holder = ([""] + [who for when, who in sorted(self.holders) if when < version])[-1]
            if holder != writer:
                found.append((version, writer, holder))
        return found


@contextlib.asynccontextmanager
async def history(client: Client, namespace: str) -> AsyncIterator[History]:
    seen = History()
    writes: Cache[PartialObject] = Cache()
    leases: Cache[Lease] = Cache()
    writes.subscribe(seen.on_write)
    leases.subscribe(seen.on_lease)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                writes.run(Reflector(client, Source(CONFIGMAPS, PartialObject, namespace)))
            ),
            group.create_task(leases.run(Reflector(client, Source(LEASES, Lease, namespace)))),
        ]
        async with asyncio.timeout(20):
            await writes.wait_synced()
            await leases.wait_synced()
        try:
            yield seen
        finally:
            for task in tasks:
                task.cancel()


class Candidates:
    """The processes of one test."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._running: list[asyncio.subprocess.Process] = []

    async def start(self, name: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.runtime.leader_process",
            str(self._kubeconfig),
            self._namespace,
            name,
        )
        self._running.append(process)
        return process

    async def stop(self) -> None:
        for process in self._running:
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.fixture
async def candidates(cluster: Cluster, namespace: str) -> AsyncIterator[Candidates]:
    for name in NAMES:
        for number in (1, 2):
            cluster.kubectl("create", "configmap", f"{name}-{number}", f"--namespace={namespace}")
    started = Candidates(cluster.kubeconfig, namespace)
    yield started
    await started.stop()


async def test_a_holder_that_was_frozen_never_writes_beside_its_successor(
    cluster: Cluster, namespace: str, candidates: Candidates
) -> None:
    async with client_of(cluster.kubeconfig) as client, history(client, namespace) as seen:
        red = await candidates.start("red")
        await seen.until_it_writes("red")
        for _ in range(2):
            blue = await candidates.start("blue")
            red.send_signal(signal.SIGSTOP)
            await seen.until_it_writes("blue")
            # Its last write, answered or not, is in its hands; what does it do next?
            red.send_signal(signal.SIGCONT)
            async with asyncio.timeout(20):
                assert await red.wait() == -signal.SIGALRM
            await seen.until_it_writes("blue")
            red = await candidates.start("red")
            blue.send_signal(signal.SIGTERM)
            async with asyncio.timeout(10):
                assert await blue.wait() == 0
            await seen.until_it_writes("red")
        assert seen.strays() == []
        assert [who for _, who in seen.holders if who] == ["red", "blue", "red", "blue", "red"]


async def test_a_short_freeze_costs_nothing(
    cluster: Cluster, namespace: str, candidates: Candidates
) -> None:
    async with client_of(cluster.kubeconfig) as client, history(client, namespace) as seen:
        red = await candidates.start("red")
        await seen.until_it_writes("red")
        await candidates.start("blue")
        red.send_signal(signal.SIGSTOP)
        red.send_signal(signal.SIGCONT)
        await seen.until_it_writes("red")
        assert seen.count("blue") == 0
        assert seen.strays() == []


async def test_a_holder_that_leaves_hands_over_at_once(
    cluster: Cluster, namespace: str, candidates: Candidates
) -> None:
    async with client_of(cluster.kubeconfig) as client, history(client, namespace) as seen:
        red = await candidates.start("red")
        await seen.until_it_writes("red")
        await candidates.start("blue")
        red.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await red.wait() == 0
        await seen.until_it_writes("blue")
        assert ("", "blue") in [
            (before, after)
            for (_, before), (_, after) in zip(seen.holders, seen.holders[1:], strict=False)
        ]
        assert seen.strays() == []
