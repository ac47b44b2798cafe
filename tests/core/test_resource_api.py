"""A cluster that does not serve resource.k8s.io/v1 yet: sets that share claims say so and wait."""

from typing import Any

import pytest

from core_operator.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.errors import Status, from_status
from shared_api.kube.resources import RESOURCE_CLAIMS, Resource
from tests.core.kit import Onlooker, clique, condition, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


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
    request = {"name": "one", "exactly": {"deviceClassName": "none.example.com"}}
    template = {"name": "t", "templateSpec": {"spec": {"devices": {"requests": [request]}}}}
    sharing = pcs(
        "sharing",
        clique("a"),
        resourceClaimTemplates=[template],
        resourceSharing=[{"name": "t", "scope": "AllReplicas"}],
    )

    def stalled() -> Any:
        return condition(person.get(SETS, "sharing"), "Stalled").get("reason")

    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster, client_type=Lacking),
    ):
        await person.create(sharing)
        await person.create(pcs("plain", clique("a")))
        await person.until_ready(1)
        await person.until(lambda: stalled() == "ResourceAPIMissing")
        assert "resource.k8s.io/v1" in await person.until_event("sharing", "ResourceAPIMissing")
        assert person.names(GANGS) == ["plain-0"]
        Lacking.served = True
        await person.until(lambda: len(person.pods) == 2)
        await person.until(lambda: stalled() is None)
