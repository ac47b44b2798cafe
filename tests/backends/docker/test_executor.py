"""What only container hosts do: images, limits of memory, and grants that a late clock ends."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from backend_controllers.contract.remote.executor import ExecutorError
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.host_watch import HostWatch
from backend_controllers.docker.options import DockerOptions, GangNetwork
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM
from tests.backends.docker.conftest import options_for
from tests.backends.docker.engines import IMAGE, Engines
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import GANG, log_of, order, process, until

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


async def test_gang_in_a_network_of_its_own_finds_its_peers_and_leaves_no_network(
    options: DockerOptions, docker_engines: Engines
) -> None:
    own = options.model_copy(update={"network": GangNetwork.BRIDGE})
    script = (
        "for peer in $(echo $GROVE_PODGANG_ADDRESSES | busybox tr , ' '); do"
        " busybox ping -c 1 -w 30 -q $peer >/dev/null && echo found $peer; done; sleep 5"
    )
    async with process(DockerExecutor(own, "docker")) as executor:
        await executor.reserve(order(remote_pod("a", script), remote_pod("b", script)))
        units = executor.units(GANG)
        assert len({unit.host for unit in units}) == 1
        await executor.start(units)
        for unit in units:
            assert await log_of(executor, unit, follow=True) == b"found a\nfound b\n"
        host = docker_engines[units[0].host]
        assert "podgang-uid-train" in host.docker("network", "ls")
        await executor.release(units)
        assert "podgang-" not in host.docker("network", "ls")
        # The network of a gang that ended while no process observed.
        labels = ("io.grove.podgang.cluster=contract", "io.grove.podgang.backend=docker")
        chosen = [part for label in labels for part in ("--label", label)]
        host.docker("network", "create", *chosen, "podgang-uid-forgotten")
        host.docker("network", "create", "podgang-foreign")
    async with process(DockerExecutor(own, "docker")):
        assert "podgang-uid-forgotten" not in host.docker("network", "ls")
        assert "podgang-foreign" in host.docker("network", "ls")
        host.docker("network", "rm", "podgang-foreign")


async def test_frozen_host_delays_no_gang_of_another_host(
    options: DockerOptions, docker_engines: Engines
) -> None:
    patient = options.model_copy(update={"probe_seconds": 60.0})
    async with process(DockerExecutor(patient, "docker")) as executor:
        docker_engines["h1"].freeze()
        try:
            on_frozen = remote_pod("x", nodeSelector={"rack": "h1"})
            waiting = asyncio.ensure_future(executor.reserve(order(on_frozen, gang="other")))
            await asyncio.sleep(0)
            async with asyncio.timeout(8):
                await executor.reserve(order(remote_pod("a", nodeSelector={"rack": "h2"})))
            assert not waiting.done()
            waiting.cancel()
        finally:
            docker_engines["h1"].thaw()
        for gang in executor.gangs():
            await executor.release(executor.units(gang))
    assert docker_engines.containers() == {}


async def test_what_happens_between_the_list_and_the_events_is_not_lost(
    options: DockerOptions, docker_engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(DockerExecutor(options, "docker")) as executor:
        await executor.reserve(order(remote_pod("a")))
        await executor.start(executor.units(GANG))
        (unit,) = executor.units(GANG)
    follow = HostWatch._follow

    async def late(watch: HostWatch, since: str) -> None:
        if watch.memory.shape.name == unit.host:
            kill = ("kill", unit.external_id)
            await asyncio.to_thread(docker_engines[unit.host].docker, *kill)
            await asyncio.to_thread(docker_engines[unit.host].docker, "wait", unit.external_id)
        await follow(watch, since)

    monkeypatch.setattr(HostWatch, "_follow", late)
    async with process(DockerExecutor(options, "docker")) as executor:
        await until(executor, lambda units: units[0].state is RemoteMemberState.EXITED)
        await executor.release(executor.units(GANG))


async def test_name_that_a_foreign_container_has_is_refused_and_the_container_stays(
    options: DockerOptions, docker_engines: Engines
) -> None:
    host = docker_engines["h1"]
    host.docker("create", "--network=host", "--name=podgang-uid-a", IMAGE, "true")
    try:
        async with process(DockerExecutor(options, "docker")) as executor:
            with pytest.raises(ExecutorError, match="taken by a container that is not owned"):
                await executor.reserve(order(remote_pod("a", nodeSelector={"rack": "h1"})))
        assert host.containers() == {"podgang-uid-a": "created"}
    finally:
        host.docker("rm", "podgang-uid-a")
