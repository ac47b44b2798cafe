"""An API server that knows a field and does not keep it: its pods would be in no gang."""

from collections.abc import AsyncIterator, Iterator

import pytest

from core_operator.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import running_cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.resources import PODS
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

NAMESPACE = "default"


@pytest.fixture(scope="module")
def gangless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server whose feature gate for Kubernetes' own gangs is off."""
    options = ClusterOptions(parts="api", gang_scheduling=False)
    with running_cluster(options, tmp_path_factory) as cluster:
        cluster.install_crds(CRDS)
        # Nobody here makes it, and without it no pod is admitted.
        cluster.kubectl("create", "serviceaccount", "default", f"--namespace={NAMESPACE}")
        yield cluster


@pytest.fixture
async def somebody(gangless: Cluster) -> AsyncIterator[Onlooker]:
    async with (
        Client(from_kubeconfig(gangless.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as onlooker,
    ):
        yield onlooker
        # There is no garbage collector either.
        for kind in (SETS, CLIQUES, GANGS, PODS):
            for item in onlooker.all(kind):
                await onlooker.delete(item, kind)


async def test_a_field_that_the_server_drops_is_told_and_its_pod_is_not_kept(
    gangless: Cluster, somebody: Onlooker
) -> None:
    spec = {"schedulingGroup": {"podGroupName": "{gang}"}}
    preparation = {"mode": "Static", "members": {"spec": spec}}
    backend = StandIn(somebody.client, "default", preparation=preparation)
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
