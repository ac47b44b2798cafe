"""KAI's real scheduler and binder, with the product's CRDs beside KAI's own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.backends.kai.live import Stage, spoken

CRDS = Path(__file__).parents[3] / "crds"


@pytest.fixture(scope="session")
def kai_with_gangs(kai_cluster: Cluster) -> Cluster:
    """KAI's cluster, which also knows PodGangs."""
    kai_cluster.install_crds(CRDS)
    return kai_cluster


@pytest.fixture
def kai_namespace(kai_with_gangs: Cluster) -> Iterator[str]:
    with fresh_namespace(kai_with_gangs) as name:
        yield name


@pytest.fixture
async def stage(kai_with_gangs: Cluster, kai_namespace: str) -> AsyncIterator[Stage]:
    async with Client(from_kubeconfig(kai_with_gangs.kubeconfig)) as client:
        dialect = await spoken(client)
        async with Stage(client, kai_namespace, dialect).playing() as playing:
            yield playing
