"""Somebody who watches: how many pods exist, are released and are ready, and since when.

Counts follow from each change alone, so that watching a thousand pods costs the machine
little of what is being measured. Pods that are going away do not count.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from benchmarks.product.workload import NAMESPACE
from core_operator.caches import CLIQUES, GANGS, SETS
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import CONTROLLER_REVISIONS, PODS, SERVICES
from shared_api.runtime.cache import Cache
from shared_api.runtime.watch import Reflector, Source
from tests.core.kit import holds
from tests.core.stand_in import GATE

EXIST, RELEASED, READY = "exist", "released", "ready"
_CHILDREN = (CLIQUES, GANGS, SERVICES, CONTROLLER_REVISIONS)


class Onlooker:
    """Sees all pods of the namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pods: Cache[Pod] = Cache()
        self._sets: Cache[LooseObject] = Cache()
        self._changed = asyncio.Event()
        self.counts: Counter[str] = Counter()
        self._pods.subscribe(self._on_pod)
        self._sets.subscribe(lambda *_: self._changed.set())

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator["Onlooker"]:
        """Watch until the block ends."""
        async with asyncio.TaskGroup() as group:
            pods = Reflector(self._client, Source(PODS, Pod, NAMESPACE))
            sets = Reflector(self._client, Source(SETS, LooseObject, NAMESPACE))
            tasks = [
                group.create_task(self._pods.run(pods)),
                group.create_task(self._sets.run(sets)),
            ]
            await self._pods.wait_synced()
            await self._sets.wait_synced()
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()

    async def delete(self, name: str) -> float:
        """Delete a set; return the seconds until nothing of any set is left.

        The children are watched only here: a watch costs the API server what each event does.
        """
        found = self._sets.get(ObjectKey(NAMESPACE, name))
        assert found is not None
        children: list[Cache[PartialObject]] = []
        async with asyncio.TaskGroup() as group:
            tasks = []
            for resource in _CHILDREN:
                cache: Cache[PartialObject] = Cache()
                source = Source(resource, PartialObject, NAMESPACE, metadata_only=True)
                tasks.append(group.create_task(cache.run(Reflector(self._client, source))))
                await cache.wait_synced()
                cache.subscribe(lambda *_: self._changed.set())
                children.append(cache)
            began = asyncio.get_running_loop().time()
            await self._client.delete(SETS, name, NAMESPACE, uid=found.metadata.uid)
            ended = await self.until(
                lambda: not (len(self._pods) or len(self._sets) or any(map(len, children)))
            )
            for task in tasks:
                task.cancel()
        return ended - began

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        self.counts.subtract(_stages(old))
        self.counts.update(_stages(new))
        self._changed.set()

    async def create(self, manifest: dict[str, Any]) -> str:
        """Create a set; return its UID."""
        made = await self._client.create(SETS, manifest, field_manager="bench", into=PartialObject)
        return made.metadata.uid or ""

    async def scale(self, name: str, replicas: int) -> None:
        """Scale a set."""
        patch = Patch({"spec": {"replicas": replicas}})
        await self._client.patch(
            SETS, name, NAMESPACE, patch=patch, field_manager="bench", subresource="scale"
        )

    def is_content(self, name: str) -> bool:
        """Tell whether a set says that it is ready, with all that was asked for."""
        found = self._sets.get(ObjectKey(NAMESPACE, name))
        if found is None or not holds(found, "Ready"):
            return False
        return bool(found.status.get("availableReplicas") == found.spec["replicas"])

    async def until(self, condition: Callable[[], bool], seconds: float = 600) -> float:
        """Wait for a change after which the condition holds; the loop's time then."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"not within {seconds:g} s; pods: {dict(self.counts)}") from None
        return asyncio.get_running_loop().time()


def _stages(pod: Pod | None) -> list[str]:
    if pod is None or pod.metadata.deletion_timestamp is not None:
        return []
    stages = [EXIST]
    if all(gate.name != GATE for gate in pod.spec.scheduling_gates):
        stages.append(RELEASED)
    if pod.is_ready:
        stages.append(READY)
    return stages
