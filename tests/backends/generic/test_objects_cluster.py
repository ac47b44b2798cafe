"""Whose objects are whose: conflicts, repairs, replacements, and what is left when gangs go."""

import functools
from dataclasses import replace
from typing import Any

import pytest

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Facts,
    Options,
    Rendered,
    Served,
    Translation,
    WhenRefused,
    Writes,
)
from backend_controllers.generic import gang_reconciler, object_writer
from backend_controllers.generic.kinds import GANGS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Patch
from shared_api.kube.podgangs import ObservedPodGang
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes, gang, said, until_programmed, until_said
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker

pytestmark = pytest.mark.cluster

HOLD = "birds.example.com/hold"
COLOUR = "example.com/colour"
WHEN_REFUSED = "example.com/when-refused"


async def test_an_object_of_another_client_is_never_touched(
    core_cluster: Cluster,
    birds: Birds,
    person: Onlooker,
    flocks: Eyes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 0.5)
    await flocks.create("g", birds=9)
    await flocks.until(lambda: flocks.get("g"))
    async with running_backend(core_cluster, birds.backend) as flock:
        await person.create(gang("g", birds.name))
        message = await until_said(person, "g", "Programmed", "False", "Conflict")
        assert message == (
            f"Flock {person.namespace}/g exists and is not owned by PodGang g:"
            " delete it, or choose another name"
        )
        assert said(person, "g", "Accepted") == ("True", "Accepted")
        assert await person.until_event("g", "Conflict", 60) == message
        assert flocks.one("g").spec == {"birds": 9}
        assert flock.total("backend_conflicts_total") >= 1
        await flocks.delete("g")
        await until_programmed(person, "g")
        assert flocks.one("g").spec == {"birds": 2}


async def test_what_somebody_breaks_is_repaired(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    async with running_backend(core_cluster, birds.backend):
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))
        first = flocks.one("g").metadata.uid

        await flocks.delete("g")
        await flocks.until(lambda: (new := flocks.get("g")) and new.metadata.uid != first)

        await flocks.bend("g", {"spec": {"birds": 7}})
        assert flocks.one("g").spec == {"birds": 2}

        await flocks.bend("g", {"metadata": {"labels": {names.LABEL_MANAGED_BY: None}}})
        assert names.LABEL_MANAGED_BY in flocks.one("g").metadata.labels
        erased = await person.client.patch(
            GANGS,
            "g",
            person.namespace,
            patch=Patch({"status": {"conditions": []}}),
            field_manager="person",
            subresource="status",
        )
        await person.until(
            lambda: (
                int(person.one(GANGS, "g").metadata.resource_version)
                > int(erased.metadata.resource_version)
                and said(person, "g", "Programmed") == ("True", "Programmed")
            ),
            60,
        )


@pytest.mark.parametrize("keeper", ["another", None])
async def test_what_somebody_takes_from_us_is_reported_and_taken_back_after_a_while(
    core_cluster: Cluster,
    birds: Birds,
    person: Onlooker,
    flocks: Eyes,
    monkeypatch: pytest.MonkeyPatch,
    keeper: str | None,
) -> None:
    monkeypatch.setattr(object_writer, "RECLAIM_AFTER", 1.0)
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 1.5)
    async with running_backend(core_cluster, birds.backend) as flock:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))
        await flock.until_idle()
        flock.writes.seen.clear()
        owner = person.one(GANGS, "g").metadata
        reference = {"apiVersion": ObservedPodGang.API_VERSION, "kind": ObservedPodGang.KIND}
        reference |= {"name": owner.name, "uid": owner.uid}
        labels = {} if keeper is None else {names.LABEL_MANAGED_BY: keeper}
        taken = {"metadata": {"ownerReferences": [reference], "labels": labels}}
        for times in (1, 2):
            await flocks.bend("g", taken)
            assert any(one.controller for one in flocks.one("g").metadata.owner_references)
            await person.until_event("g", "Conflict", 60)
            await until_programmed(person, "g")
            assert flock.writes.seen["apply", birds.kind.plural] == times


async def test_what_the_gang_does_not_own_is_not_taken_back(
    core_cluster: Cluster,
    birds: Birds,
    person: Onlooker,
    flocks: Eyes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_writer, "RECLAIM_AFTER", 0.0)
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 0.3)
    async with running_backend(core_cluster, birds.backend) as flock:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))
        freed = Patch({"metadata": {"ownerReferences": None}})
        await flocks.client.patch(
            flocks.kind, "g", flocks.namespace, patch=freed, field_manager="stranger"
        )
        await until_said(person, "g", "Programmed", "False", "Conflict")
        await flock.until_total("backend_conflicts_total", 3)
        assert not flocks.one("g").metadata.owner_references


