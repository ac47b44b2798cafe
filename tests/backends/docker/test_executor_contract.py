"""What every executor must do, tried on real Docker engines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from backend_controllers.contract.remote.executor import (
    ExecutorError,
    LogOptions,
    Outcome,
    RemoteUnit,
)
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.options import DockerOptions
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM, Clock
from tests.backends.docker.conftest import options_for
from tests.backends.docker.engines import IMAGE, Engines
from tests.backends.docker.pods import order, remote_pod

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]

GANG = ObjectKey("team", "train")
RESERVED, RUNNING = RemoteMemberState.RESERVED, RemoteMemberState.RUNNING
EXITED, UNKNOWN = RemoteMemberState.EXITED, RemoteMemberState.UNKNOWN


@pytest.fixture
def options(docker_engines: Engines) -> DockerOptions:
    return options_for(docker_engines, "contract")


@contextlib.asynccontextmanager
async def running(options: DockerOptions, clock: Clock = SYSTEM) -> AsyncIterator[DockerExecutor]:
    """An executor of a process that has just started."""
    executor = DockerExecutor(options, "docker", clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(executor.run())
        await executor.wait_synced()
        try:
            yield executor
        finally:
            task.cancel()


@pytest.fixture
async def executor(
    options: DockerOptions, docker_engines: Engines
) -> AsyncIterator[DockerExecutor]:
    async with running(options) as found:
        yield found
        await found.release(found.units(GANG))
    assert docker_engines.containers() == {}


async def until(executor: DockerExecutor, holds: Callable[[tuple[RemoteUnit, ...]], bool]) -> None:
    """Wait until the units of the gang are so."""
    changed = asyncio.Event()
    executor.changed.subscribe(lambda _: changed.set())
    async with asyncio.timeout(60):
        while not holds(executor.units(GANG)):
            changed.clear()
            await changed.wait()


def states(executor: DockerExecutor) -> list[RemoteMemberState]:
    return [unit.state for unit in executor.units(GANG)]


async def test_reserving_starts_nothing_and_starting_starts_all(executor: DockerExecutor) -> None:
    await executor.reserve(order(*(remote_pod(f"p{rank}") for rank in range(6))))
    assert states(executor) == [RESERVED] * 6
    await executor.start(executor.units(GANG))
    assert states(executor) == [RUNNING] * 6


async def test_gang_that_does_not_fit_is_refused_with_numbers_and_leaves_nothing(
    executor: DockerExecutor, docker_engines: Engines
) -> None:
    pods = [remote_pod(f"p{rank}", cpu="1") for rank in range(5)]
    with pytest.raises(ExecutorError, match=r"needs 5 cpu \(4 free\).*4 of 5 pods fit") as caught:
        await executor.reserve(order(*pods))
    assert caught.value.outcome is Outcome.CAPACITY
    assert docker_engines.containers() == {}


async def test_same_call_twice_changes_nothing(executor: DockerExecutor) -> None:
    wanted = order(remote_pod("a"), remote_pod("b"))
    await executor.reserve(wanted)
    before = executor.units(GANG)
    await executor.reserve(wanted)
    assert executor.units(GANG) == before
    await executor.start(before)
    await executor.start(before)
    assert {unit.external_id for unit in executor.units(GANG)} == {u.external_id for u in before}


async def test_half_of_a_gang_that_fails_takes_the_other_half_back(
    executor: DockerExecutor, docker_engines: Engines
) -> None:
    with pytest.raises(ExecutorError, match="image local/absent:1 is not on host") as caught:
        await executor.reserve(order(remote_pod("a"), remote_pod("b", image="local/absent:1")))
    assert caught.value.outcome is Outcome.INVALID
    assert docker_engines.containers() == {}


async def test_process_that_starts_finds_what_the_last_one_made(options: DockerOptions) -> None:
    async with running(options) as first:
        await first.reserve(order(remote_pod("a"), remote_pod("b")))
        made = first.units(GANG)
    async with running(options) as second:
        assert second.units(GANG) == made
        assert second.gangs() == (GANG,)
        # The same call again, since nobody recorded the answer of the first one.
        await second.reserve(order(remote_pod("a"), remote_pod("b")))
        assert second.units(GANG) == made
        await second.release(made)


async def test_released_twice_is_released(executor: DockerExecutor) -> None:
    await executor.reserve(order(remote_pod("a")))
    units = executor.units(GANG)
    await executor.release(units)
    await executor.release(units)
    assert executor.units(GANG) == ()


async def test_container_that_is_not_ours_is_never_touched(
    executor: DockerExecutor, docker_engines: Engines
) -> None:
    host = docker_engines["h1"]
    host.docker("run", "--detach", "--name", "foreign", IMAGE, "sleep", "600")
    await executor.reserve(order(remote_pod("a")))
    await executor.release(executor.units(GANG))
    assert host.containers() == {"foreign": "running"}
    host.docker("rm", "--force", "foreign")


async def test_exit_codes_and_logs_come_back(executor: DockerExecutor) -> None:
    text = "echo rank $GROVE_PODGANG_RANK of $GROVE_PODGANG_SIZE role $ROLE; exit 3"
    role = {"name": "ROLE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['role']"}}}
    await executor.reserve(order(remote_pod("a"), remote_pod("b", text, env=[role])))
    await executor.start(executor.units(GANG))
    await until(executor, lambda units: EXITED in [unit.state for unit in units])
    (ended,) = (unit for unit in executor.units(GANG) if unit.state is EXITED)
    assert (ended.pod, ended.exit_code) == ("b", 3)
    lines = [piece async for piece in executor.logs(ended, LogOptions())]
    assert b"".join(lines) == b"rank 1 of 2 role w\n"


async def test_memory_above_the_limit_is_reported_as_such(executor: DockerExecutor) -> None:
    greedy = "x=aaaaaaaa; while true; do x=$x$x; done"
    await executor.reserve(order(remote_pod("a", greedy)))
    await executor.start(executor.units(GANG))
    await until(executor, lambda units: units[0].state is EXITED)
    assert executor.units(GANG)[0].exit_code != 0


async def test_grant_that_nobody_starts_expires_also_with_a_clock_that_is_ahead(
    options: DockerOptions, docker_engines: Engines
) -> None:
    async with running(options) as executor:
        await executor.reserve(order(remote_pod("a"), grant_seconds=3600))
    later = replace(SYSTEM, utc=lambda: _now() + timedelta(hours=2))
    async with running(options, later) as executor:
        await until(executor, lambda units: not units)
    assert docker_engines.containers() == {}


async def test_frozen_engine_makes_units_unknown_until_it_answers_again(
    executor: DockerExecutor, docker_engines: Engines
) -> None:
    await executor.reserve(order(remote_pod("a")))
    await executor.start(executor.units(GANG))
    (unit,) = executor.units(GANG)
    docker_engines[unit.host].freeze()
    try:
        await until(executor, lambda units: units[0].state is UNKNOWN)
        (offer,) = (one for one in executor.hosts() if one.name == unit.host)
        assert offer.problem
    finally:
        docker_engines[unit.host].thaw()
    await until(executor, lambda units: units[0].state is RUNNING)
    assert executor.units(GANG)[0].external_id == unit.external_id


def _now() -> datetime:
    return SYSTEM.utc()
