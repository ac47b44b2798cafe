"""Whom a result is sent to, and which changes of a gang need another translation."""

import itertools
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.declaration import Dialect, Served
from backend_controllers.generic.assembly import assemble
from backend_controllers.generic.caches import GANG, BackendCaches, by_gang
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.gang_results import GangResult, GangResults, GangStage
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.generic.predicates import gang_needs_translation
from backend_controllers.settings import BackendSettings
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import PodSpec, SchedulingGate
from shared_api.runtime.manager import Manager
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed
from tests.backends.generic.flocks import Birds
from tests.backends.generic.samples import NAMESPACE, gang, pod
from tests.runtime.writes import ScriptedClient

replace = msgspec.structs.replace
GATED = PodSpec(scheduling_gates=(SchedulingGate("g"),))
BARE = gang(("a", 2, 0))
REFERRING = gang(("a", 2, 2))


def dialect_of(birds: Birds, **changes: Any) -> Dialect:
    served = Served(frozenset({(birds.kind.group, birds.kind.version, birds.kind.plural)}))
    found = birds.backend.detect(served, birds.backend.options())
    assert isinstance(found, Dialect)
    return Dialect(**{name: getattr(found, name) for name in found.__slots__} | changes)


class World:
    """A gang that changes, and whether that is a reason to translate it."""

    def __init__(self, *, heeds_gated_pods: bool = False) -> None:
        self._versions = itertools.count(1)
        self.caches = BackendCaches(Cache(), Cache({GANG: by_gang}))
        self.results = GangResults()
        dialect = dialect_of(Birds(), heeds_gated_pods=heeds_gated_pods)
        self._needs_translation = gang_needs_translation(dialect, self.caches, self.results)
        self._is_needed = False
        self.caches.gangs.subscribe(self._judge)

    def _judge(self, old: ObservedPodGang | None, new: ObservedPodGang | None) -> None:
        self._is_needed = self._needs_translation(old, new)
        assert self._needs_translation(old, new) is self._is_needed

    def show(self, value: ObservedPodGang, **metadata: Any) -> bool:
        version = next(self._versions)
        stamped = {"resource_version": str(version), "generation": version, **metadata}
        self.caches.gangs.take(Changed(replace(value, metadata=replace(value.metadata, **stamped))))
        return self._is_needed

    def program(self, stage: GangStage = GangStage.PROGRAMMED) -> None:
        translated = self.caches.gangs.get(BARE.metadata.key)
        assert translated is not None
        generation = translated.metadata.generation
        self.results.post(BARE, GangResult(stage, generation=generation, gang=translated))

    def create(self, *names: str, spec: PodSpec = GATED) -> None:
        for name in names:
            self.caches.pods.take(Changed(pod(name, spec=spec)))

    def covers(self) -> bool:
        result, shown = self.results.get("gang"), self.caches.gangs.get(BARE.metadata.key)
        assert result is not None
        assert shown is not None
        return result.covers(shown)


def programmed() -> World:
    world = World()
    assert world.show(BARE)
    world.program()
    world.create("a-0", "a-1")
    return world


def test_references_to_gated_members_need_no_translation() -> None:
    world = programmed()
    assert not world.show(REFERRING)
    assert world.covers()


def test_a_dialect_that_heeds_gated_pods_is_asked_again() -> None:
    world = World(heeds_gated_pods=True)
    world.show(BARE)
    world.program()
    assert world.show(REFERRING)


def test_a_status_alone_needs_no_translation() -> None:
    assert not programmed().show(gang(("a", 2, 0), status={}), generation=1)


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
def test_every_other_change_is_translated(
    changed: ObservedPodGang, metadata: dict[str, Any]
) -> None:
    world = programmed()
    assert world.show(changed, **metadata)
    assert not world.covers()


def test_an_ungated_pod_has_its_gang_translated() -> None:
    world = programmed()
    world.create("a-2", spec=PodSpec())
    assert world.show(REFERRING)


@pytest.mark.parametrize(
    "stage", [stage for stage in GangStage if stage is not GangStage.PROGRAMMED]
)
def test_a_gang_that_is_not_programmed_is_translated(stage: GangStage) -> None:
    world = World()
    world.show(BARE)
    world.program(stage)
    assert world.show(REFERRING)
    assert not world.covers()


def test_a_gang_whose_last_change_was_not_written_yet_is_translated() -> None:
    world = programmed()
    world.show(gang(("a", 1, 0)))
    assert world.show(gang(("a", 2, 1)))


@pytest.mark.parametrize(
    ("changes", "sent"),
    [({}, False), ({"generation": 2}, True), ({"stage": GangStage.REPLACING}, True)],
    ids=["nothing", "generation", "stage"],
)
def test_only_another_result_is_sent(changes: dict[str, Any], sent: bool) -> None:
    results, received = GangResults(), list[ObservedPodGang]()
    results.post(BARE, GangResult(GangStage.PROGRAMMED, generation=1))
    results.changed.subscribe(received.append)
    results.post(BARE, GangResult(**{"stage": GangStage.PROGRAMMED, "generation": 1, **changes}))
    assert received == ([BARE] if sent else [])
    results.forget("gang")
    assert results.get("gang") is None


def test_the_status_of_a_programmed_gang_is_written_before_those_of_events() -> None:
    birds, telemetry = Birds(), Telemetry()
    client = ScriptedClient()
    manager, dialect = Manager(client, telemetry), dialect_of(birds)
    metrics = BackendMetrics(telemetry, birds.name)
    context = BackendContext(birds.backend, BackendSettings(), client, telemetry, metrics)
    assemble(context, manager, Found(Served(), dialect))
    statuses = next(one for one in manager._controllers if one.name == "podgang-status")
    for name in ("x", "y"):
        statuses.queue.add(ObjectKey(NAMESPACE, name), priority=Priority.EVENT)
    context.results.post(BARE, GangResult(GangStage.PROGRAMMED, generation=1))
    statuses.queue.reopen()
    assert statuses.queue.take() == BARE.metadata.key
    sources = {row.source.partition("[")[0] for row in statuses.watches}
    assert sources >= {"podgangs", "pods", "gang results", birds.kind.plural}
