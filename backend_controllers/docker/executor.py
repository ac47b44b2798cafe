"""The far side of this backend: container engines on several hosts.

Reserving creates all containers of a gang and starts none; if one cannot be created, the others are
removed. A container that was created holds its resources until it is removed, also by its label: one
that was never started expires. `HostWatch` keeps what each engine has in memory.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace

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
from backend_controllers.docker.containers import (
    Grant,
    Origin,
    Slot,
    container_body,
    container_name,
    image_refusal,
    unit_labels,
)
from backend_controllers.docker.host_watch import HostWatch
from backend_controllers.docker.options import DockerOptions, GangNetwork
from backend_controllers.docker.packing import HostDemand, demand_of, pack
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)


class DockerExecutor:
    """All hosts of one backend."""

    def __init__(self, options: DockerOptions, backend: str, clock: Clock = SYSTEM) -> None:
        self.changed: Channel[ObjectKey] = Channel("container hosts")
        self._options = options
        self._origin = Origin(options.cluster, backend)
        self._clock = clock
        self._hosts = {
            host.name: HostWatch(host, self._origin, options.probe_seconds, self.changed, clock)
            for host in options.hosts
        }
        # Packing reads what is free, and creating uses it: one gang at a time.
        self._packing = asyncio.Lock()

    async def run(self) -> None:
        """Observe all hosts until cancelled."""
        async with asyncio.TaskGroup() as group:
            for host in self._hosts.values():
                group.create_task(host.run())

    async def wait_synced(self) -> None:
        """Wait until every host was observed once, or is known to be unreachable."""
        for host in self._hosts.values():
            await host.wait_synced()

    def hosts(self) -> tuple[HostOffer, ...]:
        """The hosts, as they were last observed."""
        return tuple(host.offer() for host in self._hosts.values())

    def units(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        """What exists for gangs of this name, sorted by pod."""
        found = (unit for host in self._hosts.values() for unit in host.units_of(gang))
        return tuple(sorted(found, key=lambda unit: (unit.pod, unit.external_id)))

    def gangs(self) -> tuple[ObjectKey, ...]:
        """All gangs for which something exists."""
        found = {gang for host in self._hosts.values() for gang in host.gangs()}
        return tuple(sorted(found))

    def loss(self, gang: ObjectKey) -> str:
        """Nothing is known about a container that is gone."""
        del gang
        return ""

    async def reserve(self, order: Order) -> None:
        """Create the containers of all pods of an order, or none."""
        existing = {unit.pod_uid for unit in self._units_of(order)}
        pods = tuple(pod for pod in order.pods if pod.metadata.uid not in existing)
        self._check_images(pods)
        demands = {pod.metadata.name: demand_of(pod) for pod in pods}
        async with self._packing:
            chosen = self._chosen(order, demands)
            await self._ensure_images(pods, chosen)
            await self._create_all(replace(order, pods=pods), demands, chosen)

    async def start(self, units: tuple[RemoteUnit, ...]) -> None:
        """Start all units at the same time."""
        await _all(self._hosts[unit.host].start(unit) for unit in units)

    async def release(self, units: tuple[RemoteUnit, ...], grace_seconds: int = 0) -> None:
        """Stop and remove units."""
        await _all(self._hosts[unit.host].remove(unit, grace_seconds) for unit in units)

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The log of a unit."""
        return self._hosts[unit.host].engine.logs(unit.external_id, options)

    def _check_images(self, pods: tuple[RemotePod, ...]) -> None:
        """Check the pods themselves: after the template was accepted, an image can be replaced."""
        for pod in pods:
            image = pod.spec.containers[0].image
            if refusal := image_refusal(image, self._options.image_prefixes):
                raise ExecutorError(Outcome.INVALID, f"pod {pod.metadata.name}: image {refusal}")

    def _chosen(self, order: Order, demands: Mapping[str, HostDemand]) -> dict[str, HostWatch]:
        offers = self.hosts()
        if self._options.network is GangNetwork.BRIDGE:
            # A network of one engine: the gang stays on the host where it is, or on any one host.
            offers_of_gang = self._home(order, offers)
            found = _on_one_host(list(demands.values()), offers_of_gang, order)
        else:
            found = pack(list(demands.values()), offers, order.pack)
        return {pod: self._hosts[host.name] for pod, host in found.items()}

    def _home(self, order: Order, offers: tuple[HostOffer, ...]) -> tuple[HostOffer, ...]:
        used = {unit.host for unit in self._units_of(order)}
        return tuple(offer for offer in offers if offer.name in used) if used else offers

    def _units_of(self, order: Order) -> tuple[RemoteUnit, ...]:
        key = ObjectKey(order.tag.namespace, order.tag.name)
        return tuple(unit for unit in self.units(key) if unit.tag == order.tag)

    async def _ensure_images(
        self, pods: tuple[RemotePod, ...], chosen: Mapping[str, HostWatch]
    ) -> None:
        wanted = {
            (chosen[pod.metadata.name].name, pod.spec.containers[0].image): chosen[
                pod.metadata.name
            ]
            for pod in pods
        }
        for (name, image), host in wanted.items():
            if await host.engine.has_image(image):
                continue
            if not self._options.pull_images:
                message = f"image {image} is not on host {name}, and pullImages is false"
                raise ExecutorError(Outcome.INVALID, message)
            log.info("pulling an image", host=name, image=image)
            await host.engine.pull(image)

    async def _create_all(
        self, order: Order, demands: Mapping[str, HostDemand], chosen: Mapping[str, HostWatch]
    ) -> None:
        expires = int(self._clock.utc().timestamp()) + order.grant_seconds
        grant = Grant(self._origin, order.tag, order.attempt, expires)
        addresses = self._addresses(order, chosen)
        created: list[RemoteUnit] = []

        async def create_on(host: HostWatch) -> None:
            # One after the other on a host: each takes devices that are free then.
            for pod in order.pods:
                if chosen[pod.metadata.name] is host:
                    demand = demands[pod.metadata.name]
                    slot = self._slot(order, pod, addresses, host.free_devices(demand))
                    if slot.network is GangNetwork.BRIDGE:
                        await host.engine.ensure_network(slot.network_name)
                    labels = unit_labels(grant, pod, demand, slot)
                    body = container_body(pod, demand, labels, slot)
                    created.append(await host.create(container_name(pod), body))

        try:
            await _all(create_on(host) for host in dict.fromkeys(chosen.values()))
        except ExecutorError as error:
            await self._roll_back(created, error)
            raise

    def _slot(
        self, order: Order, pod: RemotePod, addresses: Sequence[str], devices: Sequence[str]
    ) -> Slot:
        rank, network = order.ranks.get(pod.metadata.name, 0), self._options.network
        return Slot(rank, addresses, devices, network, f"podgang-{order.tag.uid}")

    async def _roll_back(self, created: list[RemoteUnit], because: ExecutorError) -> None:
        try:
            await self.release(tuple(created))
        except ExecutorError as error:
            # Nothing was started, and the grant expires: the rest is removed later.
            log.warning(
                "cannot roll back", units=len(created), error=str(error), because=str(because)
            )

    def _addresses(self, order: Order, chosen: Mapping[str, HostWatch]) -> list[str]:
        """The addresses of all pods of the gang, in the order of their ranks."""
        known = {unit.pod: unit.address for unit in self._units_of(order)}
        known |= {pod: host.address for pod, host in chosen.items()}
        return [
            known.get(pod, "") for pod, _ in sorted(order.ranks.items(), key=lambda one: one[1])
        ]


async def _all(calls: Iterable[Awaitable[None]]) -> None:
    """Wait for all calls, also after one failed; then raise the first error.

    A call that is cancelled under way may have been carried out, and no code would know.
    """
    results = await asyncio.gather(*calls, return_exceptions=True)  # noqa: TID251 - see above
    for result in results:
        if isinstance(result, BaseException):
            raise result


def _on_one_host(
    demands: list[HostDemand], offers: tuple[HostOffer, ...], order: Order
) -> dict[str, HostOffer]:
    for offer in offers:
        try:
            return pack(demands, (offer,), order.pack)
        except ExecutorError:
            continue
    return pack(demands, offers[:1], order.pack)
