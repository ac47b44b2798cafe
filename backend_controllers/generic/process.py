"""The process of a backend: discovers, builds the controllers, and rebuilds them after a change.

The HTTP server, the clients and the leader election belong to the process. The controllers belong to
one answer of discovery: when the scheduler's API appears, changes or is removed, they are drained
and built again without a restart. A process whose scheduler is not installed is healthy: it reports
that and waits.
"""

import asyncio
import contextlib
from collections import ChainMap
from collections.abc import Callable

from backend_controllers.contract.declaration import Backend, Dialect
from backend_controllers.generic.assembly import Extension, assemble
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Discovery, Found
from backend_controllers.generic.kinds import field_manager
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.settings import BackendSettings
from shared_api.kube.access import Access, from_environment
from shared_api.kube.client import Client
from shared_api.kube.http.pool import ConnectionLimits
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.leading.deadman import DeadMansSwitch
from shared_api.runtime.leading.elector import ElectionOptions, Elector, replica_identity
from shared_api.runtime.manager import Manager, stop_signals
from shared_api.runtime.recording.event_objects import Reporter
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.serving.secure_metrics import SecureMetrics
from shared_api.runtime.serving.server import Address, Check, Server
from shared_api.runtime.telemetry.metrics import Telemetry


def lease_of(backend: Backend, settings: BackendSettings) -> ObjectKey:
    """The Lease of the election; core reads it to see whether the backend is up."""
    election = settings.leader_election
    return ObjectKey(election.namespace, election.name or f"backend-{backend.name}")


class BackendProcess:
    """One backend controller."""

    def __init__(
        self,
        backend: Backend,
        settings: BackendSettings,
        client: Client,
        telemetry: Telemetry,
        elector: Elector,
        extend: Extension | None = None,
    ) -> None:
        self._backend = backend
        self._settings = settings
        self._client = client
        self._telemetry = telemetry
        self._elector = elector
        self._extend = extend
        self._metrics = BackendMetrics(telemetry, backend.name)
        self._discovery = Discovery(client, backend, settings.options, telemetry)
        # The first map has the checks of the present manager.
        self._ready: ChainMap[str, Check] = ChainMap({}, {"discovery": self._discovery.problem})
        self._manager: Manager | None = None
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Begin to stop; `run` returns when all is stopped."""
        self._stopping.set()
        if self._manager is not None:
            self._manager.stop()

    async def run(self) -> None:
        """Run until a signal or `stop`."""
        where, agent = self._settings.server, field_manager(self._backend.name)
        secure = SecureMetrics.of(where, self._client, agent)
        address = Address(where.host, where.port, secure)
        async with (
            Server(address, self._telemetry.registry, live={}, ready=self._ready),
            asyncio.TaskGroup() as group,
        ):
            with stop_signals(self.stop):
                discovering = group.create_task(self._discovery.run())
                stopping = group.create_task(self._stopping.wait())
                serving = group.create_task(self._serve())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if self._manager is None:
                    serving.cancel()
                await asyncio.wait({serving})
                discovering.cancel()
                stopping.cancel()

    async def _serve(self) -> None:
        found: Found | None = None
        while not self._stopping.is_set():
            found = await self._discovery.other_than(found)
            await self._serve_as(found)

    async def _serve_as(self, found: Found) -> None:
        """Run the controllers until stopped, or until discovery has another answer."""
        manager = self._manager = self._build_manager(found)
        self._ready.maps[0] = {**manager.readiness()}
        async with asyncio.TaskGroup() as group:
            work = group.create_task(manager.run(signals=False))
            other = group.create_task(self._discovery.other_than(found))
            await asyncio.wait({work, other}, return_when=asyncio.FIRST_COMPLETED)
            manager.stop()
            other.cancel()
        self._manager = None
        self._ready.maps[0] = {}

    def _build_manager(self, found: Found) -> Manager:
        self._telemetry.start_over()
        self._metrics.start_over()
        self._metrics.set_dialect(found.answer.name if isinstance(found.answer, Dialect) else "")
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
        assemble(context, manager, found, self._extend)
        return manager


async def run(
    backend: Backend,
    settings: BackendSettings,
    access: Callable[[], Access] = from_environment,
    extend: Extension | None = None,
) -> None:
    """Run a backend until it is stopped."""
    telemetry, agent = Telemetry(), field_manager(backend.name)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            Client(
                access(),
                limits=ConnectionLimits(in_flight=settings.concurrency.requests),
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
            options=ElectionOptions(switch=DeadMansSwitch()),
        )
        await BackendProcess(backend, settings, client, telemetry, elector, extend).run()
