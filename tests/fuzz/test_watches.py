"""An object that nobody could expect is read or skipped, and those before and behind it are read."""

import asyncio
from typing import Any

import pytest
from hypothesis import given

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.reflector import Source
from tests.contract.manifests import clique, pod_clique_set, pod_gang, scheduler_backend
from tests.contract.manifests import topology_binding as binding
from tests.fuzz.cases import trials
from tests.fuzz.poison import Poison, objects
from tests.fuzz.shelf import Object
from tests.fuzz.world import SCHEDULERS, World, sources_of

SPECS: dict[str, Object] = {
    "PodCliqueSet": pod_clique_set(clique("a"))["spec"],
    "PodClique": clique("a")["spec"],
    "PodCliqueScalingGroup": {"replicas": 1, "minAvailable": 1, "cliqueNames": ["a"]},
    "PodGang": pod_gang("a")["spec"],
    "SchedulerBackend": scheduler_backend()["spec"],
    "BackendInventory": {"observedAt": "2026-01-01T00:00:00Z"},
    "ClusterTopologyBinding": binding(("rack", "example.com/rack"))["spec"],
}
WATCHED = [
    pytest.param(name, number, id=f"{name}-{source.resource.plural}-{number}")
    for name, scheduler in SCHEDULERS.items()
    for number, source in enumerate(sources_of(scheduler))
    # Core watches the same beside each of them.
    if name == "default" or number >= len(sources_of(scheduler, core_only=True))
]


def _neighbour(source: Source[Any], name: str) -> Poison:
    metadata: Object = {"name": name, "labels": {}}
    if source.resource.namespaced:
        metadata["namespace"] = "default"
    for term in filter(None, source.selector.labels.split(",")):
        key, _, value = term.partition("=")
        metadata["labels"][key] = value or "x"
    if source.selector.fields.startswith("metadata.name="):
        pytest.skip("it watches one object of its own")
    spec = {"spec": SPECS[source.resource.kind]} if source.resource.kind in SPECS else {}
    return Poison(source.resource, {"metadata": metadata, **spec})


async def _watch(name: str, number: int, poison: Poison) -> None:
    world = World(SCHEDULERS[name])
    source, cache, run = world.watches[number]
    first, second, third = (_neighbour(source, text) for text in ("first", "second", "third"))
    places = [
        ObjectKey(one.manifest["metadata"].get("namespace", ""), one.name)
        for one in (first, second, third)
    ]
    world.put(first)
    world.put(poison)
    world.put(second)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run())
        await world.heard()
        assert all(place in cache for place in places[:2])
        world.put(poison)
        world.put(third)
        await world.heard()
        assert all(place in cache for place in places)
        world.take_away(poison)
        await world.heard()
        assert not any(key.name == poison.name for key in map(key_of, cache))
        task.cancel()


@pytest.mark.parametrize(("name", "number"), WATCHED)
def test_what_comes_after_an_odd_object_is_read(name: str, number: int) -> None:
    source = sources_of(SCHEDULERS[name])[number]

    @trials(2, 160)
    @given(objects(source, name))
    def watch(poison: Poison) -> None:
        asyncio.run(_watch(name, number, poison))

    watch()
