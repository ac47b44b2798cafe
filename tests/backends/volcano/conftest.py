"""Volcano's real scheduler, with the product's CRDs beside its own."""

from collections.abc import AsyncIterator

import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import ControlPlane, fresh_namespace
from local_cluster.versions import DEFAULT_MINOR
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker


@pytest.fixture(scope="session")
def volcano_with_gangs(volcano_cluster: Cluster) -> Cluster:
    """Volcano's cluster, which also knows PodGangs."""
    volcano_cluster.install_crds(CRDS)
    return volcano_cluster


# Starting a cluster runs an event loop of its own, so this may not be async.
@pytest.fixture(scope="session")
def bare_cluster(control_plane: ControlPlane) -> Cluster:
    """An API server that knows PodGangs and no scheduler."""
    bare = control_plane(DEFAULT_MINOR)
    bare.install_crds(CRDS)
    return bare


@pytest.fixture
async def person(volcano_with_gangs: Cluster) -> AsyncIterator[Onlooker]:
    """Somebody who watches a namespace of Volcano's cluster."""
    with fresh_namespace(volcano_with_gangs) as namespace:
        async with (
            Client(from_kubeconfig(volcano_with_gangs.kubeconfig)) as client,
            Onlooker(client, namespace).watching() as onlooker,
        ):
            yield onlooker
