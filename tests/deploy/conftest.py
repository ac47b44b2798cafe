"""One cluster for all tests of what is deployed, which logs who does what."""

from collections.abc import Iterator

import pytest

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from tests.core.conftest import CRDS
from tests.deploy.kit import applied
from tests.deploy.people import Person, pod, podclique


@pytest.fixture(scope="package")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster on which every request is logged, and every controller has its own account."""
    with running_cluster(ClusterOptions(audit=True), tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="module")
def crds(audited: Cluster) -> Cluster:
    """The same cluster with our kinds, which the garbage collector knows."""
    audited.install_crds(CRDS)
    return audited


@pytest.fixture(scope="module")
def policed(crds: Cluster) -> Iterator[Cluster]:
    """The same cluster with the policies and without the product."""
    with applied(crds, "policies"), fresh_namespace(crds) as place:
        person = Person(crds, place, "probe").empowered()
        person.until_refused("create", "-f", "-", input=podclique("probe"))
        person.until_refused("create", "-f", "-", input=pod("probe"))
        yield crds


@pytest.fixture
def space(policed: Cluster) -> Iterator[str]:
    """A namespace under the policies."""
    with fresh_namespace(policed) as name:
        yield name
