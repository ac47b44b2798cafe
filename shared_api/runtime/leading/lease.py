"""The Lease object of an election: read, take, renew, release.

Every write has the resource version that it is based on, so only one of two candidates succeeds.
Times are UTC with microseconds. They are written for readers of the Lease; no code here reads them.
"""

import math

import msgspec

from shared_api.kube.client import Client, Patch
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.resources import LEASES
from shared_api.runtime.clock import Clock, micro_time


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of `coordination.k8s.io/v1` that an election uses."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """A Lease as it was read or written."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: LeaseSpec = LeaseSpec()

    @property
    def holder(self) -> str:
        """The identity of the holder; empty if there is none."""
        return self.spec.holder_identity or ""

    @property
    def duration(self) -> float:
        """Seconds without a renewal after which the Lease expires."""
        return float(self.spec.lease_duration_seconds or 0)


class LeaseStore:
    """One Lease, written under one identity."""

    def __init__(
        self, client: Client, key: ObjectKey, identity: str, duration: float, clock: Clock
    ) -> None:
        self._client = client
        self._key = key
        self._identity = identity
        self._duration = math.ceil(duration)
        self._clock = clock

    async def read(self) -> Lease:
        """Read the Lease from the server."""
        return await self._client.get(LEASES, self._key.name, self._key.namespace, into=Lease)

    async def take(self, found: Lease | None) -> Lease:
        """Become the holder of a Lease that is free, or does not exist yet."""
        now = micro_time(self._clock.utc())
        spec: dict[str, object] = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._duration,
            "acquireTime": now,
            "renewTime": now,
        }
        if found is None:
            return await self._create({**spec, "leaseTransitions": 0})
        transitions = (found.spec.lease_transitions or 0) + (found.holder != self._identity)
        return await self._change(found, {**spec, "leaseTransitions": transitions})

    async def renew(self, held: Lease | None) -> Lease:
        """Renew the Lease of the current holder."""
        if held is None:
            raise RuntimeError("a lease that is not held cannot be renewed")
        return await self._change(held, {"renewTime": micro_time(self._clock.utc())})

    async def release(self, held: Lease) -> None:
        """Remove the holder, so that the next candidate may take the Lease at once."""
        spec: dict[str, object] = {
            "holderIdentity": None,
            "leaseDurationSeconds": 1,
            "renewTime": micro_time(self._clock.utc()),
        }
        await self._change(held, spec)

    async def _create(self, spec: dict[str, object]) -> Lease:
        manifest = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"namespace": self._key.namespace, "name": self._key.name},
            "spec": spec,
        }
        return await self._client.create(LEASES, manifest, field_manager=self._key.name, into=Lease)

    async def _change(self, basis: Lease, spec: dict[str, object]) -> Lease:
        version = {"resourceVersion": basis.metadata.resource_version}
        written = await self._client.patch(
            LEASES,
            self._key.name,
            self._key.namespace,
            patch=Patch({"metadata": version, "spec": spec}),
            field_manager=self._key.name,
        )
        merged = {**msgspec.to_builtins(basis.spec), **spec}
        return Lease(written.metadata, msgspec.convert(merged, LeaseSpec))
