"""Which changes reconcile a status soon, which later, and which not at all."""

from functools import partial

import pytest

from core_operator.watches.tables import WatchTables
from shared_api.kube.metadata import ObjectKey
from tests.core.scene import Scene
from tests.plan.pod_samples import BOUND, CLIQUE, GATED, READY
from tests.plan.samples import NAMESPACE

pytestmark = pytest.mark.usefixtures("handler_order")

KEY = ObjectKey(NAMESPACE, CLIQUE)
SOON, PROGRESS = 0.2, 1.0


class Stage(Scene):
    """The scene with the queues of statuses; the PodClique has been told of."""

    def __init__(self) -> None:
        super().__init__()
        self.postponed = self.context.progress_debouncer()
        tables = WatchTables(self.context)
        self.cliques = self.queue_of(partial(tables.podclique_status, postponed=self.postponed))
        self.has_clique()
        self.has_pod(0, GATED)
        self.has_pod(1, GATED)
        assert self.due_after(10 * PROGRESS)

    def due_after(self, seconds: float) -> bool:
        """Tell whether the PodClique is due to be told of then."""
        self.time += seconds
        if (key := self.cliques.take()) is not None:
            assert key == KEY
            self.cliques.done(key)
        return key is not None


def test_the_pod_that_makes_a_podclique_ready_is_told_soon() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    stage.has_pod(1, READY)
    assert stage.due_after(1.5 * SOON)


def test_a_pod_that_is_ready_before_the_others_is_mere_progress() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    assert not stage.due_after(1.5 * SOON)
    assert stage.due_after(1.5 * PROGRESS)


def test_a_pod_that_serves_no_longer_is_told_soon() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    stage.has_pod(1, READY)
    assert stage.due_after(1.5 * SOON)
    stage.has_pod(0, BOUND)
    assert stage.due_after(1.5 * SOON)
    stage.loses(stage.pod(1, READY))
    assert stage.due_after(1.5 * SOON)


def test_a_pod_on_its_way_is_mere_progress() -> None:
    stage = Stage()
    stage.has_pod(0, BOUND)
    assert not stage.due_after(1.5 * SOON)
    assert stage.due_after(1.5 * PROGRESS)


def test_progress_of_one_that_was_put_off_wakes_nobody_and_readiness_does() -> None:
    stage = Stage()
    assert stage.postponed.remaining(KEY) > 0
    stage.has_pod(0, READY)
    assert not stage.due_after(60.0)
    stage.has_pod(1, READY)
    assert stage.due_after(1.5 * SOON)


def test_those_on_their_way_wait_together_and_from_when_each_was_seen() -> None:
    stage = Stage()
    others = [ObjectKey(NAMESPACE, f"other-{number}") for number in range(9)]
    assert stage.postponed.remaining(KEY, ago=PROGRESS) == pytest.approx(
        stage.postponed.delay(1) - PROGRESS
    )
    for other in others:
        stage.postponed.remaining(other)
    stage.time += 0.5
    assert stage.postponed.remaining(KEY) == pytest.approx(
        stage.postponed.delay(10) - PROGRESS - 0.5
    )
    for other in others:
        stage.postponed.done(other)
    assert stage.postponed.remaining(KEY) < 0


def test_progress_of_many_is_reported_later_but_never_too_late() -> None:
    delay = Scene().context.progress_debouncer().delay
    assert delay(0) == PROGRESS
    assert delay(1) < delay(100) < delay(200)
    assert delay(10_000) == 30.0
