"""Two engines, and a backend that uses them."""

from collections.abc import Iterator

import pytest

from backend_controllers.docker.options import DockerHost, DockerOptions
from tests.backends.docker.engines import Engines, missing


@pytest.fixture(scope="package")
def docker_engines() -> Iterator[Engines]:
    """Two hosts."""
    if problem := missing():
        pytest.skip(problem)
    with Engines("h1", "h2") as engines:
        yield engines


@pytest.fixture
def docker_options(docker_engines: Engines, namespace: str) -> Iterator[DockerOptions]:
    """Settings with two hosts of two CPUs each; containers carry the test's namespace."""
    yield options_for(docker_engines, namespace)
    docker_engines.clear()


def options_for(engines: Engines, cluster: str) -> DockerOptions:
    """Settings with hosts of two CPUs each."""
    return DockerOptions(
        hosts=tuple(
            DockerHost(name=name, url=host.url, cpu="2", memory="4Gi", labels={"rack": name})
            for name, host in engines.hosts.items()
        ),
        cluster=cluster,
        image_prefixes=("local/",),
        pull_images=False,
        probe_seconds=1.0,
    )
