"""When the engine overrules other managers, and objects that lost the labels they are seen by."""

import pytest

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey, ObservedOwnerReference
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, NotOurs, Target, Written
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner
from shared_api.runtime.watching.reflector import Changed, Restarted, Synced
from tests.runtime.writes import ScriptedClient

KEY = ObjectKey("a", "owner")
OURS = Owner("a", "", "Owner", "o", "owner-uid")
MANIFEST = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "a", "name": "m", "labels": {"kept": "by-us"}},
}


def found(owner: str | None = None) -> PartialObject:
    owners = (
        ()
        if owner is None
        else (ObservedOwnerReference("v1", "Owner", "o", owner, controller=True),)
    )
    metadata = Metadata(
        name="m", namespace="a", uid="uid-m", resource_version="10", owner_references=owners
    )
    return PartialObject(metadata)


class Bench:
    """An engine before a scripted client."""

    def __init__(self, *shown: PartialObject) -> None:
        self.client = ScriptedClient()
        self.cache: Cache[PartialObject] = Cache()
        self.cache.take(Restarted())
        self.cache.take(Synced("1"))
        for value in shown:
            self.cache.take(Changed(value))
        self.target = Target(CONFIGMAPS, self.cache)
        self.pending = PendingWrites()
        self.applier = Applier(self.client, "us", self.pending, Telemetry())

    def forced(self) -> bool:
        (write,) = self.client.writes
        return bool(write.options["force"])


async def test_fields_that_are_ours_by_contract_are_forced_without_an_owner() -> None:
    bench = Bench(found())
    await bench.applier.apply(bench.target, MANIFEST, Behalf(KEY, force=True))
    assert bench.forced()


async def test_without_an_owner_nothing_else_is_forced() -> None:
    bench = Bench(found())
    await bench.applier.apply(bench.target, MANIFEST, Behalf(KEY))
    assert not bench.forced()


async def test_an_object_that_left_our_selection_is_taken_back_by_its_uid() -> None:
    bench = Bench()
    behalf = Behalf(KEY, OURS)
    written = await bench.applier.reclaim(bench.target, MANIFEST, found("owner-uid"), behalf)
    assert written is Written.APPLIED
    assert bench.forced()
    assert bench.client.writes[0].body["metadata"]["uid"] == "uid-m"
    assert not bench.pending.is_settled(KEY), "the next reconcile must wait for the cache"


@pytest.mark.parametrize("owner", [None, "another"])
async def test_what_our_owner_does_not_control_is_not_taken(owner: str | None) -> None:
    bench = Bench()
    with pytest.raises(NotOurs):
        await bench.applier.reclaim(bench.target, MANIFEST, found(owner), Behalf(KEY, OURS))
    assert bench.client.writes == []


def test_values_of_those_who_are_gone_are_not_exported() -> None:
    telemetry = Telemetry()
    telemetry.read_at_scrape("cache_objects", {"resource": "pods"}, lambda: 7)
    assert telemetry.registry.get_sample_value("cache_objects", {"resource": "pods"}) == 7
    telemetry.start_over()
    assert telemetry.registry.get_sample_value("cache_objects", {"resource": "pods"}) is None
