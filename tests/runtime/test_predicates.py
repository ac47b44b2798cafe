"""Which changes add a key to a queue, and how urgently."""

import pytest

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey, ObservedOwnerReference
from shared_api.kube.resources import Resource
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import (
    enqueue_changes,
    its_controller,
    its_label,
    itself,
)
from shared_api.runtime.watching.predicates import any_change, more_than_status, urgency
from shared_api.runtime.watching.reflector import Changed, Removed, Restarted, Synced


def thing(**metadata: object) -> PartialObject:
    fields: dict[str, object] = {
        "name": "x",
        "namespace": "a",
        "uid": "u1",
        "resource_version": "7",
        "generation": 3,
    }
    return PartialObject(Metadata(**{**fields, **metadata}))  # type: ignore[arg-type]


PODGANGS = Resource("scheduler.grove.io", "v1alpha1", "podgangs", "PodGang")


def owned_by(
    name: str, *, controller: bool = True, kind: str = "PodGang"
) -> ObservedOwnerReference:
    return ObservedOwnerReference(
        "scheduler.grove.io/v1alpha1", kind, name, f"uid-{name}", controller
    )


@pytest.mark.parametrize(
    ("change", "reconciles"),
    [
        ({"resource_version": "8"}, False),
        ({"generation": 4}, True),
        ({"labels": {"app": "x"}}, True),
        ({"annotations": {"note": "x"}}, True),
        ({"deletion_timestamp": "2026-01-01T00:00:00Z"}, True),
        ({"owner_references": (owned_by("g"),)}, True),
        ({"uid": "u2"}, True),
        ({"resource_version": "8", "finalizers": ("f",)}, False),
    ],
)
def test_a_status_update_alone_does_not_reconcile(
    change: dict[str, object], reconciles: bool
) -> None:
    assert more_than_status(thing(), thing(**change)) is reconciles


def test_creations_and_deletions_wake() -> None:
    assert more_than_status(None, thing())
    assert more_than_status(thing(), None)


def test_without_a_generation_every_update_reconciles() -> None:
    assert more_than_status(thing(generation=0), thing(generation=0, resource_version="8"))


def test_a_repeated_deletion_event_adds_no_key() -> None:
    going = thing(deletion_timestamp="2026-01-01T00:00:00Z")
    assert not more_than_status(going, thing(deletion_timestamp="2026-01-01T00:00:30Z"))


def test_any_change_is_any_change() -> None:
    assert any_change(thing(), thing())


@pytest.mark.parametrize(
    ("old", "new", "priority"),
    [
        (None, thing(), Priority.USER),
        (thing(), None, Priority.USER),
        (thing(), thing(generation=4), Priority.USER),
        (thing(), thing(deletion_timestamp="2026-01-01T00:00:00Z"), Priority.USER),
        (thing(), thing(resource_version="8"), Priority.EVENT),
        (thing(), thing(labels={"a": "b"}), Priority.EVENT),
    ],
)
def test_what_somebody_asked_for_is_urgent(
    old: PartialObject | None, new: PartialObject | None, priority: Priority
) -> None:
    assert urgency(old, new) is priority


class Scene:
    """A queue behind a cache."""

    def __init__(self) -> None:
        self.queue: Queue[ObjectKey] = Queue(lambda key: key.namespace)
        self.cache: Cache[PartialObject] = Cache()

    def sync(self, *values: PartialObject) -> None:
        self.cache.take(Restarted())
        for value in values:
            self.cache.take(Changed(value))
        self.cache.take(Synced("100"))

    def taken(self) -> list[str]:
        names = []
        while (key := self.queue.take()) is not None:
            names.append(str(key))
            self.queue.done(key)
        return names


def test_what_comes_while_the_cache_fills_is_not_urgent() -> None:
    scene = Scene()
    enqueue_changes(scene.queue, scene.cache, itself)
    scene.sync(thing(name="old"))
    assert scene.queue.depth() == {Priority.RESYNC: 1}
    scene.cache.take(Changed(thing(name="new", uid="u2", resource_version="101")))
    assert scene.taken() == ["a/new", "a/old"]


def test_an_object_that_changes_its_owner_reconciles_both_owners() -> None:
    scene = Scene()
    enqueue_changes(scene.queue, scene.cache, its_controller(PODGANGS))
    scene.sync(thing(owner_references=(owned_by("first"),)))
    scene.taken()
    scene.cache.take(Changed(thing(resource_version="101", owner_references=(owned_by("second"),))))
    assert scene.taken() == ["a/first", "a/second"]


def test_owners_of_another_kind_are_left_alone() -> None:
    scene = Scene()
    enqueue_changes(scene.queue, scene.cache, its_controller(PODGANGS))
    scene.sync(
        thing(owner_references=(owned_by("x", kind="Job"),)),
        thing(
            name="z",
            uid="u3",
            owner_references=(ObservedOwnerReference("v1", "PodGang", "z", "u", True),),
        ),
        thing(name="y", uid="u2", owner_references=(owned_by("y", controller=False),)),
    )
    assert scene.taken() == []


def test_a_removal_wakes_the_object_that_a_label_names() -> None:
    scene = Scene()
    enqueue_changes(scene.queue, scene.cache, its_label("gang"))
    scene.sync(thing(labels={"gang": "g"}))
    scene.taken()
    scene.cache.take(Removed(thing(labels={"gang": "g"}, resource_version="101")))
    assert scene.taken() == ["a/g"]


def test_an_update_of_the_status_alone_is_not_fed() -> None:
    scene = Scene()
    enqueue_changes(scene.queue, scene.cache, itself, when=more_than_status)
    scene.sync(thing())
    scene.taken()
    scene.cache.take(Changed(thing(resource_version="101")))
    assert scene.taken() == []
    scene.cache.take(Changed(thing(resource_version="102", generation=4)))
    assert scene.taken() == ["a/x"]


def test_with_a_delay_a_burst_is_one_wake_up() -> None:
    now = 0.0
    scene = Scene()
    scene.queue = Queue(lambda key: key.namespace, clock=Clock(monotonic=lambda: now))
    enqueue_changes(scene.queue, scene.cache, its_label("gang"), delay=5)
    scene.sync()
    for number in range(10):
        now = float(number)
        name, version = f"p{number}", f"{101 + number}"
        pod = thing(name=name, uid=name, resource_version=version, labels={"gang": "g"})
        scene.cache.take(Changed(pod))
        if number < 5:
            assert scene.taken() == []
    assert scene.taken() == ["a/g"]
    assert scene.queue.waiting() == 0
