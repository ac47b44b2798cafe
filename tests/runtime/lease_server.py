"""One Lease in memory, with optimistic locking and faults; time is the loop's."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import ConnectionLost, Status, from_status
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource
from shared_api.runtime.leading.lease import Lease, LeaseSpec


@dataclass
class LeaseServer:
    """What the candidates share."""

    spec: dict[str, Any] | None = None
    version: int = 0
    writes: list[tuple[float, str]] = field(default_factory=list)
    """When, and who held the lease after it."""

    def client(self) -> "LeaseClient":
        return LeaseClient(self)


class LeaseClient(Client):
    """One candidate's way to the server."""

    def __init__(self, server: LeaseServer) -> None:
        self.server = server
        self.is_cut_off = False
        self.loses_answers = False
        self.latency = 0.01

    async def get(self, resource: Resource, name: str, *args: Any, **kwargs: Any) -> Any:
        await self._travel()
        if self.server.spec is None:
            raise from_status(Status(404, "NotFound"))
        return self._shown()

    async def create(self, resource: Resource, manifest: Mapping[str, Any], **kwargs: Any) -> Any:
        await self._travel()
        if self.server.spec is not None:
            raise from_status(Status(409, "AlreadyExists"))
        self._store(manifest["spec"])
        return self._shown()

    async def patch(
        self, resource: Resource, name: str, namespace: str | None = None, **kwargs: Any
    ) -> PartialObject:
        patch: Patch = kwargs["patch"]
        assert isinstance(patch.body, dict)
        await self._travel()
        if patch.body["metadata"]["resourceVersion"] != f"{self.server.version}":
            raise from_status(Status(409, "Conflict"))
        merged = {**(self.server.spec or {}), **patch.body["spec"]}
        self._store({key: value for key, value in merged.items() if value is not None})
        if self.loses_answers:
            raise ConnectionLost("the answer was lost")
        return PartialObject(self._shown().metadata)

    def _shown(self) -> Lease:
        spec = msgspec.convert(self.server.spec, LeaseSpec)
        return Lease(Metadata(resource_version=f"{self.server.version}"), spec)

    def _store(self, spec: Mapping[str, Any]) -> None:
        self.server.spec = dict(spec)
        self.server.version += 1
        now = asyncio.get_running_loop().time()
        self.server.writes.append((now, spec.get("holderIdentity", "")))

    async def _travel(self) -> None:
        if self.is_cut_off:
            # A dead network is silence, not an error.
            await asyncio.Event().wait()
        await asyncio.sleep(self.latency)
