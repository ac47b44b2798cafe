"""One cluster with kube-scheduler and KAI, which knows our kinds."""

from collections.abc import AsyncIterator, Iterator

import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker
from tests.situations.theatre import Theatre


@pytest.fixture(scope="session")
def theatre_cluster(kai_cluster: Cluster) -> Cluster:
    kai_cluster.install_crds(CRDS)
    return kai_cluster


@pytest.fixture
def theatre_namespace(theatre_cluster: Cluster) -> Iterator[str]:
    with fresh_namespace(theatre_cluster) as name:
        yield name
    # The next situation counts gangs and queues of all namespaces.
    theatre_cluster.kubectl(
        "wait", "--for=delete", f"namespace/{name}", "--timeout=90s", check=False
    )


@pytest.fixture
async def theatre(theatre_cluster: Cluster, theatre_namespace: str) -> AsyncIterator[Theatre]:
    async with (
        Client(from_kubeconfig(theatre_cluster.kubeconfig)) as client,
        Onlooker(client, theatre_namespace).watching() as person,
    ):
        made = Theatre(theatre_cluster, person)
        try:
            yield made
        finally:
            await made.clean_up()
