"""Watches pods and gangs: their state, and when it changed.

Counts follow from each change alone, so that watching a thousand pods costs the machine
little of what is being measured. Terminating objects do not count. Gangs and the objects of their
scheduler are watched only with a real backend.
"""

import asyncio
import contextlib
import copy
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import msgspec

from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.sightings import Sightings
from benchmarks.product.workload import NAMESPACE, PODS_PER_GANG
from core_operator.state.caches import CLIQUES, GANGS, SETS
from shared_api import names
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import LooseObject, PartialObject, Projection
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.pods import Pod, PodCondition
from shared_api.kube.resources import CONTROLLER_REVISIONS, PODS, SERVICES, Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.core.kit import holds

T = TypeVar("T", bound=Projection)
EXIST, RELEASED, READY = "exist", "released", "ready"
_CHILDREN = (CLIQUES, GANGS, SERVICES, CONTROLLER_REVISIONS)


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[PodCondition, ...] = ()


class Gang(msgspec.Struct, frozen=True):
    """What is read of a PodGang."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: _Status = _Status()

    @property
    def holds(self) -> frozenset[str]:
        """The conditions that hold."""
        conditions = self.status.conditions
        return frozenset(one.type for one in conditions if one.status == "True")


class Onlooker:
    """Sees all pods, sets and gangs of the namespace."""

    def __init__(self, client: Client, choice: BackendUnderTest) -> None:
        self._client = client
        self._choice = choice
        self._pods: Cache[Pod] = Cache()
        self._sets: Cache[LooseObject] = Cache()
        self._gangs: Cache[Gang] = Cache()
        self._objects: Cache[PartialObject] = Cache()
        self._changed = asyncio.Event()
        self.counts: Counter[str] = Counter()
        """Pods that exist, are released, are ready."""
        self.gangs: Counter[str] = Counter()
        """Gangs by the conditions that hold."""
        self.sightings = Sightings(PODS_PER_GANG)
        self._pods.subscribe(self._on_pod)
        self._sets.subscribe(lambda *_: self._changed.set())
        self._gangs.subscribe(self._on_gang)
        self._objects.subscribe(self._on_object)

    def start_over(self) -> None:
        """Forget when things were seen."""
        self.sightings = Sightings(PODS_PER_GANG)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator["Onlooker"]:
        """Watch until the block ends."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._follow(self._pods, Source(PODS, Pod, NAMESPACE))),
                group.create_task(self._follow(self._sets, Source(SETS, LooseObject, NAMESPACE))),
            ]
            await self._pods.wait_synced()
            await self._sets.wait_synced()
            if self._choice.is_real:
                objects = _metadata(self._choice.objects[-1])
                tasks += [
                    group.create_task(self._follow(self._gangs, Source(GANGS, Gang, NAMESPACE))),
                    group.create_task(self._follow(self._objects, objects)),
                ]
                await self._gangs.wait_synced()
                await self._objects.wait_synced()
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()

    async def _follow(self, cache: Cache[T], source: Source[T]) -> None:
        await cache.run(Reflector(self._client, source))

    async def delete(self, *sets: str) -> float:
        """Delete sets; return the seconds until nothing of any set is left.

        The children are watched only here: a watch costs the API server what each event does.
        """
        found = [self._sets.get(ObjectKey(NAMESPACE, name)) for name in sets]
        children: list[Cache[PartialObject]] = []
        async with asyncio.TaskGroup() as group:
            tasks = []
            for resource in (*_CHILDREN, *self._choice.objects):
                cache: Cache[PartialObject] = Cache()
                tasks.append(group.create_task(self._follow(cache, _metadata(resource))))
                await cache.wait_synced()
                cache.subscribe(lambda *_: self._changed.set())
                children.append(cache)
            began = asyncio.get_running_loop().time()
            for one in found:
                assert one is not None
                uid = one.metadata.uid
                await self._client.delete(SETS, one.metadata.name, NAMESPACE, uid=uid)
            ended = await self.until(
                lambda: not (len(self._pods) or len(self._sets) or any(map(len, children)))
            )
            for task in tasks:
                task.cancel()
        return ended - began

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        self.counts.subtract(_stages(old))
        self.counts.update(_stages(new))
        if new is not None and (reached := _stations(new)):
            gang = new.metadata.labels.get(names.LABEL_PODGANG, "")
            self.sightings.pod(gang, new.metadata.name, reached, _now())
        self._changed.set()

    def _on_gang(self, old: Gang | None, new: Gang | None) -> None:
        self.gangs.subtract(old.holds if old is not None else ())
        if new is not None:
            self.gangs.update(new.holds)
            self.sightings.gang(new.metadata.name, new.holds, _now())
        self._changed.set()

    def _on_object(self, old: PartialObject | None, new: PartialObject | None) -> None:
        if old is None and new is not None:
            self.sightings.written(new.metadata.labels.get(names.LABEL_PODGANG, ""), _now())

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

    async def change_image(self, name: str, image: str) -> None:
        """Give the containers of a set another image."""
        found = self._sets.get(ObjectKey(NAMESPACE, name))
        assert found is not None
        cliques = copy.deepcopy(found.spec["template"]["cliques"])
        for clique in cliques:
            clique["spec"]["podSpec"]["containers"][0]["image"] = image
        patch = Patch({"spec": {"template": {"cliques": cliques}}})
        await self._client.patch(SETS, name, NAMESPACE, patch=patch, field_manager="bench")

    def follow_pods(self, handler: Callable[[Pod | None, Pod | None], None]) -> None:
        """Call a function at every change of a pod, after it was counted."""
        self._pods.subscribe(handler)

    def is_updated(self, name: str, image: str) -> bool:
        """Return whether a set with this image reports that its update ended and that it is ready."""
        found = self._sets.get(ObjectKey(NAMESPACE, name))
        if found is None or not self.is_content(name):
            return False
        clique = found.spec["template"]["cliques"][0]
        asked = clique["spec"]["podSpec"]["containers"][0]["image"] == image
        progress = found.status.get("updateProgress") or {}
        return bool(asked and progress.get("updateEndedAt"))

    def is_content(self, name: str) -> bool:
        """Return whether a set reports that it is ready with all its replicas."""
        found = self._sets.get(ObjectKey(NAMESPACE, name))
        if found is None or not holds(found, "Ready"):
            return False
        return bool(found.status.get("availableReplicas") == found.spec["replicas"])

    async def until(self, condition: Callable[[], bool], seconds: float = 600) -> float:
        """Wait for a change after which the condition holds; return the loop's time."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            seen = f"pods: {dict(self.counts)}, gangs: {dict(self.gangs)}"
            raise TimeoutError(f"not within {seconds:g} s; {seen}") from None
        return _now()

    async def until_reported(self, gangs: int, *conditions: str) -> float:
        """Wait until so many gangs have all these conditions; return the loop's time."""
        return await self.until(lambda: all(self.gangs[one] >= gangs for one in conditions))


def _metadata(resource: Resource) -> Source[PartialObject]:
    return Source(resource, PartialObject, NAMESPACE, metadata_only=True)


def _stages(pod: Pod | None) -> list[str]:
    if pod is None or pod.metadata.deletion_timestamp is not None:
        return []
    stages = [EXIST]
    if not pod.is_gated:
        stages.append(RELEASED)
    if pod.is_ready:
        stages.append(READY)
    return stages


def _stations(pod: Pod) -> list[str]:
    """The stations of its gang that a pod has reached."""
    if not pod.spec.node_name:
        return []
    ready = [names.CONDITION_READY] if pod.is_ready else []
    return [names.CONDITION_SCHEDULED, *ready]


def _now() -> float:
    return asyncio.get_running_loop().time()
