"""A controller is built from a table, and every row of it adds keys."""

from collections.abc import Iterable

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey, ObservedOwnerReference
from shared_api.kube.resources import CONFIGMAPS
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.reconciling.builder import Builder, Runtime
from shared_api.runtime.reconciling.controller import Controller
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.event_handlers import its_label
from shared_api.runtime.watching.predicates import more_than_status
from shared_api.runtime.watching.reflector import Changed, Restarted, Synced, Undecoded
from tests.runtime.writes import ScriptedClient


class Nothing:
    """A reconciler, with the keys that it would begin with."""

    def __init__(self, applier: Applier) -> None:
        self.applier = applier

    async def reconcile(self, key: ObjectKey) -> None:
        del key

    def interrupted(self) -> Iterable[ObjectKey]:
        return [ObjectKey("a", "half-done")]


class Stage:
    """Two caches and a channel, and the keys that a controller is given."""

    def __init__(self) -> None:
        self.owners: Cache[PartialObject] = Cache(name="owners")
        self.children: Cache[PartialObject] = Cache(name="children")
        self.freed: Channel[str] = Channel("quota freed")
        runtime = Runtime(ScriptedClient(), Telemetry(), "us")
        self.builder = Builder("toy", runtime).options(workers=1, deadline=5.0)
        for cache in (self.owners, self.children):
            cache.take(Restarted())
            cache.take(Synced("100"))

    def taken(self, controller: Controller) -> list[tuple[str, int]]:
        found = []
        controller.queue.reopen()
        while (key := controller.queue.take()) is not None:
            found.append((str(key), controller.queue._processing[key].priority))
            controller.queue.done(key)
        return found


def thing(name: str, version: str = "101", **more: object) -> PartialObject:
    values = {"namespace": "a", "uid": f"uid-{name}", "resource_version": version, **more}
    return PartialObject(Metadata(name=name, **values))  # type: ignore[arg-type]


def test_every_relation_adds_its_keys() -> None:
    stage = Stage()
    controller = (
        stage.builder.for_(stage.owners, when=more_than_status)
        .owns(stage.children, CONFIGMAPS)
        .watches(stage.children, its_label("friend"), priority=Priority.RESYNC)
        .receives(stage.freed, lambda name: [ObjectKey("a", name)], priority=Priority.USER)
        .build(Nothing)
    )
    stage.owners.take(Changed(thing("o")))
    owner = ObservedOwnerReference("v1", "ConfigMap", "owner", "uid-o", controller=True)
    stage.children.take(Changed(thing("c", owner_references=(owner,))))
    stage.children.take(Changed(thing("d", labels={"friend": "f"})))
    stage.freed.send("waiting")
    assert sorted(stage.taken(controller)) == [
        ("a/f", Priority.RESYNC),
        ("a/o", Priority.USER),
        ("a/owner", Priority.USER),
        ("a/waiting", Priority.USER),
    ]


def test_an_unreadable_object_adds_its_key_and_an_own_status_write_does_not() -> None:
    stage = Stage()
    controller = (
        stage.builder.watches_overwritten(stage.owners, lambda old, new: True)
        .watches_unreadable(stage.children)
        .build(Nothing)
    )
    stage.owners.take(Changed(thing("o")))
    stage.owners.own_writes.begin("uid-o")
    stage.owners.own_writes.end("uid-o", "102", "101")
    stage.owners.take(Changed(thing("o", "102")))
    stage.children.take(Undecoded(Unreadable(thing("c").metadata, "no")))
    assert stage.taken(controller) == [("a/c", Priority.EVENT)]
    stage.owners.take(Changed(thing("o", "103")))
    assert stage.taken(controller) == [("a/o", Priority.EVENT)]


def test_a_delay_may_depend_on_how_many_keys_wait() -> None:
    stage = Stage()
    controller = stage.builder.for_(stage.owners, delay=lambda waiting: 60.0 * waiting).build(
        Nothing
    )
    stage.owners.take(Changed(thing("first")))
    stage.owners.take(Changed(thing("second")))
    assert stage.taken(controller) == [("a/first", Priority.USER)]
    assert controller.queue.waiting() == 1


def test_the_delay_of_an_event_may_depend_on_it() -> None:
    stage = Stage()
    controller = stage.builder.receives(
        stage.freed, lambda name: [ObjectKey("a", name)], delay=float
    ).build(Nothing)
    stage.freed.send("0")
    stage.freed.send("60")
    assert stage.taken(controller) == [("a/0", Priority.EVENT)]
    assert controller.queue.waiting() == 1


def test_the_table_stays_readable_on_the_controller() -> None:
    stage = Stage()
    builder = stage.builder.for_(stage.owners, when=more_than_status)
    controller = builder.receives(stage.freed, lambda _: []).build(Nothing)
    assert [(row.relation, row.source) for row in controller.watches] == [
        ("for", "owners"),
        ("receives", "quota freed"),
    ]
    assert controller.watches[0].when is more_than_status


def test_keys_exist_while_their_objects_are_cached_and_work_begins_with_the_first() -> None:
    stage = Stage()
    builder = stage.builder.for_(stage.owners)
    controller = builder.build(Nothing, first=lambda reconciler: reconciler.interrupted())
    stage.owners.take(Changed(thing("o")))
    options = controller._options
    assert options.exists(ObjectKey("a", "o"))
    assert not options.exists(ObjectKey("a", "gone"))
    assert list(options.first()) == [ObjectKey("a", "half-done")]
    assert (options.workers, options.deadline) == (1, 5.0)
