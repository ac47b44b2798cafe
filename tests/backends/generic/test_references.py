"""References to pods that are held are followed without another translation, and nothing else is."""

import itertools
from typing import Any

import msgspec
import pytest

from backend_controllers.generic.caches import GANG, Caches, by_gang
from backend_controllers.generic.gang_results import Board, Programming, Stage
from backend_controllers.generic.references import References
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod, PodSpec, SchedulingGate
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed
from tests.backends.generic.samples import gang, pod

replace = msgspec.structs.replace
HELD = PodSpec(scheduling_gates=(SchedulingGate("g"),))
BARE = gang(("a", 2, 0))
REFERRING = gang(("a", 2, 2))


class World:
    """A gang that changes, and whether that is a reason to translate."""

    def __init__(self, *, heeds_held_pods: bool = False) -> None:
        self._versions = itertools.count(1)
        pods: Cache[Pod] = Cache({GANG: by_gang})
        self.caches = Caches(Cache(), pods)
        self.board = Board()
        self._references = References(self.caches, self.board, heeds_held_pods=heeds_held_pods)
        self._is_news = False
        self.caches.gangs.subscribe(self._note)

    def _note(self, old: PodGang | None, new: PodGang | None) -> None:
        self._is_news = self._references.is_news(old, new)

    def show(self, value: PodGang, **metadata: Any) -> bool:
        version = next(self._versions)
        stamped = {"resource_version": str(version), "generation": version, **metadata}
        self.caches.gangs.take(Changed(replace(value, metadata=replace(value.metadata, **stamped))))
        return self._is_news

    def program(self, generation: int = 1, stage: Stage = Stage.PROGRAMMED) -> None:
        self.board.post(BARE, Programming(stage, generation=generation))

    def hold(self, *names: str, spec: PodSpec = HELD) -> None:
        for name in names:
            self.caches.pods.take(Changed(pod(name, spec=spec)))

    def generation(self) -> int:
        posted = self.board.get("gang")
        assert posted is not None
        return posted.generation


def programmed() -> World:
    world = World()
    assert world.show(BARE)
    world.program()
    world.hold("a-0", "a-1")
    return world


def test_references_to_held_members_are_followed_and_not_translated() -> None:
    world = programmed()
    assert not world.show(REFERRING)
    assert world.generation() == 2


def test_a_dialect_that_heeds_held_pods_is_asked_again() -> None:
    world = World(heeds_held_pods=True)
    world.show(BARE)
    world.program()
    assert world.show(REFERRING)
    assert world.generation() == 1


def test_a_status_alone_is_no_news() -> None:
    world = programmed()
    assert not world.show(gang(("a", 2, 0), status={}), generation=1)
    assert world.generation() == 1


@pytest.mark.parametrize(
    ("changed", "metadata"),
    [
        (gang(("a", 3, 2)), {}),
        (gang(("a", 2, 2), ("b", 1, 0)), {}),
        (gang(("a", 2, 3)), {}),
        (replace(REFERRING, spec=replace(REFERRING.spec, priority_class_name="high")), {}),
        (REFERRING, {"labels": {"q": "other"}}),
        (REFERRING, {"annotations": {"q": "other"}}),
        (REFERRING, {"uid": "another"}),
        (REFERRING, {"deletion_timestamp": "now"}),
    ],
    ids=["minimum", "group", "surplus", "priority", "labels", "annotations", "identity", "end"],
)
def test_whatever_else_changes_is_translated(changed: PodGang, metadata: dict[str, Any]) -> None:
    world = programmed()
    assert world.show(changed, **metadata)
    assert world.generation() == 1


def test_a_pod_that_is_free_already_has_its_gang_translated() -> None:
    world = programmed()
    world.hold("a-2", spec=PodSpec())
    assert world.show(REFERRING)


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.PROGRAMMED])
def test_a_gang_that_is_not_programmed_is_translated(stage: Stage) -> None:
    world = World()
    world.show(BARE)
    world.program(stage=stage)
    assert world.show(REFERRING)


def test_a_gang_whose_last_change_was_not_written_yet_is_translated() -> None:
    world = programmed()
    world.show(gang(("a", 1, 0)))
    assert world.show(gang(("a", 1, 1)))
    assert world.generation() == 1


def test_work_that_began_before_does_not_take_the_generation_back() -> None:
    world = programmed()
    world.show(REFERRING)
    world.program(generation=1, stage=Stage.OUTDATED)
    assert world.generation() == 2
