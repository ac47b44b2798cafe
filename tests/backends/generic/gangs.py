"""Gangs made by hand, for tests in which core has no part, and what a person sees of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from backend_controllers.generic.kinds import GANGS
from shared_api import names
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.core.kit import Onlooker, condition

Object = dict[str, Any]
PATIENCE = 60.0


def gang(name: str, backend: str, *, birds: int = 2, **metadata: Any) -> Object:
    """A PodGang of one group, without pods."""
    labels = {names.LABEL_SCHEDULER_BACKEND: backend}
    group = {"name": f"{name}-a", "podReferences": [], "minReplicas": birds}
    return {
        "apiVersion": GANGS.api_version,
        "kind": GANGS.kind,
        "metadata": {"name": name, "labels": labels, **metadata},
        "spec": {"podgroups": [group]},
    }


def said(person: Onlooker, name: str, kind: str) -> tuple[str, str]:
    """Status and reason of a gang's condition."""
    found = condition(person.get(GANGS, name), kind)
    return found.get("status", ""), found.get("reason", "")


async def until_said(person: Onlooker, name: str, kind: str, status: str, reason: str) -> str:
    """Wait until a gang says so; the message."""
    await person.until(lambda: said(person, name, kind) == (status, reason), PATIENCE)
    return str(condition(person.get(GANGS, name), kind)["message"])


async def until_programmed(person: Onlooker, *gangs: str) -> None:
    await person.until(
        lambda: all(said(person, name, "Programmed")[0] == "True" for name in gangs), PATIENCE
    )


class Eyes:
    """Watches the objects of one kind in one namespace."""

    def __init__(self, client: Client, kind: Resource, namespace: str) -> None:
        self.client = client
        self.kind = kind
        self.namespace = namespace
        self.cache: Cache[LooseObject] = Cache()
        self._changed = asyncio.Event()
        self.cache.subscribe(lambda old, new: self._changed.set())

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator["Eyes"]:
        source = Source(self.kind, LooseObject, self.namespace or None)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.cache.run(Reflector(self.client, source)))
            await self.cache.wait_synced()
            try:
                yield self
            finally:
                task.cancel()

    def get(self, name: str) -> LooseObject | None:
        return self.cache.get(ObjectKey(self.namespace, name))

    def one(self, name: str) -> LooseObject:
        found = self.get(name)
        assert found is not None
        return found

    def names(self) -> list[str]:
        return sorted(found.metadata.name for found in self.cache)

    async def until(self, holds: Callable[[], object]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not in time; there are: {list(self.cache)}") from None

    async def create(self, name: str, **spec: Any) -> PartialObject:
        """Make one as somebody else would."""
        manifest = {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }
        return await self.client.create(
            self.kind, manifest, field_manager="stranger", into=PartialObject
        )

    async def bend(self, name: str, body: Object) -> None:
        """Change one as somebody else would, and wait until somebody has written it after that."""
        answer = await self.client.patch(
            self.kind, name, self.namespace or None, patch=Patch(body), field_manager="stranger"
        )
        bent = int(answer.metadata.resource_version)
        await self.until(lambda: int(self.one(name).metadata.resource_version) > bent)

    async def delete(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            uid = self.one(name).metadata.uid
            await self.client.delete(self.kind, name, self.namespace or None, uid=uid)
