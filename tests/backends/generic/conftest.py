"""A cluster in which the scheduler of the example is installed."""

from collections.abc import AsyncIterator, Iterator

import pytest
import yaml

from local_cluster.cluster import Cluster
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes
from tests.core.kit import Onlooker


@pytest.fixture(scope="session")
def bird_cluster(
    core_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """The kind of the example in the cluster, known to the garbage collector."""
    directory = tmp_path_factory.mktemp("birds")
    file = directory / "crd.yaml"
    file.write_text(yaml.safe_dump(Birds().definition))
    core_cluster.install_crds(directory)
    yield core_cluster
    core_cluster.kubectl("delete", "-f", str(file), "--wait=false", check=False)


@pytest.fixture
def birds(bird_cluster: Cluster) -> Iterator[Birds]:
    """The example, as a backend of the test's own."""
    made = Birds()
    yield made
    bird_cluster.kubectl("delete", "schedulerbackend", made.name, "--ignore-not-found")


@pytest.fixture
async def flocks(birds: Birds, person: Onlooker) -> AsyncIterator[Eyes]:
    """Somebody who sees the flocks of the test's namespace."""
    async with Eyes(person.client, birds.kind, person.namespace).watching() as eyes:
        yield eyes
