"""What one engine has, kept in memory: a list at the start, then its events.

An engine that does not answer twice is unreachable: its units are UNKNOWN until it answers again and
everything was listed again. Containers that were never started are removed when their grant expires.
The events of an engine do not show that it hangs, so it is asked regularly whether it answers.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

import structlog

from backend_controllers.contract.remote.executor import ExecutorError, HostOffer, RemoteUnit
from backend_controllers.docker.containers import Held, Origin, held_by, unit_of
from backend_controllers.docker.engine import Engine
from backend_controllers.docker.options import DockerHost
from backend_controllers.docker.packing import HostDemand
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.quantities import parsed
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)
_FAILED_PROBES = 2
_SWEEP_SECONDS = 10.0


class HostWatch:
    """One host."""

    def __init__(
        self,
        host: DockerHost,
        origin: Origin,
        probe_seconds: float,
        changed: Channel[ObjectKey],
        clock: Clock,
    ) -> None:
        self.name = host.name
        self.address = host.address
        self.engine = Engine(host, origin.labels)
        self._host = host
        self._probe_seconds = probe_seconds
        self._changed = changed
        self._clock = clock
        self._units: dict[str, RemoteUnit] = {}
        """By the ID of the container, shortened as in the unit."""
        self._held: dict[str, Held] = {}
        self._total: dict[str, int] = {}
        self._problem = "has not answered yet"
        self._synced = asyncio.Event()
        self._backoff = Backoff(base=0.5, cap=15.0)

    async def wait_synced(self) -> None:
        """Wait until the engine was listed once, or did not answer."""
        await self._synced.wait()

    def offer(self) -> HostOffer:
        """The resources of the host."""
        free = dict(self._total)
        for held in self._held.values():
            for resource, amount in held.requests.items():
                free[resource] = free.get(resource, 0) - amount
        return HostOffer(self.name, self._total, free, self._host.labels, self._problem)

    def units_of(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        """The units of gangs of this name."""
        found = (unit for unit in self._units.values() if _key(unit) == gang)
        if not self._problem:
            return tuple(found)
        return tuple(replace(unit, state=RemoteMemberState.UNKNOWN) for unit in found)

    def gangs(self) -> set[ObjectKey]:
        """All gangs that have units here."""
        return {_key(unit) for unit in self._units.values()}

    def free_devices(self, demand: HostDemand) -> tuple[str, ...]:
        """GPUs for one more pod, by index."""
        wanted = demand.requests.get(self._host.gpu_resource, 0)
        used = {device for held in self._held.values() for device in held.devices}
        free = [str(index) for index in range(self._host.gpus) if str(index) not in used]
        return tuple(free[:wanted])

    async def create(self, name: str, body: Mapping[str, object]) -> RemoteUnit:
        """Create a container and remember it."""
        unit = self._show(await self.engine.create(name, body))
        assert unit is not None
        return unit

    async def start(self, unit: RemoteUnit) -> None:
        """Start a container and remember its state."""
        await self.engine.start(unit.external_id)
        await self._refresh(unit.external_id)

    async def remove(self, unit: RemoteUnit, grace_seconds: int) -> None:
        """Remove a container and forget it."""
        await self.engine.remove(unit.external_id, grace_seconds)
        self._forget(unit.external_id)

    async def run(self) -> None:
        """Observe the engine until cancelled."""
        failures = 0
        while True:
            try:
                async with self.engine:
                    await self._list()
                    failures = 0
                    await self._follow()
            except ExecutorError as error:
                failures += 1
                self._lose(str(error))
            self._synced.set()
            await asyncio.sleep(self._backoff.delay(max(failures, 1)))

    async def _list(self) -> None:
        info = await self.engine.info()
        self._total = _resources(self._host, info)
        shown = await self.engine.containers()
        before = set(self._units)
        found = {unit.external_id for one in shown if (unit := self._show(one)) is not None}
        for gone in before - found:
            self._forget(gone)
        was_lost, self._problem = bool(self._problem), ""
        self._synced.set()
        if was_lost:
            log.info("container host is reachable", host=self.name, units=len(self._units))
            self._send(self._units.values())

    async def _follow(self) -> None:
        """Apply events until the stream ends or the engine does not answer."""
        async with asyncio.TaskGroup() as group:
            events = group.create_task(self._apply_events())
            probing = group.create_task(self._probe())
            sweeping = group.create_task(self._sweep())
            await asyncio.wait({events, probing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (events, probing, sweeping):
                task.cancel()

    async def _apply_events(self) -> None:
        async for container in self.engine.events():
            with contextlib.suppress(ExecutorError):
                await self._refresh(container)

    async def _probe(self) -> None:
        failed = 0
        while failed < _FAILED_PROBES:
            await asyncio.sleep(self._probe_seconds)
            try:
                await self.engine.info()
                failed = 0
            except ExecutorError as error:
                failed += 1
                log.warning("container host does not answer", host=self.name, error=str(error))
        self._lose("the engine does not answer")

    async def _sweep(self) -> None:
        while True:
            now = int(self._clock.utc().timestamp())
            for name, unit in list(self._units.items()):
                is_reserved = unit.state is RemoteMemberState.RESERVED
                if is_reserved and 0 < self._held[name].expires < now:
                    log.info("grant expired", host=self.name, pod=unit.pod)
                    with contextlib.suppress(ExecutorError):
                        await self.remove(unit, 0)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _refresh(self, container: str) -> None:
        shown = await self.engine.container(container)
        if shown is None:
            self._forget(container[:12])
        else:
            self._show(shown)

    def _show(self, shown: Mapping[str, object]) -> RemoteUnit | None:
        unit = unit_of(shown, self.name, self.address)
        if unit is None:
            return None
        before = self._units.get(unit.external_id)
        self._units[unit.external_id] = unit
        self._held[unit.external_id] = held_by(shown)
        if before != unit:
            self._send([unit])
        return unit

    def _forget(self, name: str) -> None:
        unit = self._units.pop(name, None)
        self._held.pop(name, None)
        if unit is not None:
            self._send([unit])

    def _lose(self, problem: str) -> None:
        was_reachable, self._problem = not self._problem, problem
        if was_reachable:
            log.warning("container host is unreachable", host=self.name, error=problem)
            self._send(self._units.values())

    def _send(self, units: Iterable[RemoteUnit]) -> None:
        for gang in {_key(unit) for unit in units}:
            self._changed.send(gang)


def _key(unit: RemoteUnit) -> ObjectKey:
    return ObjectKey(unit.tag.namespace, unit.tag.name)


def _resources(host: DockerHost, info: Mapping[str, object]) -> dict[str, int]:
    """Return the resources of a host: from the settings, else from the engine."""
    cpus, memory = info.get("NCPU"), info.get("MemTotal")
    total = {
        "cpu": _amount(host.cpu, 1000) if host.cpu else _whole(cpus) * 1000,
        "memory": _amount(host.memory, 1) if host.memory else _whole(memory),
    }
    return total | {host.gpu_resource: host.gpus} if host.gpus else total


def _amount(text: str, factor: int) -> int:
    return int((parsed(text) or Fraction(0)) * factor)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
