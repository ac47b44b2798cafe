"""Gangs that follow from something else: they wait for it, and a change concerns only its own gang."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Facts,
    Options,
    Reads,
    Report,
    Served,
    Translation,
)
from backend_controllers.generic.kinds import GANGS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Selector
from shared_api.kube.codec import PartialObject
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes, gang, said, until_programmed, until_said
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker, condition

pytestmark = pytest.mark.cluster

NOTES = Resource("", "v1", "configmaps", "ConfigMap")
LIMITS = Resource("", "v1", "limitranges", "LimitRange")
OF, ABOUT = "example.com/note-of", "example.com/about-note"
SHARED, PROBLEM = "shared", "example.com/problem"


def gang_of(note: Watched) -> tuple[str, str] | None:
    return note.metadata.namespace or "", note.metadata.labels[OF]


def note_of(limit: Watched) -> tuple[str, str] | None:
    return limit.metadata.namespace or "", limit.metadata.labels[ABOUT]


def following(birds: Birds, translated: Counter[str]) -> Backend:
    """The example, which here needs a note about each gang."""

    def detect(served: Served, options: Options) -> Dialect | Absent:
        found = birds.backend.detect(served, options)
        assert isinstance(found, Dialect)

        def translate(of: ObservedPodGang, facts: Facts) -> Translation:
            name = of.metadata.name
            translated[name] += 1
            if facts.get(NOTES, of.metadata.namespace or "", name) is None:
                return Translation(lacks=f"a note about {name}")
            return found.translate(of, facts)

        reads = (
            Reads(NOTES, PartialObject, Selector(OF), about=gang_of),
            Reads(LIMITS, PartialObject, Selector(ABOUT), about=note_of, through=NOTES),
        )
        return replace(found, translate=translate, reads=reads)

    return replace(birds.backend, detect=detect)


def complaining(birds: Birds, place: str) -> Backend:
    """The example, which here says what is wrong with a note that all gangs need."""

    def detect(served: Served, options: Options) -> Dialect | Absent:
        found = birds.backend.detect(served, options)
        assert isinstance(found, Dialect)

        def mirror(of: ObservedPodGang, facts: Facts) -> Report:
            del of
            note = facts.get(NOTES, place, SHARED)
            problem = "does not exist" if note is None else note.metadata.annotations[PROBLEM]
            return Report("NoteMissing" if note is None else "NoteWrong", f"the note {problem}")

        # Its own label: other tests' notes are none of its business.
        reads = (Reads(NOTES, PartialObject, Selector(f"{OF}={SHARED}")),)
        return replace(found, mirror=mirror, reads=reads)

    return replace(birds.backend, detect=detect)


async def _make(person: Onlooker, kind: Resource, name: str, label: str, **more: Any) -> None:
    manifest: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": person.namespace, "labels": {label: name}},
        **more,
    }
    await person.client.create(kind, manifest, field_manager="person", into=PartialObject)


async def test_a_gang_is_neither_written_nor_reported_before_what_it_follows_from_is_there(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    translated: Counter[str] = Counter()
    async with running_backend(core_cluster, following(birds, translated)) as backend:
        for name in ("g", "h"):
            await person.create(gang(name, birds.name))
        await backend.until_total("backend_translate_seconds_count", 2)
        await backend.until_idle()
        assert translated.keys() == {"g", "h"}
        assert flocks.names() == []
        assert said(person, "g", "Programmed") == ("", "")
        before = translated["h"]
        await _make(person, NOTES, "g", OF)
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.names() == ["g"])
        await backend.until_idle()
        assert translated["h"] == before, "it is about another gang"
        assert said(person, "h", "Programmed") == ("", "")
        await _make(person, NOTES, "h", OF)
        await until_programmed(person, "h")


async def test_what_is_about_something_that_is_about_a_gang_reconciles_that_gang(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    translated: Counter[str] = Counter()
    async with running_backend(core_cluster, following(birds, translated)) as backend:
        for name in ("g", "h"):
            await _make(person, NOTES, name, OF)
            await person.create(gang(name, birds.name))
        await until_programmed(person, "g", "h")
        await backend.until_idle()
        before = translated.copy()
        done = backend.total("backend_translate_seconds_count")
        await _make(person, LIMITS, "g", ABOUT, spec={"limits": []})
        await backend.until_total("backend_translate_seconds_count", done + 1)
        assert translated["g"] == before["g"] + 1
        assert translated["h"] == before["h"]
        assert flocks.names() == ["g", "h"]


async def test_what_is_reported_about_something_that_all_gangs_need_is_renewed_when_it_changes(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    place = person.namespace
    async with running_backend(core_cluster, complaining(birds, place)):
        await person.create(gang("g", birds.name))
        await until_said(person, "g", "Scheduled", "False", "NoteMissing")
        note: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": NOTES.kind,
            "metadata": {
                "name": SHARED,
                "namespace": place,
                "labels": {OF: SHARED},
                "annotations": {PROBLEM: "is empty"},
            },
        }
        await person.client.create(NOTES, note, field_manager="person", into=PartialObject)
        message = await until_said(person, "g", "Scheduled", "False", "NoteWrong")
        assert message == "0/2 pods scheduled: the note is empty"
        await person.change(NOTES, SHARED, {"metadata": {"annotations": {PROBLEM: "is torn"}}})
        await person.until(
            lambda: "is torn" in condition(person.get(GANGS, "g"), "Scheduled")["message"], 60
        )
