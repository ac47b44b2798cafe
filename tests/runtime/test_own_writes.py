"""Whose write an event shows, whatever comes first: the answer or the event."""

import pytest

from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import enqueue_overwritten
from shared_api.runtime.watching.reflector import Changed, Removed


class Scene:
    """A cache with one object, and the queue of the controller that writes its status."""

    def __init__(self) -> None:
        self.cache: Cache[LooseObject] = Cache()
        self.queue: Queue[ObjectKey] = Queue(lambda key: key.namespace)
        enqueue_overwritten(self.queue, self.cache, _differ)
        self.show(1)

    def show(self, version: int, *, status: int | None = None) -> None:
        """An event; each version has another status unless told."""
        metadata = Metadata(name="x", namespace="n", uid="u", resource_version=str(version))
        self.cache.take(Changed(LooseObject(metadata, {}, {"n": status or version})))

    def send(self) -> None:
        self.cache.own_writes.begin("u")

    def answer(self, version: int | None) -> None:
        shown = self.cache.get_by_uid("u")
        self.cache.own_writes.end(
            "u",
            None if version is None else str(version),
            None if shown is None else shown.metadata.resource_version,
        )

    @property
    def is_woken(self) -> bool:
        if (key := self.queue.take()) is not None:
            self.queue.done(key)
        return key is not None


def _differ(old: LooseObject | None, new: LooseObject | None) -> bool:
    return old is not None and new is not None and old.status != new.status


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_own_write_wakes_nobody_whether_its_event_or_its_answer_is_first(scene: Scene) -> None:
    scene.send()
    scene.show(2)
    scene.answer(2)
    scene.send()
    scene.answer(3)
    scene.show(3)
    assert not scene.is_woken
    assert not len(scene.cache.own_writes)


def test_a_foreign_write_wakes_the_writer(scene: Scene) -> None:
    scene.show(2)
    assert scene.is_woken
    scene.send()
    scene.answer(3)
    scene.show(3)
    scene.show(4)
    assert scene.is_woken


def test_a_foreign_write_during_an_own_one_is_noticed_once_the_answer_is_there(
    scene: Scene,
) -> None:
    scene.send()
    scene.show(2)
    scene.show(3)
    assert not scene.is_woken
    scene.answer(2)
    assert scene.is_woken


def test_a_foreign_write_before_the_event_of_an_own_one_is_noticed(scene: Scene) -> None:
    scene.send()
    scene.answer(3)
    scene.show(2)
    assert scene.is_woken
    scene.show(3)
    assert not scene.is_woken


def test_what_was_shown_during_a_write_that_failed_is_looked_at(scene: Scene) -> None:
    scene.send()
    scene.show(2)
    scene.answer(None)
    assert scene.is_woken


def test_of_two_own_writes_at_once_both_are_own(scene: Scene) -> None:
    scene.send()
    scene.send()
    scene.show(2)
    scene.answer(3)
    scene.answer(2)
    scene.show(3)
    assert not scene.is_woken


def test_a_foreign_write_that_leaves_the_status_alone_wakes_nobody(scene: Scene) -> None:
    scene.show(2, status=1)
    assert not scene.is_woken


def test_nothing_is_kept_of_writes_that_no_event_will_show(scene: Scene) -> None:
    scene.send()
    scene.answer(1)
    assert not len(scene.cache.own_writes), "a write that changed nothing"
    scene.send()
    scene.answer(2)
    scene.show(5)
    assert not len(scene.cache.own_writes), "a version that a new list skipped"
    scene.send()
    held = scene.cache.get_by_uid("u")
    assert held is not None
    scene.cache.take(Removed(held))
    scene.answer(6)
    assert not len(scene.cache.own_writes), "an object that is gone"
