"""The life of a process: sync, elect, run, drain, release."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import aiohttp
import pytest

from shared_api.kube.codec import PartialObject
from shared_api.kube.http.transport import Line
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import PODS
from shared_api.runtime.clock import Clock
from shared_api.runtime.leading.elector import ElectionOptions, ElectionTiming, Elector
from shared_api.runtime.manager import Manager, Patience
from shared_api.runtime.reconciling.controller import Controller, ControllerOptions
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.recording.event_objects import Regarding, Reporter
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.serving.server import Address
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.reflector import Source
from tests.runtime.lease_server import LeaseServer
from tests.runtime.writes import ScriptedClient

LEASE = ObjectKey("system", "toy")
KEY = ObjectKey("a", "x")
SYNCED = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}'
)


class WatchingClient(ScriptedClient):
    """Streams an empty state once it is allowed to, and then nothing more."""

    def __init__(self) -> None:
        super().__init__()
        self.may_sync = asyncio.Event()
        self.may_sync.set()

    async def watch_batches(self, *args: Any, **kwargs: Any) -> AsyncGenerator[list[Line], None]:
        await self.may_sync.wait()
        yield [SYNCED]
        await asyncio.Event().wait()


class Process:
    """A manager with one cache and one controller, and a diary."""

    def __init__(self, clock: Clock, server: LeaseServer, address: Address | None = None) -> None:
        self.diary: list[str] = []
        self.client = WatchingClient()
        self.telemetry = Telemetry()
        self.lease_client = server.client()
        self.elector = Elector(
            self.lease_client,
            LEASE,
            "me",
            self.telemetry,
            options=ElectionOptions(ElectionTiming(random=lambda: 0.5), clock),
        )
        self.recorder = Recorder(
            self.client, Reporter("toy", "me"), self.telemetry, fence=self.elector, clock=clock
        )
        self.manager = Manager(
            self.client,
            self.telemetry,
            elector=self.elector,
            recorder=self.recorder,
            address=address,
            patience=Patience(),
        )
        self.cache = self.manager.watch(Source(PODS, PartialObject))
        self.last_words: Regarding | None = None
        self.started = asyncio.Event()
        self.finish = asyncio.Event()
        self.controller = Controller(
            "toy",
            self,
            PendingWrites(),
            self.telemetry,
            options=ControllerOptions(deadline=600),
            clock=clock,
        )
        self.manager.add(self.controller)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        self.diary.append("begin")
        self.started.set()
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.diary.append("cut")
            raise
        self.diary.append("end")
        if self.last_words is not None:
            self.recorder.record(self.last_words, "Stopping", "bye")
        return None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        async with asyncio.TaskGroup() as group:
            life = group.create_task(self.manager.run())
            try:
                yield life
            finally:
                self.manager.stop()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.mark.virtual_time
async def test_nothing_is_done_before_every_cache_is_filled(
    clock: Clock, server: LeaseServer
) -> None:
    process = Process(clock, server)
    process.client.may_sync.clear()
    process.controller.queue.add(KEY)
    async with process.running():
        await asyncio.sleep(30)
        assert process.diary == []
        assert server.spec is None
        process.client.may_sync.set()
        await asyncio.sleep(5)
        assert process.diary == ["begin"]


@pytest.mark.virtual_time
async def test_a_standby_fills_its_caches_and_does_nothing(
    clock: Clock, server: LeaseServer
) -> None:
    server.spec = {"holderIdentity": "other", "leaseDurationSeconds": 15}
    process = Process(clock, server)
    process.controller.queue.add(KEY)
    async with process.running():
        await asyncio.sleep(10)
        assert process.cache.is_synced
        assert all(check() is None for check in process.manager.readiness().values())
        assert process.diary == []
        await asyncio.sleep(20)
        assert process.diary == ["begin"]


@pytest.mark.virtual_time
async def test_work_may_finish_and_only_then_is_the_lease_given_back(
    clock: Clock, server: LeaseServer
) -> None:
    process = Process(clock, server)
    process.controller.queue.add(KEY)
    async with process.running() as life:
        await process.started.wait()
        process.manager.stop()
        await asyncio.sleep(2)
        assert server.spec is not None
        assert server.spec["holderIdentity"] == "me"
        process.finish.set()
        await life
    assert process.diary == ["begin", "end"]
    assert "holderIdentity" not in server.spec


@pytest.mark.virtual_time
async def test_work_that_does_not_finish_is_cut_off_within_ten_seconds(
    clock: Clock, server: LeaseServer
) -> None:
    process = Process(clock, server)
    process.controller.queue.add(KEY)
    async with process.running() as life:
        await process.started.wait()
        asked = asyncio.get_running_loop().time()
        process.manager.stop()
        await life
    assert asyncio.get_running_loop().time() - asked <= 10
    assert process.diary == ["begin", "cut"]
    assert server.spec is not None
    assert "holderIdentity" not in server.spec


@pytest.mark.virtual_time
async def test_an_unreachable_server_does_not_delay_the_exit(
    clock: Clock, server: LeaseServer
) -> None:
    process = Process(clock, server)
    process.controller.queue.add(KEY)
    async with process.running() as life:
        await process.started.wait()
        process.lease_client.is_cut_off = True
        process.client.latency = 1000
        asked = asyncio.get_running_loop().time()
        process.manager.stop()
        await life
    assert asyncio.get_running_loop().time() - asked <= 10


@pytest.mark.virtual_time
async def test_a_stop_before_the_caches_are_filled_is_immediate(
    clock: Clock, server: LeaseServer
) -> None:
    process = Process(clock, server)
    process.client.may_sync.clear()
    async with process.running() as life:
        await asyncio.sleep(1)
        process.manager.stop()
        await life
    assert asyncio.get_running_loop().time() == 1


@pytest.mark.virtual_time
async def test_a_lost_lease_cuts_the_work_and_the_process_stands_again(
    clock: Clock, server: LeaseServer
) -> None:
    process = Process(clock, server)
    process.controller.queue.add(KEY)
    async with process.running():
        await process.started.wait()
        process.lease_client.is_cut_off = True
        await asyncio.sleep(15)
        assert process.diary == ["begin", "cut"]
        process.lease_client.is_cut_off = False
        await asyncio.sleep(30)
        assert process.diary == ["begin", "cut", "begin"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("latency", [0.0, 0.4])
async def test_events_of_the_last_moment_are_sent(
    clock: Clock, server: LeaseServer, latency: float
) -> None:
    process = Process(clock, server)
    process.client.latency = latency
    process.last_words = Regarding("v1", "Pod", "a", "x", "u")
    process.controller.queue.add(KEY)
    async with process.running() as life:
        await process.started.wait()
        process.manager.stop()
        process.finish.set()
        await life
    assert len(set(process.client.sent("create"))) == 1
    sent = process.telemetry.registry.get_sample_value("events_recorded_total", {"result": "sent"})
    assert sent == 1


@pytest.mark.virtual_time
async def test_a_crash_of_the_machinery_ends_the_process_and_frees_the_lease(
    clock: Clock, server: LeaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(clock, server)

    async def crash() -> None:
        await asyncio.sleep(5)
        raise ZeroDivisionError

    monkeypatch.setattr(process.controller, "run", crash)
    with pytest.raises(ExceptionGroup):
        await process.manager.run()
    assert server.spec is not None
    assert "holderIdentity" not in server.spec


async def test_readiness_names_the_watch_that_is_missing(server: LeaseServer) -> None:
    process = Process(Clock(), server, Address("127.0.0.1", 0))
    process.client.may_sync.clear()
    async with process.running():
        async with asyncio.timeout(10):
            port = await process.manager.port()
        url = f"http://127.0.0.1:{port}/readyz"
        async with aiohttp.ClientSession() as session:
            async with session.get(url) as response:
                assert response.status == 503
                assert "[-] watch pods has not received the whole state" in await response.text()
            process.client.may_sync.set()
            await process.cache.wait_synced()
            async with session.get(url) as response:
                assert (response.status, await response.text()) == (200, "ok")
            process.manager.stop()


async def test_a_termination_signal_begins_the_exit(server: LeaseServer) -> None:
    process = Process(Clock(), server)
    process.controller.queue.add(KEY)
    process.finish.set()
    async with process.running() as life:
        await process.started.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(10):
            await life
    assert process.diary == ["begin", "end"]
