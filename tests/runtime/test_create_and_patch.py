"""Plain creations, guarded patches, gathered wake-ups: what pods and statuses need."""

import asyncio
from typing import Any

import pytest

from shared_api.kube.client import Patch, PatchType
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.resources import PODS, Resource
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target, Written
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import enqueue_changes, itself
from shared_api.runtime.watching.owners import Owner
from shared_api.runtime.watching.reflector import Changed, Removed, Restarted, Synced
from tests.runtime.writes import ScriptedClient, Write, refusal

pytestmark = pytest.mark.virtual_time

OWNER = ObjectKey("a", "owner")
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": "a", "name": "p", "resourceVersion": "50"},
}
LIFT = Patch([{"op": "remove", "path": "/spec/schedulingGates/0"}], PatchType.JSON)


class PatchableClient(ScriptedClient):
    """It takes JSON patches, too."""

    async def patch(
        self, resource: Resource, name: str, namespace: str | None = None, **options: Any
    ) -> PartialObject:
        await self._take(Write("patch", resource.plural, name, {}, options))
        return PartialObject(Metadata(name=name, resource_version=f"{self.version}"))


class Bench:
    """An engine before a scripted client, and a cache that shows one pod."""

    def __init__(self) -> None:
        self.client = PatchableClient()
        self.cache: Cache[PartialObject] = Cache()
        self.target = Target(PODS, self.cache)
        self.pending = PendingWrites()
        self.applier = Applier(self.client, "us", self.pending, Telemetry())
        self.behalf = Behalf(OWNER, Owner("a", "", "Owner", "o", "owner-uid"))
        self.pod = PartialObject(
            Metadata(name="p", namespace="a", uid="uid-p", resource_version="10")
        )
        self.cache.take(Restarted())
        self.cache.take(Synced("1"))

    async def create(self) -> PartialObject | None:
        return await self.applier.create(self.target, MANIFEST, self.behalf, into=PartialObject)


async def test_a_creation_is_one_post_and_awaited_by_the_next_reconcile() -> None:
    bench = Bench()
    answer = await bench.create()
    assert answer is not None
    assert bench.client.sent("create") == ["p"]
    assert not bench.pending.is_settled(OWNER)


async def test_a_name_that_is_taken_is_no_error_and_nothing_to_wait_for() -> None:
    bench = Bench()
    bench.client.refuse = lambda write: refusal(409, "AlreadyExists")
    assert await bench.create() is None
    assert bench.pending.is_settled(OWNER)


async def test_a_patch_is_awaited_by_the_next_reconcile() -> None:
    bench = Bench()
    written = await bench.applier.patch(bench.target, bench.pod, LIFT, bench.behalf)
    assert written is Written.PATCHED
    assert not bench.pending.is_settled(OWNER)


async def test_a_patch_whose_guard_fails_waits_for_the_event_that_explains_it() -> None:
    bench = Bench()
    bench.client.refuse = lambda write: refusal(422, "Invalid")
    with pytest.raises(WaitForEvent):
        await bench.applier.patch(bench.target, bench.pod, LIFT, bench.behalf)


async def test_an_object_that_we_deleted_is_leaving_until_the_cache_shows_it_gone() -> None:
    bench = Bench()
    bench.cache.take(Changed(bench.pod))
    key = ObjectKey("a", "p")
    assert not bench.cache.is_leaving(key)
    await bench.applier.delete(bench.target, bench.pod, bench.behalf)
    assert bench.cache.is_leaving(key)
    bench.cache.take(Removed(bench.pod))
    assert not bench.cache.is_leaving(key)


async def test_calls_that_are_known_to_be_welcome_begin_at_once() -> None:
    begun: list[float] = []

    async def call(number: int) -> None:
        begun.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)

    await slow_start(range(10), call, limit=8, first=8)
    assert begun == [0.0] * 8 + [1.0] * 2


async def test_a_burst_of_changes_is_one_wake_up_dated_by_the_first(clock: Clock) -> None:
    queue: Queue[ObjectKey] = Queue(lambda key: key.namespace, clock=clock)
    cache: Cache[PartialObject] = Cache()
    cache.take(Restarted())
    cache.take(Synced("1"))
    enqueue_changes(queue, cache, itself, delay=0.2)
    for version in range(10):
        metadata = Metadata(name="p", namespace="a", uid="u", resource_version=f"{10 + version}")
        cache.take(Changed(PartialObject(metadata)))
        await asyncio.sleep(0.01)
    assert queue.take() is None
    assert await queue.get() == ObjectKey("a", "p")
    assert asyncio.get_running_loop().time() == pytest.approx(0.2)
    queue.done(ObjectKey("a", "p"))
    assert queue.take() is None
