"""One cluster whose node runs containers, with the product's image and deploy/all on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.container_node.node import Images
from local_cluster.container_node.product_image import product_image
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from tests.containers.kit import ROOT, missing, until_rolled_out
from tests.deploy.kit import DEPLOY, until_available

_POD_SECURITY = "pod-security.kubernetes.io/enforce"


@pytest.fixture(scope="session", autouse=True)
def _machine() -> None:
    """Skip every test of this folder where the machine cannot run it."""
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def image() -> Path:
    """The product's image as an archive."""
    return product_image(ROOT, print)


@pytest.fixture(scope="session")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with one node, which runs containers, and KAI beside kube-scheduler."""
    options = ClusterOptions(containers=True, nodes=0, process_node=False, schedulers=("kai",))
    with running_cluster(options, tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="session")
def product(containers: Cluster, image: Path) -> Cluster:
    """The same cluster with core and all backends in containers, and the policies."""
    Images(containers.directory).load(image)
    containers.kubectl("apply", "--server-side", "-k", str(DEPLOY / "all"))
    until_rolled_out(containers)
    until_available(containers, "default", "kai")
    return containers


@pytest.fixture
def space(product: Cluster) -> Iterator[str]:
    """A namespace of the test's own, which refuses pods that are not restricted."""
    with fresh_namespace(product) as name:
        product.kubectl("label", "namespace", name, f"{_POD_SECURITY}=restricted")
        yield name
