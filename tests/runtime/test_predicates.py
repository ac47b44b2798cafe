"""Which changes wake a controller, and how urgently."""

import pytest

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey, ObservedOwnerReference
from shared_api.kube.resources import Resource
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import feed, its_controller, its_label, itself
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
    ("change", "wakes"),
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
def test_a_status_update_alone_does_not_wake(change: dict[str, object], wakes: bool) -> None:
    assert more_than_status(thing(), thing(**change)) is wakes


def test_creations_and_deletions_wake() -> None:
    assert more_than_status(None, thing())
    assert more_than_status(thing(), None)


def test_without_a_generation_every_update_wakes() -> None:
    assert more_than_status(thing(generation=0), thing(generation=0, resource_version="8"))


def test_a_second_look_at_a_deletion_is_no_news() -> None:
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


class Fed:
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
    fed = Fed()
    feed(fed.queue, fed.cache, itself)
    fed.sync(thing(name="old"))
    assert fed.queue.depth() == {Priority.RESYNC: 1}
    fed.cache.take(Changed(thing(name="new", uid="u2", resource_version="101")))
    assert fed.taken() == ["a/new", "a/old"]


def test_an_object_that_changes_hands_wakes_both_owners() -> None:
    fed = Fed()
    feed(fed.queue, fed.cache, its_controller(PODGANGS))
    fed.sync(thing(owner_references=(owned_by("first"),)))
    fed.taken()
    fed.cache.take(Changed(thing(resource_version="101", owner_references=(owned_by("second"),))))
    assert fed.taken() == ["a/first", "a/second"]


def test_owners_of_another_kind_are_left_alone() -> None:
    fed = Fed()
    feed(fed.queue, fed.cache, its_controller(PODGANGS))
    fed.sync(
        thing(owner_references=(owned_by("x", kind="Job"),)),
        thing(
            name="z",
            uid="u3",
            owner_references=(ObservedOwnerReference("v1", "PodGang", "z", "u", True),),
        ),
        thing(name="y", uid="u2", owner_references=(owned_by("y", controller=False),)),
    )
    assert fed.taken() == []


def test_a_removal_wakes_the_object_that_a_label_names() -> None:
    fed = Fed()
    feed(fed.queue, fed.cache, its_label("gang"))
    fed.sync(thing(labels={"gang": "g"}))
    fed.taken()
    fed.cache.take(Removed(thing(labels={"gang": "g"}, resource_version="101")))
    assert fed.taken() == ["a/g"]


def test_an_update_of_the_status_alone_is_not_fed() -> None:
    fed = Fed()
    feed(fed.queue, fed.cache, itself, when=more_than_status)
    fed.sync(thing())
    fed.taken()
    fed.cache.take(Changed(thing(resource_version="101")))
    assert fed.taken() == []
    fed.cache.take(Changed(thing(resource_version="102", generation=4)))
    assert fed.taken() == ["a/x"]


def test_with_a_delay_a_burst_is_one_wake_up() -> None:
    now = 0.0
    fed = Fed()
    fed.queue = Queue(lambda key: key.namespace, clock=Clock(monotonic=lambda: now))
    feed(fed.queue, fed.cache, its_label("gang"), delay=5)
    fed.sync()
    for number in range(10):
        now = float(number)
        name, version = f"p{number}", f"{101 + number}"
        pod = thing(name=name, uid=name, resource_version=version, labels={"gang": "g"})
        fed.cache.take(Changed(pod))
        if number < 5:
            assert fed.taken() == []
    assert fed.taken() == ["a/g"]
    assert fed.queue.waiting() == 0
