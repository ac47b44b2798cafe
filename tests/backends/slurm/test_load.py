"""Many gangs of one node: calls of the REST API and gangs per second, beside a bare client."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from backend_controllers.slurm.client import SlurmClient
from backend_controllers.slurm.dialects import Component, Submission
from backend_controllers.slurm.executor import SlurmExecutor
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.tokens import Tokens
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM
from tests.backends.remote.far_side import order, process
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.lab import SlurmLab
from tests.backends.slurm.pods import slurm_pod

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(600)]

GANGS = 500
BARE = 100
TOGETHER = 16
MOST = 1.3
"""Calls for a gang, compared with those of the bare client."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one client needed."""

    calls: float
    """For each gang."""
    rate: float
    """Gangs in a second."""


async def test_many_gangs_need_few_calls(slurm: SlurmLab) -> None:
    options = options_for(slurm, "load", poll_seconds=1.0, reserve_seconds=60)
    ours = await _with_executor(SlurmExecutor(options, "slurm"))
    bare = await _with_bare_client(options)
    print(f"Slurm {slurm.version}, {TOGETHER} at once: {ours}, bare client {bare}")  # noqa: T201 - it is the result
    assert slurm.jobs() == {}
    assert ours.calls <= MOST * bare.calls


async def _with_executor(executor: SlurmExecutor) -> Figures:
    changed: dict[ObjectKey, asyncio.Event] = {}
    exit_codes: list[int | None] = []
    executor.changed.subscribe(lambda key: changed.setdefault(key, asyncio.Event()).set())

    async def run(number: int) -> None:
        key = ObjectKey("team", f"g{number}")
        pod = slurm_pod(f"g{number}-0", "true", queue="large")
        await executor.reserve(order(pod, gang=key.name))
        await executor.start(executor.units(key))
        while True:
            changed.setdefault(key, asyncio.Event()).clear()
            (unit,) = executor.units(key)
            if unit.state is RemoteMemberState.EXITED:
                break
            await changed[key].wait()
        exit_codes.append(unit.exit_code)
        await executor.release(executor.units(key))

    async with process(executor):
        figures = await _measured(executor.client, run, GANGS)
    assert exit_codes == [0] * GANGS
    return figures


async def _with_bare_client(options: SlurmOptions) -> Figures:
    """Submit a job, and ask for it once a second until it is over."""
    client = SlurmClient(options, Tokens(options, SYSTEM))
    shape = Component(1, 1, 100, (), "large")

    async def run(number: int) -> None:
        script = "#!/bin/sh\nsrun true\n"
        environment = (("PATH", options.path),)
        job = await client.submit(
            Submission(options.user, f"b{number}", "", (shape,), script, environment, "/tmp")
        )
        path = f"{(await client.dialect()).prefix}/job/{job}"
        while True:
            await asyncio.sleep(options.poll_seconds)
            answer = await client._call("GET", path, options.user)
            listed = (answer or {}).get("jobs")
            assert isinstance(listed, list)
            if (await client.dialect()).job(listed[0]).has_ended:
                return

    async with client:
        return await _measured(client, run, BARE)


async def _measured(
    client: SlurmClient, run: Callable[[int], Awaitable[None]], count: int
) -> Figures:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await run(number)

    before, began = client.calls, time.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(TOGETHER):
            group.create_task(worker())
    seconds = time.monotonic() - began
    return Figures((client.calls - before) / count, count / seconds)
