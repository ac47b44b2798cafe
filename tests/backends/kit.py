"""Backends in the test's own event loop, and what they have written."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from backend_controllers.contract.declaration import Backend, Options
from backend_controllers.generic.kinds import BACKENDS
from backend_controllers.generic.process import BackendProcess, lease_of
from backend_controllers.remote.assembly import extend
from backend_controllers.settings import (
    BackendLeaderElection,
    BackendLogs,
    BackendSettings,
    BackendTiming,
    ServerSettings,
)
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import NotFound
from shared_api.runtime.leading.elector import Elector, replica_identity
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.core.kit import Onlooker, Writes

_QUIET = 1.0
"""Longer than a reconcile and the events that it causes."""


def backend_settings(
    options: Options | None = None, *, election: BackendLeaderElection | None = None, **timing: Any
) -> BackendSettings:
    """Settings of a single backend on any free port; numbers are written soon."""
    return BackendSettings(
        server=ServerSettings(host="127.0.0.1", port=0),
        leader_election=election or BackendLeaderElection(namespace="default"),
        timing=BackendTiming(**{"progress_delay_seconds": 0.5, **timing}),
        logs=BackendLogs(port=0),
        options=options or Options(),
    )


class RunningBackend:
    """A backend controller and what it has written."""

    def __init__(self, process: BackendProcess, telemetry: Telemetry, writes: Writes) -> None:
        self.process = process
        self.telemetry = telemetry
        self.writes = writes

    def metric(self, name: str, **labels: str) -> float:
        return self.telemetry.registry.get_sample_value(name, labels) or 0.0

    def total(self, name: str) -> float:
        """The sum of a metric over all its labels."""
        return sum(
            sample.value
            for family in self.telemetry.registry.collect()
            for sample in family.samples
            if sample.name == name
        )

    async def until_serving(self, seconds: float = 60) -> None:
        """Wait until it has found a dialect and filled its caches."""
        await self._until(
            lambda: self.total("backend_dialect_info") == 1 and not self._is_filling(), seconds
        )

    async def until_idle(self, seconds: float = 60) -> None:
        """Wait until every queue has been worked off and stays so for a while."""
        await self.until_serving(seconds)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(seconds):
            since = loop.time()
            while loop.time() < since + _QUIET:
                await asyncio.sleep(0.05)  # the queues tell nobody that they are empty
                if self._is_busy():
                    since = loop.time()

    async def until_total(self, name: str, value: float, seconds: float = 60) -> None:
        """Wait until a metric has reached a value."""
        await self._until(lambda: self.total(name) >= value, seconds)

    async def _until(self, condition: Any, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - metrics are not announced
                await asyncio.sleep(0.02)

    def _is_filling(self) -> bool:
        synced = self._values("cache_synced")
        return not synced or not all(synced)

    def _is_busy(self) -> bool:
        waiting = ("workqueue_depth", "writes_not_yet_seen", "controller_runtime_active_workers")
        return any(sum(self._values(name)) for name in waiting) or self._is_filling()

    def _values(self, name: str) -> list[float]:
        return [
            sample.value
            for family in self.telemetry.registry.collect()
            for sample in family.samples
            if sample.name == name
        ]


@contextlib.asynccontextmanager
async def running_backend(
    cluster: Cluster,
    backend: Backend,
    chosen: BackendSettings | None = None,
    client_type: type[Client] = Client,
) -> AsyncIterator[RunningBackend]:
    """A backend controller with its Lease, until the block ends."""
    telemetry, writes = Telemetry(), Writes()
    settings = chosen or backend_settings(backend.options())

    def observe(verb: str, resource: str, code: int, seconds: float) -> None:
        telemetry.request(verb, resource, code, seconds)
        writes(verb, resource, code, seconds)

    access = from_kubeconfig(cluster.kubeconfig)
    async with client_type(access, observe=observe) as client, Client(access) as election:
        elector = Elector(election, lease_of(backend, settings), replica_identity(), telemetry)
        process = BackendProcess(backend, settings, client, telemetry, elector, extend)
        async with asyncio.TaskGroup() as group:
            group.create_task(process.run())
            try:
                yield RunningBackend(process, telemetry, writes)
            finally:
                process.stop()


async def until_known(person: Onlooker, *backends: str, seconds: float = 60) -> None:
    """Wait until core has seen these backends, which it reports in their records."""

    async def is_known(name: str) -> bool:
        with contextlib.suppress(NotFound):
            return await person.backend_holds(name, names.CONDITION_AVAILABLE)
        return False

    async with asyncio.timeout(seconds):
        for name in backends:
            while not await is_known(name):  # noqa: ASYNC110 - no watch of records here
                await asyncio.sleep(0.05)


async def forget_backends(client: Client, *backends: str) -> None:
    """Delete the records of backends that run no longer, or did in an earlier test."""
    for name in backends:
        with contextlib.suppress(NotFound):
            record = await client.get(BACKENDS, name, into=PartialObject)
            await client.delete(BACKENDS, name, uid=record.metadata.uid)
