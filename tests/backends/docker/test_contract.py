"""The contract suite on real Docker engines, and on real Podman engines."""

from collections.abc import Iterator

import pytest

from tests.backends.docker.conftest import options_for
from tests.backends.docker.engines import Engines, PodmanEngine, missing
from tests.backends.docker.far_sides import ContainerHosts
from tests.backends.remote.contract import ExecutorContract
from tests.backends.remote.far_side import FarSide
from tests.backends.remote.faults import FaultContract

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


@pytest.fixture(scope="module")
def podman_engines() -> Iterator[Engines]:
    """Two Podman services."""
    if problem := missing():
        pytest.skip(problem)
    with Engines("p1", "p2", kind=PodmanEngine) as engines:
        yield engines


class TestDocker(ExecutorContract, FaultContract):
    """Two dockerd."""

    @pytest.fixture
    def far_side(self, docker_engines: Engines) -> Iterator[FarSide]:
        yield ContainerHosts(docker_engines, options_for(docker_engines, "contract"))
        docker_engines.clear()


class TestPodman(ExecutorContract, FaultContract):
    """Two Podman services."""

    @pytest.fixture
    def far_side(self, podman_engines: Engines) -> Iterator[FarSide]:
        yield ContainerHosts(podman_engines, options_for(podman_engines, "contract"))
        podman_engines.clear()
