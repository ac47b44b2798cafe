"""One engine as a host of gangs: a list at the start, then its events.

An engine that does not answer twice is unreachable: its units are UNKNOWN until it answers again and
everything was listed again. Containers that were never started are removed when their grant expires,
and networks that no container uses any more are removed too.
The events of an engine do not show that it hangs, so it is asked regularly whether it answers.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from fractions import Fraction

import structlog

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import (
    ExecutorError,
    GangTag,
    HostOffer,
    LogOptions,
    Order,
    Outcome,
    RemoteUnit,
)
from backend_controllers.docker.containers import (
    Grant,
    Origin,
    container_body,
    container_name,
    unit_labels,
    unit_of,
    use_of,
)
from backend_controllers.docker.engine import Engine
from backend_controllers.docker.image_pulls import ImagePulls
from backend_controllers.docker.options import DockerHost, DockerOptions, GangNetwork
from backend_controllers.hosts.memory import HostMemory, HostShape
from backend_controllers.hosts.places import Place
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.quantities import parsed
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)
_FAILED_PROBES = 2
_SWEEP_SECONDS = 10.0
_NETWORK = "podgang-"


class HostWatch:
    """One host."""

    def __init__(
        self,
        host: DockerHost,
        options: DockerOptions,
        origin: Origin,
        changed: Channel[ObjectKey],
        clock: Clock,
    ) -> None:
        shape = HostShape(host.name, host.address, host.labels, host.gpus, host.gpu_resource)
        self.memory = HostMemory(shape, changed)
        self.engine = Engine(host, origin.labels)
        self._pulls = ImagePulls(host.name, self.engine)
        self._host = host
        self._options = options
        self._origin = origin
        self._clock = clock
        self._synced = asyncio.Event()
        self._backoff = Backoff(base=0.5, cap=15.0)

    async def wait_synced(self) -> None:
        """Wait until the engine was listed once, or did not answer."""
        await self._synced.wait()

    def offer(self) -> HostOffer:
        """The resources of the host."""
        return self.memory.offer()

    async def prepare(self, order: Order, pods: tuple[RemotePod, ...]) -> None:
        """Wait for the images of the pods, and create the network of the gang."""
        for image in dict.fromkeys(pod.spec.containers[0].image for pod in pods):
            await self._pulls.ensure(image, may_pull=self._options.pull_images)
        if network := self._network_of(order.tag):
            await self.engine.ensure_network(network, self._origin.labels)

    async def create(self, order: Order, places: tuple[Place, ...]) -> None:
        """Create the containers of these pods, and remember them."""
        expires = int(self._clock.utc().timestamp()) + order.grant_seconds
        grant = Grant(self._origin, order.tag, order.attempt, expires)
        network = self._network_of(order.tag)
        for place in places:
            most = self.memory.total.get("memory", 0)
            body = container_body(place, unit_labels(grant, place), most, network)
            name = container_name(place.pod)
            if not self._show(await self.engine.create(name, body)):
                message = (
                    f"host {self._host.name}: the name {name} is taken by a container that is not"
                    " owned by this backend. Remove that container"
                )
                raise ExecutorError(Outcome.INVALID, message)

    async def start(self, unit: RemoteUnit) -> None:
        """Start a container and remember its state."""
        await self.engine.start(unit.external_id)
        await self._refresh(unit.external_id)

    async def remove(self, unit: RemoteUnit, grace_seconds: int) -> None:
        """Remove a container and forget it; the network of the gang goes with the last one."""
        await self.engine.remove(unit.external_id, grace_seconds)
        self.memory.forget(unit.external_id)
        network = self._network_of(unit.tag)
        if network and all(one.tag.uid != unit.tag.uid for one in self.memory.units()):
            await self.engine.remove_network(network)

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The log of a container."""
        return self.engine.logs(unit.external_id, options)

    async def renew(self) -> None:
        """Do nothing: containers run on without us, so their host counts as occupied."""

    async def run(self) -> None:
        """Observe the engine until cancelled."""
        failures = 0
        while True:
            try:
                async with self.engine:
                    since = await self._list()
                    failures = 0
                    await self._follow(since)
            except ExecutorError as error:
                failures += 1
                self.memory.lose(str(error))
            finally:
                self._pulls.cancel()
            self._synced.set()
            await asyncio.sleep(self._backoff.delay(max(failures, 1)))

    async def _list(self) -> str:
        """Read everything; return the engine's time from before, from which its events count."""
        info = await self.engine.info()
        self.memory.total = _resources(self._host, info)
        shown = await self.engine.containers()
        found = {str(one.get("Id", ""))[:12] for one in shown if self._show(one)}
        self.memory.listed(found)
        await self._remove_unused_networks()
        self._synced.set()
        return _seconds(info.get("SystemTime"))

    async def _follow(self, since: str) -> None:
        """Apply events until the stream ends or the engine does not answer."""
        async with asyncio.TaskGroup() as group:
            events = group.create_task(self._apply_events(since))
            probing = group.create_task(self._probe())
            sweeping = group.create_task(self._sweep())
            await asyncio.wait({events, probing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (events, probing, sweeping):
                task.cancel()

    async def _apply_events(self, since: str) -> None:
        async for container in self.engine.events(since):
            with contextlib.suppress(ExecutorError):
                await self._refresh(container)

    async def _probe(self) -> None:
        failed = 0
        while failed < _FAILED_PROBES:
            await asyncio.sleep(self._options.probe_seconds)
            try:
                await self.engine.info()
                failed = 0
            except ExecutorError as error:
                failed += 1
                log.warning("engine does not answer", host=self._host.name, error=str(error))
        self.memory.lose("the engine does not answer")

    async def _sweep(self) -> None:
        while True:
            for unit in self.memory.expired(int(self._clock.utc().timestamp())):
                log.info("grant expired", host=self._host.name, pod=unit.pod)
                with contextlib.suppress(ExecutorError):
                    await self.remove(unit, 0)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _remove_unused_networks(self) -> None:
        """Remove networks whose gang ended while this process did not run."""
        if self._options.network is not GangNetwork.BRIDGE:
            return
        used = {self._network_of(unit.tag) for unit in self.memory.units()}
        for name in await self.engine.networks():
            if name not in used:
                await self.engine.remove_network(name)

    async def _refresh(self, container: str) -> None:
        shown = await self.engine.container(container)
        if shown is None or not self._show(shown):
            self.memory.forget(container[:12])

    def _show(self, shown: Mapping[str, object]) -> bool:
        """Remember a container; return whether it is ours."""
        unit = unit_of(shown, self._origin, self._host.name, self._host.address)
        if unit is None:
            return False
        self.memory.show(unit, use_of(shown))
        return True

    def _network_of(self, tag: GangTag) -> str:
        is_bridge = self._options.network is GangNetwork.BRIDGE
        return f"{_NETWORK}{tag.uid}" if is_bridge else ""


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


def _seconds(time: object) -> str:
    """Return a time of the engine in the form in which its events take it."""
    try:
        return str(int(datetime.fromisoformat(str(time)).timestamp()))
    except ValueError:
        return ""


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
