"""What the apply engine sends, and what it refuses to send."""

import asyncio
from collections.abc import Mapping

import pytest

from shared_api.kube.client import Patch, Propagation
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import Conflict, KubeError, StatusCause
from shared_api.kube.metadata import Metadata, ObjectKey, ObservedOwnerReference
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.applying.applied_fields import Applied, applied, fingerprint
from shared_api.runtime.applying.applier import CREATE_ONLY, Applier
from shared_api.runtime.applying.targets import Behalf, NotOurs, OwnershipConflict, Target, Written
from shared_api.runtime.leading.fence import Fenced
from shared_api.runtime.reconciling.outcome import Retry, WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner
from shared_api.runtime.watching.reflector import Changed, Removed, Restarted, Synced
from tests.runtime.writes import ScriptedClient, Write, refusal

pytestmark = pytest.mark.virtual_time

OWNER = ObjectKey("a", "owner")
US = "us"
OURS = ObservedOwnerReference("v1", "Owner", "owner", "owner-uid", controller=True)
THEIRS = ObservedOwnerReference("v1", "Owner", "other", "other-uid", controller=True)
PATCH = Patch({"spec": {"size": 2}})
Thing = Applied[PartialObject]


def manifest(name: str, size: int = 1) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "a", "name": name},
        "spec": {"size": size},
    }


def deletion(version: str | None) -> dict[str, object]:
    options = {"propagation": Propagation.BACKGROUND, "grace_period": None}
    return {"uid": "uid-x", "version": version, **options}


