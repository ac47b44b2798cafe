"""One cluster with the product as `deploy/all` installs it, policies included, and attackers."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.attacks.kit import Attacker, account, tenant, until_policed, without_policies
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker
from tests.deploy.kit import install
from tests.deploy.people import Person

TakenOver = Callable[..., Attacker]


@pytest.fixture(scope="package")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with core, the default backend and the policies, installed from `deploy/all`."""
    with running_cluster(ClusterOptions(), tmp_path_factory) as cluster:
        cluster.install_crds(CRDS)
        install(cluster, "all", "default")
        with fresh_namespace(cluster) as place:
            until_policed(Person(cluster, place, "probe").empowered())
        yield cluster


@pytest.fixture
def unguarded(product: Cluster) -> Iterator[Cluster]:
    """The same product without the policies, as long as the test lasts."""
    with (
        fresh_namespace(product) as place,
        without_policies(product, Person(product, place, "probe").empowered()),
    ):
        yield product


@pytest.fixture
def home(product: Cluster) -> Iterator[str]:
    """The namespace of the victim."""
    with fresh_namespace(product) as name:
        yield name


@pytest.fixture
def evil(product: Cluster) -> Iterator[str]:
    """The namespace of the attacker."""
    with fresh_namespace(product) as name:
        yield name


@pytest.fixture
async def victim(product: Cluster, home: str) -> AsyncIterator[Onlooker]:
    """The victim, who watches the objects of the namespace `home`."""
    async with (
        Client(from_kubeconfig(product.kubeconfig)) as client,
        Onlooker(client, home).watching() as onlooker,
    ):
        yield onlooker


@pytest.fixture
def attacker(product: Cluster, evil: str) -> Attacker:
    """A tenant with full rights in the namespace `evil` and no right elsewhere."""
    return tenant(product, evil)


@pytest.fixture
def taken_over(product: Cluster, home: str) -> TakenOver:
    """Return the holder of a ServiceAccount's token, such as `taken_over("backend-yunikorn")`."""

    def by_name(name: str, namespace: str = home) -> Attacker:
        return account(product, name, namespace)

    return by_name
