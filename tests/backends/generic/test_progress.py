"""Steps of pods wake at once only if their gang may be something else now."""

import itertools

import msgspec
import pytest

from backend_controllers.generic.progress import Progress, Step
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod, PodCondition, PodSpec, PodStatus
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Removed
from tests.backends.generic.samples import gang, going, pod

REFUSED = PodCondition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")
GATED = PodCondition("PodScheduled", "False", "SchedulingGated", "gates")


class World:
    """Pods of a gang of two that change, and what each event was worth."""

    def __init__(self, *, known: bool = True) -> None:
        self._versions = itertools.count(10)
        self.pods: Cache[Pod] = Cache()
        self.gangs: Cache[PodGang] = Cache()
        self.progress = Progress(self.pods, self.gangs)
        self._step = Step.NOTHING
        self.pods.subscribe(self._note)
        if known:
            self.gangs.take(Changed(gang(("a", 2, 3))))

    def _note(self, old: Pod | None, new: Pod | None) -> None:
        is_news = self.progress.is_news(old, new)
        is_underway = self.progress.is_underway(old, new)
        assert not (is_news and is_underway)
        self._step = Step.NEWS if is_news else Step.UNDERWAY if is_underway else Step.NOTHING

    def show(self, value: Pod) -> Step:
        version = str(next(self._versions))
        metadata = msgspec.structs.replace(value.metadata, resource_version=version)
        self.pods.take(Changed(msgspec.structs.replace(value, metadata=metadata)))
        return self._step

    def remove(self, value: Pod) -> Step:
        self.pods.take(Removed(value))
        return self._step


def waiting(name: str, *conditions: PodCondition) -> Pod:
    return msgspec.structs.replace(
        pod(name), spec=PodSpec(), status=PodStatus(phase="Pending", conditions=conditions)
    )


def marked(value: Pod, **annotations: str) -> Pod:
    metadata = msgspec.structs.replace(value.metadata, annotations=annotations)
    return msgspec.structs.replace(value, metadata=metadata)


def test_a_gang_is_looked_at_when_the_last_of_its_pods_makes_the_step() -> None:
    world = World()
    steps = [world.show(waiting("a-0", GATED)), world.show(waiting("a-1", GATED))]
    assert steps == [Step.NOTHING, Step.NOTHING]
    assert world.show(pod("a-0")) is Step.UNDERWAY
    assert world.show(pod("a-1")) is Step.NEWS
    assert world.show(pod("a-0", ready=True)) is Step.UNDERWAY
    assert world.show(pod("a-1", ready=True)) is Step.NEWS


def test_pods_that_say_why_they_are_not_placed_are_news() -> None:
    world = World()
    world.show(waiting("a-0", GATED))
    assert world.show(waiting("a-0", REFUSED)) is Step.NEWS
    assert world.show(pod("a-0")) is Step.NEWS


@pytest.mark.parametrize(
    "change",
    [
        going(pod("a-0", ready=True)),
        pod("a-0", ready=False),
        pod("a-0", status=PodStatus(phase="Failed")),
        marked(pod("a-0", ready=True), group="other"),
    ],
    ids=["going", "not-ready", "failed", "note-changed"],
)
def test_steps_backward_are_news(change: Pod) -> None:
    world = World()
    world.show(marked(pod("a-0", ready=True), group="ours"))
    assert world.show(change) is Step.NEWS


def test_a_pod_that_vanishes_is_news_and_counts_no_more() -> None:
    world = World()
    world.show(pod("a-0"))
    assert world.remove(pod("a-0")) is Step.NEWS
    world.show(waiting("a-1"))
    assert world.show(pod("a-1")) is Step.UNDERWAY


def test_notes_that_are_added_are_looked_at_with_the_next_news() -> None:
    world = World()
    world.show(waiting("a-0"))
    assert world.show(marked(waiting("a-0"), note="x")) is Step.UNDERWAY


def test_being_told_again_that_a_pod_is_bound_is_nothing() -> None:
    world = World()
    bound = pod("a-0", ready=True)
    world.show(bound)
    conditions = (*bound.status.conditions, PodCondition("PodBound", "True", "Bound"))
    again = msgspec.structs.replace(bound.status, conditions=conditions)
    assert world.show(msgspec.structs.replace(bound, status=again)) is Step.NOTHING


def test_without_its_gang_every_step_is_news() -> None:
    world = World(known=False)
    world.show(waiting("a-0"))
    assert world.show(pod("a-0")) is Step.NEWS


def test_surplus_pods_never_make_a_gang_be_told_of_late() -> None:
    world = World()
    for name in ("a-0", "a-1", "a-2"):
        world.show(waiting(name))
    assert world.show(pod("a-2")) is Step.UNDERWAY
    assert world.show(pod("a-0")) is Step.NEWS
    assert world.show(pod("a-1")) is Step.NEWS


@pytest.mark.parametrize(
    ("placed", "after", "recounted"),
    [
        (True, gang(("a", 1, 3)), True),
        (True, gang(("a", 2, 2)), True),
        (True, gang(("a", 2, 3)), False),
        (False, gang(("a", 1, 3)), False),
    ],
    ids=["minimum", "references", "same", "nothing-placed"],
)
def test_a_gang_that_counts_otherwise_is_looked_at_once_pods_are_placed(
    placed: bool, after: PodGang, recounted: bool
) -> None:
    world = World()
    world.show(pod("a-0") if placed else waiting("a-0"))
    assert world.progress.is_recounted(_older(gang(("a", 2, 3))), after) is recounted


def test_a_status_is_no_recount() -> None:
    world = World()
    world.show(pod("a-0"))
    assert not world.progress.is_recounted(gang(("a", 2, 3)), gang(("a", 1, 3)))


def _older(value: PodGang) -> PodGang:
    metadata = msgspec.structs.replace(value.metadata, generation=1)
    return msgspec.structs.replace(value, metadata=metadata)