class FixedFence:
    """A lease with so many seconds left at the start of the test."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def remaining(self) -> float:
        return self.seconds - asyncio.get_running_loop().time()


class Bench:
    """An engine before a scripted client, and a cache that the test fills."""

    def __init__(self, lease: float = 1e9, parallel: int = 8) -> None:
        self.client = ScriptedClient()
        self.cache: Cache[Thing] = Cache()
        self.target = Target(CONFIGMAPS, self.cache)
        self.pending = PendingWrites()
        self.telemetry = Telemetry()
        self.applier = Applier(
            self.client,
            US,
            self.pending,
            self.telemetry,
            fence=FixedFence(lease),
            parallel=parallel,
        )
        self.behalf = Behalf(OWNER, Owner("a", "", "Owner", "owner", "owner-uid"))
        self.cache.take(Restarted())
        self.cache.take(Synced("1"))

    def show(
        self,
        name: str,
        *,
        live: Mapping[str, object] | None = None,
        owner: ObservedOwnerReference | None = OURS,
        version: str = "10",
        going: bool = False,
    ) -> Thing:
        """Let the cache show an object to which we have applied `live`."""
        metadata = Metadata(
            name=name,
            namespace="a",
            uid=f"uid-{name}",
            resource_version=version,
            owner_references=(owner,) if owner else (),
            deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
        )
        prints = {(US, ""): fingerprint(live)} if live else {}
        value = applied(PartialObject)(PartialObject(metadata), prints)
        self.cache.take(Changed(value))
        return value

    async def apply(self, name: str, size: int = 1) -> Written:
        return await self.applier.apply(self.target, manifest(name, size), self.behalf)

    def only_write(self) -> Write:
        (write,) = self.client.writes
        return write


async def test_a_missing_object_is_created_and_nothing_else() -> None:
    bench = Bench()
    assert await bench.apply("x") is Written.CREATED
    write = bench.only_write()
    assert write.body["metadata"]["resourceVersion"] == CREATE_ONLY
    assert write.options == {"manager": US, "force": False, "subresource": None}


async def test_an_object_that_is_as_it_should_be_is_not_written() -> None:
    bench = Bench()
    bench.show("x", live=manifest("x"))
    assert await bench.apply("x") is Written.UNCHANGED
    assert bench.client.writes == []


async def test_a_change_is_applied_by_force_to_exactly_the_object_that_was_seen() -> None:
    bench = Bench()
    bench.show("x", live=manifest("x"))
    assert await bench.apply("x", size=2) is Written.APPLIED
    write = bench.only_write()
    assert write.body["metadata"] == {"namespace": "a", "name": "x", "uid": "uid-x"}
    assert write.options["force"] is True


async def test_what_the_server_rewrites_is_applied_once() -> None:
    bench = Bench()
    bench.client.stored = {"spec": {"size": "1000m"}}
    stored = {**manifest("x"), **bench.client.stored}
    bench.show("x", live=stored)
    assert await bench.apply("x") is Written.APPLIED
    bench.show("x", live=stored, version="2000")
    assert await bench.apply("x") is Written.UNCHANGED
    assert await bench.apply("x", size=5) is Written.APPLIED


async def test_what_the_server_answered_is_forgotten_with_the_object() -> None:
    bench = Bench()
    bench.client.stored = {"spec": {"size": "1000m"}}
    stored = {**manifest("x"), **bench.client.stored}
    gone = bench.show("x", live=stored)
    await bench.apply("x")
    bench.cache.take(Removed(gone))
    bench.show("x", live=stored, version="2000")
    # It knows no more what became of this manifest, so it sends it to be told again.
    assert await bench.apply("x") is Written.APPLIED


async def test_a_rewritten_object_that_somebody_touched_is_applied_again() -> None:
    bench = Bench()
    bench.client.stored = {"spec": {"size": "1000m"}}
    bench.show("x", live={**manifest("x"), **bench.client.stored})
    await bench.apply("x")
    bench.show("x", live={**manifest("x"), "spec": {"size": "7"}}, version="2000")
    assert await bench.apply("x") is Written.APPLIED


async def test_a_controller_that_knows_its_projection_decides_itself() -> None:
    bench = Bench()
    bench.show("x")
    target = Target(CONFIGMAPS, bench.cache, unchanged=lambda seen, wanted: True)
    assert await bench.applier.apply(target, manifest("x"), bench.behalf) is Written.UNCHANGED


@pytest.mark.parametrize("owner", [THEIRS, None])
async def test_an_object_of_a_foreign_owner_is_left_alone(
    owner: ObservedOwnerReference | None,
) -> None:
    bench = Bench()
    bench.show("x", owner=owner)
    with pytest.raises(NotOurs, match="a/x exists and is not controlled by a/owner"):
        await bench.apply("x")
    assert bench.client.writes == []


async def test_without_an_owner_nothing_is_forced() -> None:
    bench = Bench()
    bench.show("x", owner=None)
    await bench.applier.apply(bench.target, manifest("x"), Behalf(OWNER))
    assert bench.only_write().options["force"] is False


async def test_an_object_that_is_being_deleted_is_waited_for() -> None:
    bench = Bench()
    bench.show("x", going=True)
    with pytest.raises(WaitForEvent):
        await bench.apply("x")
    assert bench.client.writes == []


async def test_a_conflict_names_the_owners_of_the_fields() -> None:
    bench = Bench()
    bench.show("x")
    cause = StatusCause("FieldManagerConflict", 'conflict with "kubectl"', ".spec.size")
    bench.client.refuse = lambda write: refusal(409, "Conflict", cause)
    with pytest.raises(OwnershipConflict, match=r"\.spec\.size \(kubectl\)") as caught:
        await bench.apply("x")
    assert caught.value.owners == {".spec.size": "kubectl"}


async def test_a_stale_view_stays_a_conflict() -> None:
    bench = Bench()
    bench.client.refuse = lambda write: refusal(409, "Conflict")
    with pytest.raises(Conflict):
        await bench.apply("x")


async def test_a_name_that_was_reused_is_waited_for() -> None:
    bench = Bench()
    bench.show("x")
    cause = StatusCause("FieldValueInvalid", "field is immutable", "metadata.uid")
    bench.client.refuse = lambda write: refusal(422, "Invalid", cause)
    with pytest.raises(WaitForEvent, match="replaced by another"):
        await bench.apply("x")


async def test_the_key_waits_until_its_writes_are_visible() -> None:
    bench = Bench()
    await bench.apply("x")
    assert not bench.pending.is_settled(OWNER)
    bench.show("x", version=f"{bench.client.version}")
    assert bench.pending.is_settled(OWNER)


async def test_the_key_waits_until_its_deletions_are_visible() -> None:
    bench = Bench()
    gone = bench.show("x")
    await bench.applier.delete(bench.target, gone, bench.behalf)
    assert bench.only_write().options == deletion(None)
    assert not bench.pending.is_settled(OWNER)
    bench.cache.take(Removed(gone))
    assert bench.pending.is_settled(OWNER)


async def test_what_must_be_unchanged_is_deleted_by_its_version_or_tried_again() -> None:
    bench = Bench()
    shown = bench.show("x", version="7")
    await bench.applier.delete(bench.target, shown, bench.behalf, only_unchanged=True)
    assert bench.only_write().options == deletion("7")
    bench.client.refuse = lambda _: refusal(409, "Conflict")
    with pytest.raises(Retry, match="has changed"):
        await bench.applier.delete(bench.target, shown, bench.behalf, only_unchanged=True)


@pytest.mark.parametrize("code", [404, 409])
async def test_deleting_what_is_gone_is_fine(code: int) -> None:
    bench = Bench()
    gone = bench.show("x")
    bench.client.refuse = lambda write: refusal(code, "NotFound")
    assert await bench.applier.delete(bench.target, gone, bench.behalf) is Written.DELETED


async def test_the_status_goes_through_its_subresource() -> None:
    bench = Bench()
    bench.show("x")
    await bench.applier.apply_status(bench.target, manifest("x"), Behalf(OWNER))
    write = bench.only_write()
    assert (write.options["subresource"], write.options["force"]) == ("status", False)
    assert write.body["metadata"]["uid"] == "uid-x"


async def test_of_what_is_cached_without_fingerprints_none_is_worked_out() -> None:
    bench = Bench()
    seen = bench.show("x")
    plain: Cache[PartialObject] = Cache()
    plain.take(Changed(seen.object))
    await bench.applier.apply_status(Target(CONFIGMAPS, plain), manifest("x"), Behalf(OWNER))
    await bench.applier.apply_status(bench.target, manifest("x"), Behalf(OWNER))
    uncompared, compared = (write.into for write in bench.client.writes)
    assert uncompared is PartialObject
    assert issubclass(compared, Applied)


async def test_the_status_of_a_vanished_object_is_not_written() -> None:
    bench = Bench()
    with pytest.raises(WaitForEvent):
        await bench.applier.apply_status(bench.target, manifest("x"), bench.behalf)


async def test_a_plain_create_is_noted_like_any_write() -> None:
    bench = Bench()
    wanted = manifest("x")
    wanted["metadata"] = {"namespace": "a", "name": "x", "resourceVersion": "500"}
    made = await bench.applier.create(bench.target, wanted, bench.behalf, into=PartialObject)
    assert made is not None
    assert bench.client.sent("create") == ["x"]
    assert not bench.pending.is_settled(OWNER)
    bench.show("x", version="500")
    assert bench.pending.is_settled(OWNER)


async def test_a_patch_is_noted_like_any_write() -> None:
    bench = Bench()
    seen = bench.show("x")
    assert await bench.applier.patch(bench.target, seen, PATCH, bench.behalf) is Written.PATCHED
    assert not bench.pending.is_settled(OWNER)
    bench.show("x", version=f"{bench.client.version}")
    assert bench.pending.is_settled(OWNER)


async def test_creates_and_patches_respect_the_fence() -> None:
    bench = Bench(lease=0)
    with pytest.raises(Fenced):
        await bench.applier.create(bench.target, manifest("x"), bench.behalf, into=PartialObject)
    with pytest.raises(Fenced):
        await bench.applier.patch(bench.target, bench.show("x"), PATCH, bench.behalf)
    assert bench.client.writes == []


async def test_converging_applies_first_and_then_prunes_only_our_own() -> None:
    bench = Bench()
    observed = [
        bench.show("keep", live=manifest("keep")),
        bench.show("vanished"),
        bench.show("going", going=True),
        bench.show("stranger", owner=THEIRS),
    ]
    report = await bench.applier.converge(
        bench.target, [manifest("keep"), manifest("new")], observed, bench.behalf
    )
    assert [(write.verb, write.name) for write in bench.client.writes] == [
        ("apply", "new"),
        ("delete", "vanished"),
    ]
    assert report == {Written.UNCHANGED: 1, Written.CREATED: 1, Written.DELETED: 1}


async def test_nothing_is_pruned_when_an_apply_failed() -> None:
    bench = Bench()
    observed = [bench.show("vanished")]
    bench.client.refuse = lambda write: refusal(500, "InternalError")
    with pytest.raises(KubeError):
        await bench.applier.converge(bench.target, [manifest("new")], observed, bench.behalf)
    assert bench.client.sent("delete") == []


async def test_a_second_look_writes_nothing() -> None:
    bench = Bench()
    wanted = [manifest(f"{number}") for number in range(20)]
    await bench.applier.converge(bench.target, wanted, [], bench.behalf)
    for number, item in enumerate(wanted):
        bench.show(f"{number}", live=item, version=f"{bench.client.version}")
    bench.client.writes.clear()
    report = await bench.applier.converge(bench.target, wanted, list(bench.cache), bench.behalf)
    assert bench.client.writes == []
    assert report == {Written.UNCHANGED: 20}
    count = bench.telemetry.registry.get_sample_value(
        "apply_writes_total", {"controller": US, "resource": "configmaps", "result": "unchanged"}
    )
    assert count == 20


async def test_writes_start_slowly_and_stay_bounded() -> None:
    bench = Bench(parallel=8)
    bench.client.latency = 1
    await bench.applier.converge(
        bench.target, [manifest(f"{number}") for number in range(31)], [], bench.behalf
    )
    starts = [write.at for write in bench.client.writes]
    assert [starts.count(second) for second in range(6)] == [1, 2, 4, 8, 8, 8]
    assert bench.client.most_in_flight == 8


async def test_a_write_that_is_always_refused_is_not_tried_a_thousand_times() -> None:
    bench = Bench()
    bench.client.refuse = lambda write: refusal(403, "Forbidden")
    with pytest.raises(KubeError):
        await bench.applier.converge(
            bench.target, [manifest(f"{number}") for number in range(1000)], [], bench.behalf
        )
    assert len(bench.client.writes) == 1


async def test_after_the_lease_nothing_is_written() -> None:
    bench = Bench(lease=5)
    await asyncio.sleep(5)
    with pytest.raises(Fenced):
        await bench.apply("x")
    with pytest.raises(Fenced):
        await bench.applier.delete(bench.target, bench.show("y"), bench.behalf)
    assert bench.client.writes == []


async def test_a_write_that_outlasts_the_lease_is_cut_off() -> None:
    bench = Bench(lease=5)
    bench.client.latency = 60
    with pytest.raises(Fenced):
        await bench.apply("x")
    assert asyncio.get_running_loop().time() == 5
