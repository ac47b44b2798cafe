"""The life of a controller process: sync, elect, run, drain, release.

It owns the tasks of the process and their order. Caches are filled in every replica, so a standby
is ready and takes over without a list. Controllers run only while this process holds the Lease, and
after the first list of every cache is complete. On SIGTERM or SIGINT no new key is taken, running
reconciles may finish, the rest is cancelled, Events are sent, the Lease is released, and the HTTP
server closes last: ten seconds at most. A lost Lease ends the work, not the process.
"""

import asyncio
import contextlib
import gc
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import structlog

from shared_api.kube.client import Client
from shared_api.runtime.leading.elector import Elector, LeadershipLost
from shared_api.runtime.leading.fence import Fence, Unfenced
from shared_api.runtime.reconciling.controller import Controller
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.recording.unreadable_reports import UnreadableReports
from shared_api.runtime.serving.server import Address, Check, Server
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache, Indexer
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Reflector, Source, WatchTiming
from shared_api.runtime.watching.watch_health import WatchHealth

log = structlog.stdlib.get_logger(__name__)

_COLLECT_EVERY = (50_000, 20, 100)
"""Allocations between garbage collections. Our values are trees that reference counting frees, so
the interpreter's 700 means many collections that find nothing."""

W = TypeVar("W", bound=Watched)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the steps of the exit may take, in seconds."""

    drain: float = 5.0
    """For running reconciles."""
    events: float = 1.0
    stale: float = 90.0
    """Silence of a watch after which the process is not ready; bookmarks come every minute."""


@dataclass(frozen=True, slots=True)
class _Watch:
    resource: str
    run: Callable[[], Awaitable[None]]
    wait_synced: Callable[[], Awaitable[None]]
    problem: Check


class Manager:
    """Everything that runs in one process."""

    def __init__(
        self,
        client: Client,
        telemetry: Telemetry,
        *,
        elector: Elector | None = None,
        recorder: Recorder | None = None,
        address: Address | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.fence: Fence = elector or Unfenced()
        self._port = 0
        self._serving = asyncio.Event()
        self._client = client
        self._telemetry = telemetry
        self._elector = elector
        self._recorder = recorder
        self._address = address
        self._patience = patience or Patience()
        self._unreadable = UnreadableReports(recorder)
        self._watches: list[_Watch] = []
        self._controllers: list[Controller] = []
        self._stopping = asyncio.Event()
        self._leading = False

    def watch(
        self,
        source: Source[W],
        indexes: Mapping[str, Indexer[W]] | None = None,
        *,
        on_served: Callable[[bool], None] | None = None,
        health: WatchHealth | None = None,
        timing: WatchTiming | None = None,
    ) -> Cache[W]:
        """Return a cache that is filled while the process runs.

        `on_served` is called when the server begins or ceases to serve an optional kind.
        """
        name = _name(source)
        telemetry = self._telemetry
        defects = telemetry.panics.labels(f"watch {name}")
        cache: Cache[W] = Cache(indexes, name=name, on_defect=defects.inc)

        def on_restart(resource: str, reason: str) -> None:
            telemetry.watch_restarted(resource, reason)
            if health is not None:
                health.broke(reason)

        reflector = Reflector(
            self._client,
            source,
            timing=timing,
            on_heard=None if health is None else health.heard,
            on_restart=on_restart,
            on_served=on_served,
        )
        labels = {"resource": name}
        telemetry.read_at_scrape("watch_age_seconds", labels, reflector.stale_for)
        telemetry.read_at_scrape("cache_objects", labels, lambda: len(cache))
        telemetry.read_at_scrape("cache_unreadable_objects", labels, lambda: len(cache.unreadable))
        self._unreadable.follow(source.resource, cache)
        telemetry.read_at_scrape("cache_synced", labels, lambda: cache.is_synced)

        def problem() -> str | None:
            age = reflector.stale_for()
            if cache.is_synced and age <= self._patience.stale:
                return None
            error = f": {reflector.last_error}" if reflector.last_error else ""
            if not cache.is_synced:
                return f"has not received the whole state yet{error}"
            return f"has heard nothing for {age:.0f} s{error}"

        self._watches.append(_Watch(name, lambda: cache.run(reflector), cache.wait_synced, problem))
        return cache

    def follow(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        wait_synced: Callable[[], Awaitable[None]],
        problem: Check,
    ) -> None:
        """Run something that observes, like a watch: controllers start after `wait_synced`."""
        self._watches.append(_Watch(name, run, wait_synced, problem))

    def add(self, controller: Controller) -> None:
        """Run a controller while this process is the leader."""
        self._controllers.append(controller)

    def stop(self) -> None:
        """Begin the exit; `run` returns when it is complete."""
        self._stopping.set()

    async def run(self, *, signals: bool = True) -> None:
        """Run until stopped by a signal or by `stop`; without `signals` the caller handles them."""
        async with contextlib.AsyncExitStack() as stack:
            if signals:
                stack.enter_context(stop_signals(self.stop))
            if self._address is not None:
                server = Server(
                    self._address, self._telemetry.registry, live={}, ready=self.readiness()
                )
                self._port = (await stack.enter_async_context(server)).port
                self._serving.set()
            async with asyncio.TaskGroup() as group:
                watches = [group.create_task(_do(watch.run)) for watch in self._watches]
                work = group.create_task(self._work())
                stop = group.create_task(self._stopping.wait())
                await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
                await self._wind_down(work)
                for task in (*watches, stop):
                    task.cancel()

    async def port(self) -> int:
        """Return the port of the HTTP server, once it listens."""
        await self._serving.wait()
        return self._port

    def readiness(self) -> Mapping[str, Check]:
        """Return the checks of /readyz: every watch, and whether the process is stopping."""
        checks: dict[str, Check] = {
            f"watch {watch.resource}": watch.problem for watch in self._watches
        }
        checks["process"] = lambda: "is stopping" if self._stopping.is_set() else None
        return checks

    async def _work(self) -> None:
        for watch in self._watches:
            await watch.wait_synced()
        log.info("caches are filled", caches=len(self._watches))
        # Cached objects live long: keep the collector from walking them again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_COLLECT_EVERY)
        while not self._stopping.is_set():
            try:
                if self._elector is None:
                    await self._run_controllers()
                else:
                    await self._elector.lead(self._run_controllers)
            except LeadershipLost as lost:
                log.warning("lost the lease", reason=str(lost))
            else:
                return

    async def _run_controllers(self) -> None:
        if self._stopping.is_set():
            return
        self._leading = True
        self._unreadable.lead(leads=True)
        try:
            async with asyncio.TaskGroup() as background:
                sender = background.create_task(self._send_events())
                async with asyncio.TaskGroup() as group:
                    for controller in self._controllers:
                        group.create_task(controller.run())
                sender.cancel()
            if self._recorder is not None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._patience.events):
                        await self._recorder.flush()
        finally:
            self._leading = False
            self._unreadable.lead(leads=False)

    async def _send_events(self) -> None:
        if self._recorder is not None:
            await self._recorder.run()

    async def _wind_down(self, work: asyncio.Task[None]) -> None:
        if work.done():
            return
        log.info("stopping", leading=self._leading)
        for controller in self._controllers:
            controller.drain()
        if self._leading:
            await asyncio.wait({work}, timeout=self._patience.drain)
        work.cancel()
        await asyncio.wait({work})


def _name(source: Source[W]) -> str:
    """Return the name of a watch; two of one kind differ by their selectors."""
    chosen = [part for part in (source.selector.labels, source.selector.fields) if part]
    return source.resource.plural + (f"[{','.join(chosen)}]" if chosen else "")


async def _do(run: Callable[[], Awaitable[None]]) -> None:
    await run()


@contextlib.contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call a function on SIGTERM and SIGINT while the block lasts."""
    loop = asyncio.get_running_loop()
    taken = (signal.SIGTERM, signal.SIGINT)
    for number in taken:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
