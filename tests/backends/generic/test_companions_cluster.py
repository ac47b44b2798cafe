"""Objects that follow from something else than a gang are kept in step with it."""

from dataclasses import replace
from typing import Any

import pytest

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Companion,
    Dialect,
    Options,
    Reads,
    Rendered,
    Served,
    Writes,
)
from backend_controllers.generic import companions
from local_cluster.cluster import Cluster
from shared_api.kube.client import Selector
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.watching.predicates import Watched
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker

pytestmark = pytest.mark.cluster

SIZE = "example.com/size"


def hatching(birds: Birds) -> Backend:
    """The example, which also makes a flock of every ConfigMap that has a size."""

    def translate(source: Watched) -> tuple[Rendered, ...]:
        flock: Any = {
            "apiVersion": birds.kind.api_version,
            "kind": birds.kind.kind,
            "metadata": {"name": source.metadata.name},
            "spec": {"birds": int(source.metadata.annotations[SIZE])},
        }
        return (Rendered(birds.kind, flock),)

    def detect(served: Served, options: Options) -> Dialect | Absent:
        found: Dialect | Absent = birds.module["detect"](served, options)
        assert isinstance(found, Dialect)
        source = Reads(CONFIGMAPS, PartialObject, Selector(f"nest={birds.name}"))
        writes = Writes(birds.kind, birds.module["Flock"])
        return replace(found, companions=(Companion(source, writes, translate),))

    return replace(birds.backend, detect=detect)


def nest(birds: Birds, namespace: str, name: str, size: int) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {"nest": birds.name},
        "annotations": {SIZE: str(size)},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def test_they_follow_their_source_and_go_with_it(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    def has(size: int) -> bool:
        found = flocks.get("n")
        return found is not None and found.spec == {"birds": size}

    async with running_backend(core_cluster, hatching(birds)) as flock:
        source = await person.client.create(
            CONFIGMAPS,
            nest(birds, person.namespace, "n", 3),
            field_manager="person",
            into=PartialObject,
        )
        await flocks.until(lambda: has(3))
        owner = flocks.one("n").metadata.controller
        assert owner is not None
        assert (owner.kind, owner.uid) == ("ConfigMap", source.metadata.uid)
        await person.change(CONFIGMAPS, "n", {"metadata": {"annotations": {SIZE: "4"}}})
        await flocks.until(lambda: has(4))
        await flocks.bend("n", {"spec": {"birds": 9}})
        assert has(4)
        first = flocks.one("n").metadata.uid
        await flocks.delete("n")
        await flocks.until(lambda: has(4) and flocks.one("n").metadata.uid != first)
        await flock.until_idle()
        flock.writes.seen.clear()
        await person.client.delete(CONFIGMAPS, "n", person.namespace, uid=source.metadata.uid)
        await flocks.until(lambda: flocks.get("n") is None)
        await flock.until_idle()
        assert flock.writes.seen == {}


async def test_an_object_of_another_client_is_left_alone_and_reported(
    core_cluster: Cluster,
    birds: Birds,
    person: Onlooker,
    flocks: Eyes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(companions, "RETRY_SECONDS", 0.5)
    await flocks.create("n", birds=9)
    await flocks.until(lambda: flocks.get("n"))
    async with running_backend(core_cluster, hatching(birds)):
        await person.client.create(
            CONFIGMAPS,
            nest(birds, person.namespace, "n", 3),
            field_manager="person",
            into=PartialObject,
        )
        note = await person.until_event("n", "Conflict", 60)
        assert note.startswith(
            f"Flock {person.namespace}/n exists and is not owned by ConfigMap n:"
        )
        assert flocks.one("n").spec == {"birds": 9}
        await flocks.delete("n")
        await flocks.until(lambda: (found := flocks.get("n")) and found.spec == {"birds": 3})