async def test_a_gang_that_the_scheduler_cannot_serve_reports_why_and_loses_its_object(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    async with running_backend(core_cluster, birds.backend):
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        packed = {"topologyConstraint": {"packConstraint": {"required": "zone"}}}
        await person.change(GANGS, "g", {"spec": packed})
        message = await until_said(person, "g", "Accepted", "False", "Unsupported")
        assert message == "not supported by the scheduler: placement by topology"
        assert said(person, "g", "Programmed") == ("False", "NotAccepted")
        await flocks.until(lambda: flocks.get("g") is None)
        await person.change(GANGS, "g", {"spec": {"topologyConstraint": None}})
        await until_programmed(person, "g")


async def test_objects_go_when_the_label_moves_away_and_nothing_else_does(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    chosen = backend_settings(orphan_grace_seconds=0.1, gc_seconds=600)
    async with running_backend(core_cluster, birds.backend, chosen) as flock:
        await person.create(gang("moves", birds.name))
        await person.create(gang("stays", birds.name))
        await until_programmed(person, "moves", "stays")
        await flocks.until(lambda: flocks.names() == ["moves", "stays"])
        elsewhere = {"metadata": {"labels": {names.LABEL_SCHEDULER_BACKEND: "another"}}}
        await person.change(GANGS, "moves", elsewhere)
        await flocks.until(lambda: flocks.names() == ["stays"])
        await flock.until_total("backend_orphans_removed_total", 1)
        assert person.names(GANGS) == ["moves", "stays"]


async def test_a_deleted_gang_leaves_nothing_and_costs_no_write(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    chosen = backend_settings(orphan_grace_seconds=0.1, gc_seconds=600)
    async with running_backend(core_cluster, birds.backend, chosen) as flock:
        for name in ("g", "h"):
            await person.create(gang(name, birds.name))
        await until_programmed(person, "g", "h")
        await flock.until_idle()
        flock.writes.seen.clear()
        for name in ("g", "h"):
            await person.delete(person.one(GANGS, name), GANGS)
        await flocks.until(lambda: not flocks.names())
        await flock.until_idle()
        assert flock.writes.seen == {}
        assert flock.total("backend_gangs") == 0


def coloured(birds: Birds) -> Backend:
    """The example, whose flocks have a colour that cannot be changed."""

    def translate(gang: ObservedPodGang, facts: Facts) -> Translation:
        made: Translation = birds.module["translate"](gang, facts)
        annotations = gang.metadata.annotations
        kept = annotations.get(WHEN_REFUSED) != "replace"
        (one,) = made.objects
        spec = {"birds": 2, "colour": annotations.get(COLOUR, "red")}
        manifest: Any = {**one.manifest, "spec": spec}
        return Translation(
            (Rendered(one.resource, manifest, WhenRefused.KEEP if kept else WhenRefused.REPLACE),)
        )

    def detect(served: Served, options: Options) -> Dialect | Absent:
        found: Dialect | Absent = birds.module["detect"](served, options)
        assert isinstance(found, Dialect)
        writes = Writes(birds.kind, birds.module["Flock"], finalizers=(HOLD,))
        return replace(found, translate=translate, writes=(writes,))

    return replace(birds.backend, detect=detect)


async def test_what_cannot_be_changed_is_kept_or_replaced_as_the_translator_reports(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    # What a policy refuses is tried again so soon; a field that is immutable is not.
    chosen = backend_settings(refused_again_seconds=0.1)
    async with running_backend(core_cluster, coloured(birds), chosen) as flock:
        change = functools.partial(person.change, GANGS, "g")
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))
        first = flocks.one("g").metadata.uid

        await change({"metadata": {"annotations": {COLOUR: "blue"}}})
        message = await until_said(person, "g", "Programmed", "True", "OutdatedObjectKept")
        assert "the colour is immutable" in message
        await flock.until_idle()
        refused = flock.writes.seen["apply", "flocks"]
        await change({"metadata": {"annotations": {"example.com/other": "1"}}})
        await flock.until_idle()
        assert flock.writes.seen["apply", "flocks"] == refused, "it was tried again in vain"

        # Held by a finalizer that the dialect may take off, as a scheduler's protection is.
        await person.client.patch(
            birds.kind,
            "g",
            person.namespace,
            patch=Patch({"metadata": {"finalizers": [HOLD]}}),
            field_manager="scheduler",
        )
        await change({"metadata": {"annotations": {WHEN_REFUSED: "replace"}}})
        await flocks.until(
            lambda: (new := flocks.get("g")) and new.metadata.uid != first and new.spec["colour"]
        )
        assert flocks.one("g").spec["colour"] == "blue"
        await until_said(person, "g", "Programmed", "True", "Programmed")
        await person.until_event("g", "Replaced", 60)


async def test_a_finalizer_that_is_not_named_is_waited_for(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    stranger = "example.com/stranger"
    async with running_backend(core_cluster, coloured(birds)):
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))
        first = flocks.one("g").metadata.uid
        await person.change(birds.kind, "g", {"metadata": {"finalizers": [HOLD, stranger]}})
        await flocks.delete("g")
        message = await until_said(person, "g", "Programmed", "False", "Replacing")
        assert message.endswith(f"is being deleted, waiting for its finalizers {stranger}")
        assert flocks.one("g").metadata.finalizers == (stranger,)
        await person.change(birds.kind, "g", {"metadata": {"finalizers": None}})
        await flocks.until(lambda: (new := flocks.get("g")) and new.metadata.uid != first)
        await until_programmed(person, "g")
