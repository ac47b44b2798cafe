"""The operator dies after every write of a walk, and no two backends ever have the gang."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core_operator.state.caches import GANGS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import CONFIGMAPS, PODS
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.core.kit import Object, Onlooker, gates, is_ready, running_operator
from tests.core.stand_in import StandIn
from tests.core.test_crash_only import Deaths, until_nothing_is_left_to_do
from tests.core.test_placement_walk import (
    among,
    attempts,
    backend_of,
    create_policy,
    refusing,
    workload,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

NOBODY = {"mode": "Static", "members": {"spec": {"schedulerName": "nobody"}}}
CASES: list[tuple[str, Object, Object]] = [
    ("Invalid", {"says": refusing(accepted=("False", "Unsupported", "no queue"))}, {}),
    ("Capacity", {"preparation": NOBODY}, {"admissionTimeout": "1s"}),
]


class Holders:
    """Which backends have objects of the gang, at every moment."""

    def __init__(self) -> None:
        self.cache: Cache[LooseObject] = Cache()
        self.together: list[set[str]] = []
        self.ever: set[str] = set()
        self.cache.subscribe(self._on)

    def _on(self, old: object, new: object) -> None:
        del old, new
        found = {one.metadata.labels["holder"] for one in self.cache if one.metadata.labels}
        self.ever |= found
        if len(found) > 1:
            self.together.append(found)

    @contextlib.asynccontextmanager
    async def watching(self, client: Client, namespace: str) -> AsyncIterator[None]:
        source = Source(CONFIGMAPS, LooseObject, namespace)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.cache.run(Reflector(client, source)))
            yield
            task.cancel()


def object_of(name: str, namespace: str) -> Any:
    """What a backend writes for a gang; the gang controls it."""

    def writes(gang: LooseObject) -> list[tuple[Any, Object]]:
        owner = {
            "apiVersion": GANGS.api_version,
            "kind": GANGS.kind,
            "name": gang.metadata.name,
            "uid": gang.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {
            "name": f"{name}-{gang.metadata.uid}",
            "namespace": namespace,
            "labels": {"holder": name},
            "ownerReferences": [owner],
        }
        return [(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})]

    return writes


def answering_nothing(gang: LooseObject) -> Object:
    """What a backend says that has written its objects, and is not done."""
    del gang
    return {"conditions": []}


@pytest.mark.parametrize(("outcome", "first", "spec"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("at_once", [1, 16])
async def test_a_walk_that_is_killed_after_every_write_comes_to_the_same_end(
    core_cluster: Cluster,
    person: Onlooker,
    outcome: str,
    first: Object,
    spec: Object,
    at_once: int,
) -> None:
    client, space = person.client, person.namespace
    one = StandIn(client, "one", writes=object_of("one", space), **first)
    other = StandIn(client, "other", writes=object_of("other", space))
    holders, deaths = Holders(), Deaths(at_once)
    async with one.serving(), other.serving(), holders.watching(client, space):
        await create_policy(person, among("one", "other", **spec))
        await person.create(workload())
        died = await until_nothing_is_left_to_do(core_cluster, person, 2, deaths.client_type())
        assert died > 5
        assert backend_of(person) == "other"
        assert attempts(person) == [("one", outcome), ("other", None)]
        assert all(map(is_ready, person.pods))
        assert not any(map(gates, person.pods))
        assert {pod.metadata.labels[names.LABEL_SCHEDULER_BACKEND] for pod in person.all(PODS)} == {
            "other"
        }
        assert holders.ever == {"one", "other"}
        assert holders.together == [], "at no time did two backends have the gang"
    for name in ("one", "other"):
        await person.remove_backend(name)


@pytest.mark.parametrize("is_released", [True, False], ids=["Ambiguous", "Transient"])
async def test_a_walk_away_from_a_backend_that_is_down_survives_the_same(
    core_cluster: Cluster, person: Onlooker, is_released: bool
) -> None:
    client, space = person.client, person.namespace
    first: Object = {"preparation": NOBODY} if is_released else {"says": answering_nothing}
    one = StandIn(client, "one", writes=object_of("one", space), **first)
    other = StandIn(client, "other", writes=object_of("other", space))
    holders, deaths = Holders(), Deaths(1)
    lost = {"after": "1s", "action": "Relocate"}
    async with one.serving(), other.serving(), holders.watching(client, space):
        await create_policy(person, among("one", "other", lost=lost))
        await person.create(workload())
        async with running_operator(core_cluster):
            await person.until(
                lambda: (
                    len(person.pods) == 2
                    and holders.ever == {"one"}
                    and all(bool(gates(pod)) != is_released for pod in person.pods)
                )
            )
        await one.go_down()
        died = await until_nothing_is_left_to_do(core_cluster, person, 2, deaths.client_type())
        assert died > 5
        outcome = "Ambiguous" if is_released else "Transient"
        assert attempts(person) == [("one", outcome), ("other", None)]
        assert holders.ever == {"one", "other"}
        assert holders.together == [], "its objects went although it is down"
    for name in ("one", "other"):
        await person.remove_backend(name)
