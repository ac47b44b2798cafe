"""The far side of a backend that has several hosts.

Reserving chooses the hosts, claims what the pods need, and creates all units of the gang; if one
cannot be created, the others are removed. Nothing is awaited between the choice and the claims, so
gangs are reserved side by side, and a slow host delays no gang of another host.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

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
from backend_controllers.hosts.memory import HostMemory
from backend_controllers.hosts.packing import HostDemand, demand_of, pack
from backend_controllers.hosts.places import Place
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)


class GangHost(Protocol):
    """One host of a backend."""

    memory: HostMemory

    async def run(self) -> None:
        """Observe the host until cancelled."""
        ...

    async def wait_synced(self) -> None:
        """Wait until the host was observed once, or is known to be unreachable."""
        ...

    def offer(self) -> HostOffer:
        """The resources of the host."""
        ...

    async def prepare(self, order: Order, pods: tuple[RemotePod, ...]) -> None:
        """Get what the pods need before their units are created, such as images."""
        ...

    async def create(self, order: Order, places: tuple[Place, ...]) -> None:
        """Create a unit for each pod. A unit of the same call before is kept."""
        ...

    async def start(self, unit: RemoteUnit) -> None:
        """Start a unit; it succeeds if the unit was started already."""
        ...

    async def remove(self, unit: RemoteUnit, grace_seconds: int) -> None:
        """Stop and remove a unit; it succeeds if the unit is gone."""
        ...

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The log of a unit, in pieces as they arrive."""
        ...

    async def renew(self) -> None:
        """Extend the locks of what runs here, if the host enforces any."""
        ...


class HostsExecutor:
    """All hosts of one backend."""

    def __init__(
        self, changed: Channel[ObjectKey], hosts: Mapping[str, GangHost], *, one_host: bool = False
    ) -> None:
        self.changed = changed
        self._hosts = hosts
        self._one_host = one_host

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
        found = (unit for host in self._hosts.values() for unit in host.memory.units_of(gang))
        return tuple(sorted(found, key=lambda unit: (unit.pod, unit.external_id)))

    def gangs(self) -> tuple[ObjectKey, ...]:
        """All gangs for which something exists."""
        found = {gang for host in self._hosts.values() for gang in host.memory.gangs()}
        return tuple(sorted(found))

    def loss(self, gang: ObjectKey) -> str:
        """Nothing is known about a unit that is gone from its host."""
        del gang
        return ""

    async def reserve(self, order: Order) -> None:
        """Create the units of all pods of an order, or none."""
        existing = {unit.pod_uid for unit in self._units_of(order)}
        pods = tuple(pod for pod in order.pods if pod.metadata.uid not in existing)
        if not pods:
            return
        self.check(pods)
        demands = {pod.metadata.name: demand_of(pod) for pod in pods}
        with contextlib.ExitStack() as claims:
            chosen = self._chosen(order, demands)
            addresses = self._addresses(order, chosen)
            places: dict[str, list[Place]] = {}
            for pod in pods:
                name, host = pod.metadata.name, chosen[pod.metadata.name]
                claim = self._hosts[host].memory.claim(pod.metadata.uid, demands[name])
                devices = claims.enter_context(claim)
                rank = order.ranks.get(name, 0)
                place = Place(pod, demands[name], rank, addresses, devices)
                places.setdefault(host, []).append(place)
            await self._create_all(replace(order, pods=pods), places)

    def check(self, pods: tuple[RemotePod, ...]) -> None:
        """Raise ExecutorError for pods that may not run; the template was accepted before."""

    def address_in_gang(self, pod: str, host: str) -> str:
        """Return how the peers of a pod reach it."""
        del pod
        return self._hosts[host].memory.shape.address

    async def start(self, units: tuple[RemoteUnit, ...]) -> None:
        """Start all units at the same time."""
        await _all(self._start(unit) for unit in units)

    async def release(self, units: tuple[RemoteUnit, ...], grace_seconds: int = 0) -> None:
        """Stop and remove units."""
        await _all(self._remove(unit, grace_seconds) for unit in units)

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The log of a unit."""
        return self._host_of(unit).logs(unit, options)

    async def renew(self) -> None:
        """Extend the locks of all hosts; a host that does not answer keeps none waiting."""
        await asyncio.gather(  # noqa: TID251 - none of them may end the others
            *(host.renew() for host in self._hosts.values()), return_exceptions=True
        )

    async def _start(self, unit: RemoteUnit) -> None:
        await self._host_of(unit).start(unit)

    async def _remove(self, unit: RemoteUnit, grace_seconds: int) -> None:
        await self._host_of(unit).remove(unit, grace_seconds)

    def _host_of(self, unit: RemoteUnit) -> GangHost:
        if (host := self._hosts.get(unit.host)) is not None:
            return host
        raise ExecutorError(
            Outcome.AMBIGUOUS,
            f"host {unit.host} is not in options.hosts any more, and pod {unit.pod} may still run"
            " there. Add the host again; if it is gone for good, remove the finalizer of the"
            " RemoteGang",
        )

    def _chosen(self, order: Order, demands: Mapping[str, HostDemand]) -> dict[str, str]:
        offers, wanted = self.hosts(), list(demands.values())
        if self._one_host:
            found = _on_one_host(wanted, self._home(order, offers), order)
        else:
            found = pack(wanted, offers, order.pack)
        return {pod: host.name for pod, host in found.items()}

    def _home(self, order: Order, offers: tuple[HostOffer, ...]) -> tuple[HostOffer, ...]:
        """The host on which the gang is already, or any."""
        used = {unit.host for unit in self._units_of(order)}
        return tuple(offer for offer in offers if offer.name in used) if used else offers

    def _units_of(self, order: Order) -> tuple[RemoteUnit, ...]:
        key = ObjectKey(order.tag.namespace, order.tag.name)
        return tuple(unit for unit in self.units(key) if unit.tag == order.tag)

    async def _create_all(self, order: Order, places: Mapping[str, list[Place]]) -> None:
        async def create_on(name: str) -> None:
            await self._hosts[name].create(order, tuple(places[name]))

        try:
            await _all(
                self._hosts[name].prepare(order, tuple(place.pod for place in found))
                for name, found in places.items()
            )
            await _all(create_on(name) for name in places)
        except ExecutorError as error:
            await self._roll_back(order, error)
            raise

    async def _roll_back(self, order: Order, because: ExecutorError) -> None:
        """Remove what exists for the pods of this order."""
        uids = {pod.metadata.uid for pod in order.pods}
        created = tuple(
            unit
            for unit in self._units_of(order)
            if unit.pod_uid in uids and unit.state is RemoteMemberState.RESERVED
        )
        try:
            await self.release(created)
        except ExecutorError as error:
            # Nothing was started, and the grant expires: the rest is removed later.
            log.warning(
                "cannot roll back", units=len(created), error=str(error), because=str(because)
            )

    def _addresses(self, order: Order, chosen: Mapping[str, str]) -> list[str]:
        """The addresses of all pods of the gang, in the order of their ranks."""
        hosts = {unit.pod: unit.host for unit in self._units_of(order)} | dict(chosen)
        by_rank = sorted(order.ranks.items(), key=lambda one: one[1])
        return [self.address_in_gang(pod, hosts[pod]) if pod in hosts else "" for pod, _ in by_rank]


async def _all(calls: Iterable[Awaitable[None]]) -> None:
    """Wait for all calls, also after one failed; then raise the first error.

    A call that is cancelled under way may have been carried out, and the caller would not know.
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
