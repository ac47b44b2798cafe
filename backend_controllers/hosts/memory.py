"""What one host has, as it was last observed, and what calls under way take from it.

A claim counts from the choice of a host until the call ends, so two gangs that are reserved at the
same time never get the same CPU or GPU. A pod that has both a claim and a unit counts once. A host
that does not answer keeps its units in an UNKNOWN state.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import structlog

from backend_controllers.contract.remote.executor import HostOffer, RemoteUnit
from backend_controllers.hosts.packing import HostDemand
from backend_controllers.hosts.places import HostUse
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HostShape:
    """A host as the settings describe it."""

    name: str
    address: str
    labels: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    gpu_resource: str = ""


class HostMemory:
    """One host."""

    def __init__(self, shape: HostShape, changed: Channel[ObjectKey]) -> None:
        self.shape = shape
        self.total: Mapping[str, int] = {}
        self.problem = "has not answered yet"
        self._changed = changed
        self._units: dict[str, RemoteUnit] = {}
        """By the external ID."""
        self._uses: dict[str, HostUse] = {}
        self._claims: dict[str, HostUse] = {}
        """By the UID of the pod."""

    def offer(self, *, is_fenced: bool = False) -> HostOffer:
        """The resources of the host."""
        free = dict(self.total)
        for use in self._all_uses():
            for resource, amount in use.requests.items():
                free[resource] = free.get(resource, 0) - amount
        shape = self.shape
        return HostOffer(shape.name, self.total, free, shape.labels, self.problem, is_fenced)

    def units(self) -> tuple[RemoteUnit, ...]:
        """All units, as they were last reported."""
        return tuple(self._units.values())

    def units_of(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        """The units of gangs of this name."""
        found = (unit for unit in self._units.values() if gang_of(unit) == gang)
        if not self.problem:
            return tuple(found)
        return tuple(replace(unit, state=RemoteMemberState.UNKNOWN) for unit in found)

    def gangs(self) -> set[ObjectKey]:
        """All gangs that have units here."""
        return {gang_of(unit) for unit in self._units.values()}

    @contextlib.contextmanager
    def claim(self, pod_uid: str, demand: HostDemand) -> Iterator[tuple[str, ...]]:
        """Take resources for a pod until the block ends, and yield the GPUs that it gets."""
        wanted = demand.requests.get(self.shape.gpu_resource, 0)
        used = {device for use in self._all_uses() for device in use.devices}
        free = [str(index) for index in range(self.shape.gpus) if str(index) not in used]
        devices = tuple(free[:wanted])
        self._claims[pod_uid] = HostUse(demand.requests, devices)
        try:
            yield devices
        finally:
            del self._claims[pod_uid]

    def expired(self, now: int) -> tuple[RemoteUnit, ...]:
        """The units that were not started in time."""
        return tuple(
            unit
            for name, unit in self._units.items()
            if unit.state is RemoteMemberState.RESERVED and 0 < self._uses[name].expires < now
        )

    def show(self, unit: RemoteUnit, use: HostUse) -> None:
        """Remember a unit, and announce it if it changed."""
        before = self._units.get(unit.external_id)
        self._units[unit.external_id] = unit
        self._uses[unit.external_id] = use
        if before != unit:
            self._send([unit])

    def forget(self, external_id: str) -> None:
        """Forget a unit that does not exist any more."""
        unit = self._units.pop(external_id, None)
        self._uses.pop(external_id, None)
        if unit is not None:
            self._send([unit])

    def listed(self, found: Iterable[str]) -> None:
        """Note that the host answers and has only these units."""
        for gone in set(self._units) - set(found):
            self.forget(gone)
        was_lost, self.problem = bool(self.problem), ""
        if was_lost:
            log.info("host is reachable", host=self.shape.name, units=len(self._units))
            self._send(self._units.values())

    def lose(self, problem: str) -> None:
        """Note that the host cannot be reached."""
        was_reachable, self.problem = not self.problem, problem
        if was_reachable:
            log.warning("host is unreachable", host=self.shape.name, error=problem)
            self._send(self._units.values())

    def _all_uses(self) -> Iterator[HostUse]:
        yield from self._uses.values()
        has_unit = {unit.pod_uid for unit in self._units.values()}
        yield from (use for uid, use in self._claims.items() if uid not in has_unit)

    def _send(self, units: Iterable[RemoteUnit]) -> None:
        for gang in {gang_of(unit) for unit in units}:
            self._changed.send(gang)


def gang_of(unit: RemoteUnit) -> ObjectKey:
    """Return namespace and name of the gang that a unit belongs to."""
    return ObjectKey(unit.tag.namespace, unit.tag.name)
