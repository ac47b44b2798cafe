"""Puts the operator together: clients, election, recorder, caches and controllers.

Nothing happens on import. A test runs `run` in its own event loop with its own client; the process
adds signals, logs and an exit code. Operators in one process share only the configuration of logs,
interned strings (`kube/metadata.py`) and the timer of the dead man's switch.
"""

import contextlib
import os
from collections.abc import Callable

from core_operator.context import CoreContext
from core_operator.controllers.assembly import build_controllers
from core_operator.metrics import CoreMetrics
from core_operator.own_image import with_own_image
from core_operator.settings import CoreSettings
from core_operator.state.caches import watch_all
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.access import Access, from_environment
from shared_api.kube.client import Client
from shared_api.kube.http.pool import ConnectionLimits
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.leading.deadman import DeadMansSwitch
from shared_api.runtime.leading.elector import ElectionOptions, Elector, replica_identity
from shared_api.runtime.manager import Manager
from shared_api.runtime.recording.event_objects import Reporter
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.serving.secure_metrics import SecureMetrics
from shared_api.runtime.serving.server import Address
from shared_api.runtime.telemetry.metrics import Telemetry


def assemble(
    settings: CoreSettings, client: Client, telemetry: Telemetry, elector: Elector | None = None
) -> Manager:
    """Return an operator that is ready to run."""
    who = replica_identity() if elector is None else elector.identity
    reporter = Reporter(names.FIELD_MANAGER_CORE, who)
    recorder = Recorder(client, reporter, telemetry, fence=elector)
    secure = SecureMetrics.of(settings.server, client, names.FIELD_MANAGER_CORE)
    address = Address(settings.server.host, settings.server.port, secure)
    manager = Manager(client, telemetry, elector=elector, recorder=recorder, address=address)
    caches = watch_all(manager, compute_domains=settings.network.auto_mnnvl_enabled)
    chosen = settings.backends
    view = View(caches, chosen.default, chosen.accepted, chosen.default_policy or "")
    context = CoreContext(
        settings,
        client,
        view,
        telemetry,
        CoreMetrics(telemetry),
        recorder=recorder,
        fence=manager.fence,
    )
    for controller in build_controllers(context):
        manager.add(controller)
    return manager


async def run(settings: CoreSettings, access: Callable[[], Access] = from_environment) -> None:
    """Run until cancelled or stopped by a signal."""
    telemetry = Telemetry()
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            Client(
                access(),
                limits=ConnectionLimits(in_flight=settings.concurrency.requests),
                observe=telemetry.request,
                user_agent=names.FIELD_MANAGER_CORE,
            )
        )
        settings = await with_own_image(settings, client, os.environ)
        elector = None
        if settings.leader_election.enabled:
            # Its own connections: a renewal must never wait behind other requests.
            election = await stack.enter_async_context(
                Client(access(), user_agent=names.FIELD_MANAGER_CORE)
            )
            elector = Elector(
                election,
                ObjectKey(settings.leader_election.namespace, settings.leader_election.name),
                replica_identity(),
                telemetry,
                options=ElectionOptions(switch=DeadMansSwitch()),
            )
        await assemble(settings, client, telemetry, elector).run()
