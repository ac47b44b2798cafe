"""A pod that is taken again and again is replaced later and later, and others are not."""

from dataclasses import fields
from datetime import datetime, timedelta
from itertools import count

import msgspec
import pytest

from core_operator.metrics import CoreMetrics
from core_operator.state.caches import CoreCaches
from core_operator.state.pod_losses import PodLosses
from shared_api.kube.pods import Pod, PodCondition
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.leading.fence import Unfenced
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Removed
from tests.plan.pod_samples import GATED, NOW, READY, pod, podclique

PREEMPTED = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler", "for high")


class World:
    """Pods of one PodClique that come and go, by a clock that the test moves."""

    def __init__(self) -> None:
        self.time = 0.0
        self.clique = podclique(replicas=2)
        self._caches = CoreCaches(*(Cache() for one in fields(CoreCaches) if not one.kw_only))
        self._numbers = count(1)
        clock = Clock(lambda: self.time, utc=self._utc)
        metrics = CoreMetrics(Telemetry())
        self.lost = PodLosses(self._caches, metrics, clock, Unfenced(), lambda *_: None)
        self._known = applied(type(self.clique))(self.clique, {})
        self._caches.cliques.take(Changed(self._known))

    def loses(self, index: int = 0, mark: PodCondition | None = PREEMPTED) -> None:
        """A pod of this index comes, and is taken."""
        here = self._comes(index)
        conditions = here.status.conditions if mark is None else (mark,)
        status = msgspec.structs.replace(here.status, conditions=conditions)
        metadata = msgspec.structs.replace(here.metadata, deletion_timestamp="2026-03-01T12:00:00Z")
        gone = msgspec.structs.replace(here, status=status, metadata=metadata)
        self._shows(gone)
        self._caches.pods.take(Removed(gone))

    def ends(self, phase: str) -> None:
        """A pod comes, and ends by itself."""
        here = self._comes(0)
        status = msgspec.structs.replace(here.status, phase=phase)
        self._shows(msgspec.structs.replace(here, status=status))

    def gives_back(self) -> None:
        """A gated pod comes, and is gone at once: it has no node that would have to be told."""
        here = self._shows(pod(0, GATED, name=f"p-{next(self._numbers)}"))
        self._caches.pods.take(Removed(here))

    def forgets(self) -> None:
        """The PodClique goes."""
        self._caches.cliques.take(Removed(self._known))

    def left(self, *indexes: int) -> dict[int, float]:
        return {
            at: losses.due - self.time
            for at, losses in self.lost.waiting(self.clique, indexes).items()
        }

    def _comes(self, index: int) -> Pod:
        return self._shows(pod(index, READY, name=f"p-{next(self._numbers)}"))

    def _shows(self, value: Pod) -> Pod:
        version = str(next(self._numbers))
        metadata = msgspec.structs.replace(value.metadata, resource_version=version)
        self._caches.pods.take(Changed(msgspec.structs.replace(value, metadata=metadata)))
        return value

    def _utc(self) -> datetime:
        return NOW + timedelta(seconds=self.time)


def test_the_first_replacement_comes_at_once_and_each_further_one_waits_twice_as_long() -> None:
    world = World()
    waits = []
    for _ in range(9):
        world.loses()
        waits.append(world.left(0).get(0, 0.0))
        world.time += waits[-1]
        assert world.left(0) == {}
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_pods_of_other_indexes_do_not_wait() -> None:
    world = World()
    for _ in range(3):
        world.loses(0)
    world.loses(1)
    assert world.left(0, 1) == {0: 2.0}


def test_a_pod_that_somebody_deletes_does_not_wait() -> None:
    world = World()
    for _ in range(5):
        world.loses(mark=None)
    assert world.left(0) == {}


def test_a_gated_pod_that_is_gone_does_not_wait() -> None:
    world = World()
    for _ in range(5):
        world.gives_back()
    assert world.left(0) == {}


def test_what_was_long_ago_does_not_count() -> None:
    world = World()
    for _ in range(3):
        world.loses()
    world.time += 700
    world.loses()
    assert world.left(0) == {}


def test_losses_go_with_their_podclique() -> None:
    world = World()
    for _ in range(3):
        world.loses()
    world.forgets()
    assert world.left(0) == {}


def test_the_wait_is_reported_with_its_cause_and_its_end() -> None:
    world = World()
    for _ in range(3):
        world.loses()
    told = world.lost.waiting(world.clique, [0])[0].message(0)
    assert told == (
        "pod 0 was lost 3 times lately, last Preempted (PreemptionByScheduler: for high);"
        " replaced at 2026-03-01T12:00:02Z"
    )


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ends_counts_as_lost(phase: str) -> None:
    world = World()
    world.ends(phase)
    world.ends(phase)
    assert world.left(0) == {0: 1.0}
