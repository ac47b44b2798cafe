"""An API server that knows a field and does not keep it: its pods would be in no gang."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from shared_api.kube.client import Client
from shared_api.kube.resources import PODS, Resource
from tests.core.kit import Onlooker, clique, condition, gates, holds, pcs, running_operator
from tests.core.lone_server import lone_server, somebody_at
from tests.core.stand_in import GATE, StandIn

pytestmark = pytest.mark.cluster

PREPARATION = {
    "mode": "Static",
    "members": {"spec": {"schedulingGroup": {"podGroupName": "{gang}"}}},
}


@pytest.fixture(scope="module")
def gangless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server whose feature gate for Kubernetes' own gangs is off."""
    options = ClusterOptions(parts="api", gang_scheduling=False)
    with lone_server(options, tmp_path_factory) as cluster:
        yield cluster


@pytest.fixture
async def somebody(gangless: Cluster) -> AsyncIterator[Onlooker]:
    async with somebody_at(gangless) as person:
        yield person


class Interrupted(Client):
    """Of an operator that ends between making a pod and taking it away again."""

    async def delete(self, resource: Resource, *arguments: Any, **options: Any) -> None:
        if resource != PODS:
            await super().delete(resource, *arguments, **options)


async def test_pods_without_their_fields_that_an_operator_left_behind_are_removed_and_reported(
    gangless: Cluster, somebody: Onlooker
) -> None:
    backend = StandIn(somebody.client, "default", preparation=PREPARATION)
    async with backend.serving():
        async with running_operator(gangless, client_type=Interrupted):
            await somebody.create(pcs("v", clique("a", 2)))
            await somebody.until(lambda: len(somebody.pods) == 2)
            await somebody.until(lambda: holds(somebody.get(GANGS, "v-0"), "Programmed"))
        assert [gates(pod) for pod in somebody.pods] == [[GATE], [GATE]]
        left = {pod.metadata.uid for pod in somebody.pods}
        async with running_operator(gangless) as operator:
            await somebody.until(lambda: not left & {pod.metadata.uid for pod in somebody.pods})
            await somebody.until_event("v-0-a", "PodFieldsDropped")
            await somebody.until(lambda: holds(somebody.get(CLIQUES, "v-0-a"), "Stalled"))
            assert operator.writes.seen["patch", PODS.plural] == 0, "no gate was lifted"
            assert operator.writes.refused["patch", PODS.plural] == 0, "nor tried"


async def test_a_field_that_the_server_drops_is_reported_and_its_pod_is_not_kept(
    gangless: Cluster, somebody: Onlooker
) -> None:
    backend = StandIn(somebody.client, "default", preparation=PREPARATION)
    async with backend.serving(), running_operator(gangless) as operator:
        await somebody.create(pcs("w", clique("a", 2)))
        await somebody.until(lambda: holds(somebody.get(CLIQUES, "w-0-a"), "Stalled"))
        told = condition(somebody.get(CLIQUES, "w-0-a"), "Stalled")
        assert told["reason"] == "PodFieldsDropped"
        assert told["message"].startswith("the API server drops spec.schedulingGroup")
        await somebody.until_event("w-0-a", "PodFieldsDropped")
        await somebody.until(
            lambda: condition(somebody.get(SETS, "w"), "Ready").get("reason") == "PodFieldsDropped"
        )
        await somebody.until(lambda: not somebody.pods)
        assert operator.writes.seen["patch", PODS.plural] == 0, "no gate was lifted"
