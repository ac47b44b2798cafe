"""The life of a backend controller: ask, assemble, serve, and do it again if the answer changes.

The pages, the clients and the election belong to the process. What serves gangs belongs to
one answer of discovery: when the scheduler's API appears, changes or goes, the controllers
are stopped in an orderly way and others are made, as after a restart but without one. A
process whose scheduler is absent is healthy: it says so, and waits.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping

import structlog

from backend_controllers.contract.declaration import Backend, Dialect
from backend_controllers.generic.assembly import assemble
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Discovery, Found
from backend_controllers.generic.kinds import field_manager
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.settings import Settings
from shared_api.kube.access import Access, from_environment
from shared_api.kube.client import Client
from shared_api.kube.http.pool import Limits
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.leading.deadman import DeadMansSwitch
from shared_api.runtime.leading.elector import Elector, Terms, replica_identity
from shared_api.runtime.manager import Manager, stop_signals
from shared_api.runtime.recording.event_objects import Reporter
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.serving.secure_metrics import SecureMetrics
from shared_api.runtime.serving.server import Address, Check, Server
from shared_api.runtime.telemetry.metrics import Telemetry

log = structlog.stdlib.get_logger(__name__)


def lease_of(backend: Backend, settings: Settings) -> ObjectKey:
    """The Lease of the election, which is also the sign of life."""
    election = settings.leader_election
    return ObjectKey(election.namespace, election.name or f"backend-{backend.name}")


class Process:
    """One backend controller."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings,
        client: Client,
        telemetry: Telemetry,
        elector: Elector,
    ) -> None:
        self._backend = backend
        self._settings = settings
        self._client = client
        self._telemetry = telemetry
        self._elector = elector
        self._metrics = BackendMetrics(telemetry, backend.name)
        self._discovery = Discovery(client, backend, settings.options, telemetry)
        self._manager: Manager | None = None
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Begin the exit; `run` returns when it is complete."""
        self._stopping.set()
        if self._manager is not None:
            self._manager.stop()

    async def run(self) -> None:
        """Live, until stopped by a signal or by `stop`."""
        where, agent = self._settings.server, field_manager(self._backend.name)
        secure = SecureMetrics.of(where, self._client, agent)
        address = Address(where.host, where.port, secure)
        ready = _Checks(self._readiness)
        async with (
            Server(address, self._telemetry.registry, live={}, ready=ready),
            asyncio.TaskGroup() as group,
        ):
            with stop_signals(self.stop):
                asking = group.create_task(self._discovery.run())
                stopping = group.create_task(self._stopping.wait())
                serving = group.create_task(self._serve())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if self._manager is None:
                    serving.cancel()
                await asyncio.wait({serving})
                asking.cancel()
                stopping.cancel()

    async def _serve(self) -> None:
        found: Found | None = None
        while not self._stopping.is_set():
            found = await self._discovery.other_than(found)
            await self._serve_as(found)

    async def _serve_as(self, found: Found) -> None:
        """Serve until told to stop, or until something else is found."""
        manager = self._manager = self._made_for(found)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(manager.run(signals=False))
            other = group.create_task(self._discovery.other_than(found))
            await asyncio.wait({work, other}, return_when=asyncio.FIRST_COMPLETED)
            manager.stop()
            other.cancel()
        self._manager = None

    def _made_for(self, found: Found) -> Manager:
        self._telemetry.start_over()
        self._metrics.start_over()
        self._metrics.speaks(found.answer.name if isinstance(found.answer, Dialect) else "")
        elector, name = self._elector, field_manager(self._backend.name)
        # The reporting controller of an Event is a qualified name, as the field manager is.
        reporter = Reporter(name, elector.identity)
        recorder = Recorder(self._client, reporter, self._telemetry, fence=elector)
        manager = Manager(self._client, self._telemetry, elector=elector, recorder=recorder)
        context = BackendContext(
            self._backend,
            self._settings,
            self._client,
            self._telemetry,
            self._metrics,
            recorder=recorder,
            lease=lease_of(self._backend, self._settings),
            fence=manager.fence,
        )
        assemble(context, manager, found)
        return manager

    def _readiness(self) -> Mapping[str, Check]:
        checks = {"discovery": self._discovery.problem}
        return checks if self._manager is None else {**checks, **self._manager.readiness()}


class _Checks(Mapping[str, Check]):
    """Checks that are other ones after the controllers were made anew."""

    def __init__(self, current: Callable[[], Mapping[str, Check]]) -> None:
        self._current = current

    def __getitem__(self, name: str) -> Check:
        return self._current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())


async def run(
    backend: Backend, settings: Settings, access: Callable[[], Access] = from_environment
) -> None:
    """Live until told to stop."""
    telemetry, agent = Telemetry(), field_manager(backend.name)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            Client(
                access(),
                limits=Limits(in_flight=settings.concurrency.requests),
                observe=telemetry.request,
                user_agent=agent,
            )
        )
        # Its own connections: a renewal must never queue behind other work.
        election = await stack.enter_async_context(Client(access(), user_agent=agent))
        elector = Elector(
            election,
            lease_of(backend, settings),
            replica_identity(),
            telemetry,
            terms=Terms(switch=DeadMansSwitch()),
        )
        await Process(backend, settings, client, telemetry, elector).run()
