"""A client that takes writes and answers them from a script, without a network."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import PartialObject, codec_for
from shared_api.kube.errors import KubeError, Status, StatusCause, StatusDetails, from_status
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource


@dataclass
class Write:
    """One request."""

    verb: str
    resource: str
    name: str
    body: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    at: float = 0.0
    into: type[Any] = PartialObject


class ScriptedClient(Client):
    """Records writes; `refuse` decides which of them fail, `latency` how long each takes."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.refuse: Callable[[Write], KubeError | None] = lambda write: None
        self.latency = 0.0
        self.version = 1000
        self.in_flight = 0
        self.most_in_flight = 0
        self.stored: dict[str, Any] = {}

    def sent(self, verb: str = "") -> list[str]:
        return [write.name for write in self.writes if not verb or write.verb == verb]

    async def apply(
        self,
        resource: Resource,
        manifest: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        into: type[Any] = PartialObject,
    ) -> Any:
        metadata = manifest["metadata"]
        write = Write(
            "apply",
            resource.plural,
            metadata["name"],
            manifest,
            {"manager": field_manager, "force": force, "subresource": subresource},
            into=into,
        )
        await self._take(write)
        answer = {
            **manifest,
            **self.stored,
            "metadata": {
                **metadata,
                "uid": metadata.get("uid", f"uid-{metadata['name']}"),
                "resourceVersion": f"{self.version}",
                "managedFields": [
                    {
                        "manager": field_manager,
                        "operation": "Apply",
                        "apiVersion": manifest["apiVersion"],
                        "subresource": subresource or "",
                        "fieldsV1": {"f:spec": {}},
                    }
                ],
            },
        }
        return codec_for(into).one(json.dumps(answer).encode())

    async def create(
        self, resource: Resource, manifest: Mapping[str, Any], *, into: type[Any], **options: Any
    ) -> Any:
        name = manifest["metadata"]["name"]
        await self._take(Write("create", resource.plural, name, manifest, options))
        return codec_for(into).one(json.dumps(manifest).encode())

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        patch: Patch,
        field_manager: str,
        subresource: str | None = None,
    ) -> PartialObject:
        assert isinstance(patch.body, Mapping)
        await self._take(Write("patch", resource.plural, name, patch.body))
        return PartialObject(Metadata(name=name, resource_version=f"{self.version}"))

    async def delete(
        self, resource: Resource, name: str, namespace: str | None = None, **options: Any
    ) -> None:
        await self._take(Write("delete", resource.plural, name, {}, options))

    async def _take(self, write: Write) -> None:
        write.at = asyncio.get_running_loop().time()
        self.writes.append(write)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency)
            if error := self.refuse(write):
                raise error
        finally:
            self.in_flight -= 1
        self.version += 1


def refusal(code: int, reason: str, *causes: StatusCause) -> KubeError:
    return from_status(Status(code, reason, "no", StatusDetails(causes=causes)))
