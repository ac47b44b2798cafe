"""An API server by itself: no controller, no scheduler, nobody who cleans up."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import running_cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.resources import PODS
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker

NAMESPACE = "default"


@contextmanager
def lone_server(options: ClusterOptions, directory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The server, with our kinds, while the block lasts."""
    with running_cluster(options, directory) as cluster:
        cluster.install_crds(CRDS)
        # Nobody here makes it, and without it no pod is admitted.
        cluster.kubectl("create", "serviceaccount", "default", f"--namespace={NAMESPACE}")
        yield cluster


@asynccontextmanager
async def somebody_at(cluster: Cluster) -> AsyncIterator[Onlooker]:
    """A person who takes everything away at the end, since no garbage collector does."""
    async with (
        Client(from_kubeconfig(cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as onlooker,
    ):
        yield onlooker
        for kind in (SETS, CLIQUES, GANGS, PODS):
            for item in onlooker.all(kind):
                await onlooker.delete(item, kind)
