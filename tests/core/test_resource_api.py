"""A cluster that does not serve resource.k8s.io/v1 yet: sets that share claims say so and wait."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from shared_api.kube.client import Client
from shared_api.kube.errors import Status, from_status
from shared_api.kube.resources import RESOURCE_CLAIMS, Resource
from tests.core.kit import Object, Onlooker, clique, condition, pcs, running_operator
from tests.core.lone_server import lone_server, somebody_at
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def without_claims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server that serves no claims, as those before 1.34."""
    options = ClusterOptions(parts="api", withheld=(f"{RESOURCE_CLAIMS.group}/v1",))
    with lone_server(options, tmp_path_factory) as cluster:
        yield cluster


@pytest.fixture
async def somebody(without_claims: Cluster) -> AsyncIterator[Onlooker]:
    async with somebody_at(without_claims) as person:
        yield person


def sharing_set() -> Object:
    request = {"name": "one", "exactly": {"deviceClassName": "none.example.com"}}
    template = {"name": "t", "templateSpec": {"spec": {"devices": {"requests": [request]}}}}
    return pcs(
        "sharing",
        clique("a"),
        resourceClaimTemplates=[template],
        resourceSharing=[{"name": "t", "scope": "AllReplicas"}],
    )


async def test_on_a_server_without_claims_a_set_that_shares_them_reports_it_and_others_are_made(
    without_claims: Cluster, somebody: Onlooker
) -> None:
    def stalled() -> Any:
        return condition(somebody.get(SETS, "sharing"), "Stalled").get("reason")

    async with StandIn(somebody.client, "default").serving(), running_operator(without_claims):
        await somebody.create(sharing_set())
        await somebody.create(pcs("plain", clique("a")))
        await somebody.until(lambda: stalled() == "ResourceAPIMissing")
        assert "resource.k8s.io/v1" in await somebody.until_event("sharing", "ResourceAPIMissing")
        await somebody.until(lambda: len(somebody.pods) == 1)
        assert somebody.names(GANGS) == ["plain-0"]


class Lacking(Client):
    """Of a server that gets an API only later."""

    served = False

    def watch_batches(self, resource: Resource, *arguments: Any, **options: Any) -> Any:
        if resource.group == RESOURCE_CLAIMS.group and not Lacking.served:
            raise from_status(Status(404, "NotFound", "the server could not find the resource"))
        return super().watch_batches(resource, *arguments, **options)


async def test_a_set_that_shares_claims_waits_for_the_api_and_others_do_not(
    core_cluster: Cluster, person: Onlooker
) -> None:
    Lacking.served = False

    def stalled() -> Any:
        return condition(person.get(SETS, "sharing"), "Stalled").get("reason")

    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster, client_type=Lacking),
    ):
        await person.create(sharing_set())
        await person.create(pcs("plain", clique("a")))
        await person.until_ready(1)
        await person.until(lambda: stalled() == "ResourceAPIMissing")
        assert "resource.k8s.io/v1" in await person.until_event("sharing", "ResourceAPIMissing")
        assert person.names(GANGS) == ["plain-0"]
        Lacking.served = True
        await person.until(lambda: len(person.pods) == 2)
        await person.until(lambda: stalled() is None)
