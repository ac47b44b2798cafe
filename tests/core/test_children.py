"""Which child of a name counts for its owner, and which are waited for."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from core_operator.writes.child_writer import (
    ChildWriter,
    NamesTaken,
    RefusalReport,
    Wanted,
    own_child,
)
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey, ObservedOwnerReference
from shared_api.kube.resources import SERVICES
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner
from shared_api.runtime.watching.reflector import Changed
from tests.core.scene import Scene
from tests.runtime.writes import ScriptedClient

KEY = ObjectKey("n", "w-0-a")
SET = Owner("n", "grove.io", "PodCliqueSet", "w", "now")


def an_object(name: str, uid: str, owner: str | None = None) -> PartialObject:
    owners: tuple[ObservedOwnerReference, ...] = ()
    if owner is not None:
        reference = ObservedOwnerReference(
            "grove.io/v1alpha1", "PodCliqueSet", "w", owner, controller=True
        )
        owners = (reference,)
    return PartialObject(Metadata(name=name, namespace="n", uid=uid, owner_references=owners))


@pytest.mark.parametrize(
    ("owner", "counts"), [("now", True), ("before", False), (None, False)], ids=str
)
def test_a_child_of_a_former_set_of_the_same_name_lends_its_size_to_nobody(
    owner: str | None, counts: bool
) -> None:
    child = an_object(KEY.name, "c", owner)
    cache: Cache[PartialObject] = Cache()
    cache.take(Changed(child))
    found = own_child(cache, KEY, SET)
    assert found == (child if counts else None)


def test_what_does_not_exist_is_nobodys_child() -> None:
    empty: Cache[PartialObject] = Cache()
    assert own_child(empty, KEY, SET) is None


def wanted(cache: Cache[PartialObject]) -> Wanted[PartialObject]:
    owner = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "name": "w",
        "uid": "now",
        "controller": True,
    }
    metadata = {"name": KEY.name, "namespace": "n", "ownerReferences": [owner]}
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return Wanted(Target(SERVICES, cache), manifest)


async def settled(child: PartialObject, client: ScriptedClient, scene: Scene) -> None:
    """Have a set `w` of the UID `now` wish for a child whose name this object has."""
    cache: Cache[PartialObject] = Cache()
    cache.take(Changed(child))
    applier = Applier(client, "us", PendingWrites(), Telemetry())
    behalf = Behalf(ObjectKey("n", "w"), SET)
    report = RefusalReport(scene.set, scene.set)
    await ChildWriter(scene.context, applier).settle((wanted(cache),), (), report, behalf)


async def test_a_child_of_a_former_set_of_the_same_name_is_waited_for() -> None:
    client = ScriptedClient()
    with pytest.raises(WaitForEvent, match="Service w-0-a of the former owner is still there"):
        await settled(an_object(KEY.name, "c", "before"), client, Scene())
    assert client.writes == []


@pytest.mark.parametrize(("age", "is_told"), [(10, False), (31, True)], ids=["10s", "31s"])
async def test_a_child_that_is_being_deleted_for_too_long_is_reported_with_its_finalizers(
    age: int, is_told: bool
) -> None:
    scene = Scene()
    since = (scene.context.now() - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    child = an_object(KEY.name, "c", "before")
    going = replace(child.metadata, deletion_timestamp=since, finalizers=("example.com/x",))
    with pytest.raises(WaitForEvent) as raised:
        await settled(PartialObject(going), ScriptedClient(), scene)
    told = scene.context.problems.of(scene.set.metadata.uid or "")
    if not is_told:
        assert told is None
        assert raised.value.within == pytest.approx(20, abs=2)
        return
    assert told is not None
    assert told.stalled
    assert told.message == (
        f"Service w-0-a is being deleted since {since}, and its name is needed: its finalizers are"
        " not removed (example.com/x). See why the controllers that set them do not remove them. If"
        " they are not installed any more: kubectl -n n patch services w-0-a --type=merge"
        ' -p \'{"metadata":{"finalizers":null}}\''
    )


@pytest.mark.parametrize(
    "owners",
    [(), (ObservedOwnerReference("v1", "PodCliqueSet", "x", "x", controller=True),)],
    ids=["nobody", "another set"],
)
async def test_what_others_have_made_has_taken_the_name(
    owners: tuple[ObservedOwnerReference, ...],
) -> None:
    metadata = Metadata(name=KEY.name, namespace="n", uid="c", owner_references=owners)
    with pytest.raises(NamesTaken):
        await settled(PartialObject(metadata), ScriptedClient(), Scene())
