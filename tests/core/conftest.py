"""What the operator's tests stand on: a cluster that knows our kinds, and a client to it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster.cluster import Cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.runtime.watching.cache import Cache, Handler
from tests.core.kit import Onlooker
from tests.core.pod_capacity import PodCapacity
from tests.core.topology_kit import Bindings

CRDS = Path(__file__).parents[2] / "crds"


@pytest.fixture(params=["as subscribed", "reversed"])
def handler_order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order in which a cache calls its event handlers: no result may depend on it."""

    def prepend(cache: Cache[Any], handler: Handler[Any], *, by_others: bool = False) -> None:
        (cache._overwritten_handlers if by_others else cache._handlers).insert(0, handler)

    if request.param == "reversed":
        monkeypatch.setattr(Cache, "subscribe", prepend)


@pytest.fixture(scope="session")
def core_cluster(cluster: Cluster) -> Cluster:
    """The default cluster with our CRDs."""
    cluster.install_crds(CRDS)
    return cluster


@pytest.fixture
async def client(core_cluster: Cluster) -> AsyncIterator[Client]:
    """A person's client."""
    async with Client(from_kubeconfig(core_cluster.kubeconfig)) as opened:
        yield opened


@pytest.fixture
async def person(client: Client, namespace: str) -> AsyncIterator[Onlooker]:
    """Watch the namespace of the test."""
    async with Onlooker(client, namespace).watching() as onlooker:
        yield onlooker


@pytest.fixture
def capacity(core_cluster: Cluster) -> Iterator[PodCapacity]:
    """Provide pod slots, which pods of a test may request."""
    capacity = PodCapacity(core_cluster)
    yield capacity
    capacity.remove()


@pytest.fixture
async def bindings(client: Client, namespace: str) -> AsyncIterator[Bindings]:
    """Topology bindings that are gone after the test."""
    made = Bindings(client, namespace)
    yield made
    await made.clean_up()
