"""Topology bindings of one test, and what gangs say about their placement, in few words."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from core_operator.state.caches import BACKENDS, BINDINGS
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import NotFound
from tests.core.kit import Object
from tests.core.stand_in import StandIn

PLACING = [
    "Gang",
    *(
        f"Topology{strength}{level}"
        for strength in ("Required", "Preferred")
        for level in ("Gang", "GroupSet", "Group")
    ),
]
"""Capabilities of a backend that can do all of it."""

LEVELS = {
    "zone": "kubernetes.io/zone",
    "block": "kubernetes.io/block",
    "rack": "kubernetes.io/rack",
    "host": "kubernetes.io/hostname",
}


class Bindings:
    """ClusterTopologyBindings under names that no other test has."""

    def __init__(self, client: Client, prefix: str) -> None:
        self.client = client
        self._prefix = prefix
        self._made: set[str] = set()

    def name(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    async def create(self, name: str, levels: dict[str, str] | None = None) -> None:
        manifest = {
            "apiVersion": BINDINGS.api_version,
            "kind": BINDINGS.kind,
            "metadata": {"name": self.name(name)},
            "spec": _spec(LEVELS if levels is None else levels),
        }
        await self.client.create(BINDINGS, manifest, field_manager="person", into=PartialObject)
        self._made.add(name)

    async def change(self, name: str, levels: dict[str, str]) -> None:
        patch = Patch({"spec": _spec(levels)})
        await self.client.patch(BINDINGS, self.name(name), patch=patch, field_manager="person")

    async def delete(self, name: str) -> None:
        found = await self.client.get(BINDINGS, self.name(name), into=PartialObject)
        await self.client.delete(BINDINGS, self.name(name), uid=found.metadata.uid)
        self._made.discard(name)

    async def clean_up(self) -> None:
        for name in tuple(self._made):
            with contextlib.suppress(NotFound):
                await self.delete(name)


def _spec(levels: dict[str, str]) -> Object:
    return {"levels": [{"domain": domain, "key": key} for domain, key in levels.items()]}


def asks(topology: str, required: str | None = None, preferred: str | None = None) -> Object:
    """A topology constraint, as a field of a template, a group or a clique."""
    pack = {"required": required, "preferred": preferred}
    return {
        "topologyConstraint": {
            "topologyName": topology,
            "pack": {strength: domain for strength, domain in pack.items() if domain},
        }
    }


def said(gang: LooseObject | None) -> dict[str, str]:
    """Where a gang is to be: its own levels, and those of group sets and groups by name."""
    if gang is None:
        return {"no such": "gang"}
    parts: list[tuple[str, Any]] = [("gang", gang.spec)]
    parts += [
        (f"{config['name']}: {' '.join(config['podGroupNames'])}", config)
        for config in gang.spec.get("topologyConstraintGroupConfigs", [])
    ]
    parts += [(group["name"], group) for group in gang.spec["podgroups"]]
    return {
        name: _levels(part["topologyConstraint"]["packConstraint"])
        for name, part in parts
        if "topologyConstraint" in part
    }


def _levels(pack: dict[str, str]) -> str:
    return " ".join(f"{strength} {key}" for strength, key in sorted(pack.items(), reverse=True))


@contextlib.asynccontextmanager
async def placing_backend(client: Client, name: str, **spec: Any) -> AsyncIterator[StandIn]:
    """A backend that can do all of it, unless told otherwise, for as long as the block lasts."""
    backend = StandIn(client, name, **{"capabilities": PLACING, **spec})
    try:
        async with backend.serving():
            yield backend
    finally:
        record = await client.get(BACKENDS, name, into=PartialObject)
        await client.delete(BACKENDS, name, uid=record.metadata.uid)
