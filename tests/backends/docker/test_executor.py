"""What only container hosts do: images, limits of memory, and grants that a late clock ends."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from backend_controllers.contract.remote.executor import ExecutorError
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.options import DockerOptions
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM
from tests.backends.docker.conftest import options_for
from tests.backends.docker.engines import Engines
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import GANG, order, process, until

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


@pytest.fixture
def options(docker_engines: Engines) -> DockerOptions:
    return options_for(docker_engines, "contract")


async def test_image_that_is_missing_is_named_with_its_host(options: DockerOptions) -> None:
    async with process(DockerExecutor(options, "docker")) as executor:
        with pytest.raises(ExecutorError, match=r"image local/absent:1 is not on host h[12]"):
            await executor.reserve(order(remote_pod("a"), remote_pod("b", image="local/absent:1")))


async def test_memory_above_the_limit_is_reported_as_such(options: DockerOptions) -> None:
    greedy = "x=aaaaaaaa; while true; do x=$x$x; done"
    async with process(DockerExecutor(options, "docker")) as executor:
        await executor.reserve(order(remote_pod("a", greedy)))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: units[0].state is RemoteMemberState.EXITED)
        (unit,) = executor.units(GANG)
        assert (unit.exit_code, unit.message) == (137, "OOMKilled")
        await executor.release((unit,))


async def test_grant_that_nobody_starts_expires_also_with_a_clock_that_is_ahead(
    options: DockerOptions, docker_engines: Engines
) -> None:
    async with process(DockerExecutor(options, "docker")) as executor:
        await executor.reserve(order(remote_pod("a"), grant_seconds=3600))
    later = replace(SYSTEM, utc=_in_two_hours)
    async with process(DockerExecutor(options, "docker", later)) as executor:
        await until(executor, lambda units: not units)
    assert docker_engines.containers() == {}


def _in_two_hours() -> datetime:
    return SYSTEM.utc() + timedelta(hours=2)
