"""One host without an engine: what its agent reports, and the lock that keeps its units running.

The lock of a host has the time until which its units may run, a time of the host's own clock. Each renewal
is computed from the last time that the host reported, so a renewal that arrives late extends nothing.
A host that was not heard for longer than the lock lasts has ended its units itself: it is fenced, and
its pods may run elsewhere. Only a leader renews, and it waits for one whole lock after it began, since
the leader before it may have renewed until then.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from fractions import Fraction

import structlog

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import (
    ExecutorError,
    HostOffer,
    LogOptions,
    Order,
    Outcome,
    RemoteUnit,
)
from backend_controllers.hosts.memory import HostMemory, HostShape
from backend_controllers.hosts.places import Place
from backend_controllers.ssh.connection import AgentConnection
from backend_controllers.ssh.options import SshHost, SshOptions
from backend_controllers.ssh.units import name_on_host, spec_of, unit_of
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.quantities import parsed
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)
_LAST_GRACE_SECONDS = 30.0
"""What a host needs at most to end its units after the lock expired."""
_START_SECONDS = 10.0
_RENEW_DEADLINE_SECONDS = 3.0


class SshHostWatch:
    """One host."""

    def __init__(
        self,
        host: SshHost,
        options: SshOptions,
        backend: str,
        changed: Channel[ObjectKey],
        clock: Clock,
    ) -> None:
        shape = HostShape(host.name, host.address, host.labels, host.gpus, host.gpu_resource)
        self.memory = HostMemory(shape, changed)
        self.agent = AgentConnection(host, options, backend)
        self._host = host
        self._options = options
        self._clock = clock
        self._synced = asyncio.Event()
        self._host_time: float | None = None
        self._heard_at = clock.monotonic()
        self._leading_since = math.inf
        self._backoff = Backoff(base=0.5, cap=15.0)

    async def wait_synced(self) -> None:
        """Wait until the host reported once, or did not answer."""
        await self._synced.wait()

    def offer(self) -> HostOffer:
        """The resources of the host."""
        return self.memory.offer(is_fenced=self._is_fenced())

    async def prepare(self, order: Order, pods: tuple[RemotePod, ...]) -> None:
        """Do nothing: programs are on the host already."""

    async def create(self, order: Order, places: tuple[Place, ...]) -> None:
        """Reserve a unit for each pod."""
        specs = [spec_of(order, place, self._options) for place in places]
        await self.agent.call("create", specs=specs, until=self._until())

    async def start(self, unit: RemoteUnit) -> None:
        """Start a unit."""
        await self.agent.call("start", units=[name_on_host(unit)])

    async def remove(self, unit: RemoteUnit, grace_seconds: int) -> None:
        """End and remove a unit."""
        seconds = _LAST_GRACE_SECONDS + grace_seconds
        await self.agent.call("remove", seconds, units=[name_on_host(unit)], grace=grace_seconds)
        self.memory.forget(unit.external_id)

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The log of a unit."""
        return self.agent.logs(name_on_host(unit), options)

    async def renew(self) -> None:
        """Extend the lock of this host."""
        self._leading_since = min(self._leading_since, self._clock.monotonic())
        if not self.memory.problem:
            await self.agent.call("renew", _RENEW_DEADLINE_SECONDS, until=self._until())

    async def run(self) -> None:
        """Observe the host until cancelled."""
        failures = 0
        while True:
            try:
                async with self.agent:
                    self._host_time = None
                    async for _ in self._reports():
                        failures = 0
            except ExecutorError as error:
                failures += 1
                log.info("no connection", host=self._host.name, error=str(error))
                self.memory.lose(str(error))
            self._synced.set()
            self._forget_fenced()
            await asyncio.sleep(self._backoff.delay(max(failures, 1)))

    async def _reports(self) -> AsyncIterator[None]:
        """Apply what the agent reports; raise ExecutorError if it is silent for too long."""
        messages, found = self.agent.messages(), set[str]()
        # The agent has to start first.
        patience = max(_START_SECONDS, self._options.probe_seconds)
        while True:
            try:
                async with asyncio.timeout(patience):
                    message = await anext(messages)
            except TimeoutError as error:
                text = f"host {self._host.name} was silent for {patience:g} s"
                raise ExecutorError(Outcome.TRANSIENT, text) from error
            self._apply(message, found)
            patience = self._options.probe_seconds
            yield

    def _apply(self, message: Mapping[str, object], found: set[str]) -> None:
        if isinstance(hello := message.get("hello"), Mapping):
            self.memory.total = _resources(self._host, hello)
            if problem := message.get("error"):
                raise ExecutorError(Outcome.INVALID, f"host {self._host.name}: {problem}")
        elif "unit" in message:
            reported = unit_of(message["unit"], self._host.name, self._host.address)
            if reported is None:
                log.warning("malformed report", host=self._host.name)
                return
            self.memory.show(*reported)
            found.add(reported[0].external_id)
        elif "gone" in message:
            self.memory.forget(f"{self._host.name}/{message['gone']}")
        elif isinstance(alive := message.get("alive"), (int, float)):
            if self._host_time is None:
                # Everything that exists was reported before the first of these.
                self.memory.listed(found)
                self._synced.set()
            self._host_time, self._heard_at = float(alive), self._clock.monotonic()

    def _until(self) -> float | None:
        """Until when units may run, by the clock of the host."""
        lasting = self._options.lock_seconds
        if lasting is None:
            return None
        if self._host_time is None:
            message = f"host {self._host.name} has not reported its time yet"
            raise ExecutorError(Outcome.TRANSIENT, message)
        return self._host_time + lasting

    def _is_fenced(self) -> bool:
        lasting = self._options.lock_seconds
        if lasting is None or not self.memory.problem:
            return False
        since = max(self._heard_at, self._leading_since)
        return self._clock.monotonic() > since + lasting + _LAST_GRACE_SECONDS

    def _forget_fenced(self) -> None:
        if self._is_fenced():
            for unit in self.memory.units():
                log.warning("the lock of a lost host expired", host=self._host.name, pod=unit.pod)
                self.memory.forget(unit.external_id)


def _resources(host: SshHost, hello: Mapping[str, object]) -> dict[str, int]:
    """Return the resources of a host: from the settings, else from the host."""
    cpus, memory = hello.get("cpus"), hello.get("memory")
    total = {
        "cpu": _amount(host.cpu, 1000) if host.cpu else _whole(cpus) * 1000,
        "memory": _amount(host.memory, 1) if host.memory else _whole(memory),
    }
    return total | {host.gpu_resource: host.gpus} if host.gpus else total


def _amount(text: str, factor: int) -> int:
    return int((parsed(text) or Fraction(0)) * factor)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
