"""Jobs that ended while nobody looked, and that Slurm's controller has forgotten."""

import asyncio
from collections.abc import Iterator

import pytest

from backend_controllers.slurm.executor import SlurmExecutor
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from tests.backends.remote.far_side import order, process
from tests.backends.slurm.accounting import AccountingLab, missing
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.lab import NEW, OLD, SlurmLab
from tests.backends.slurm.pods import slurm_pod

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(240)]


@pytest.fixture(params=[OLD, NEW])
def slurm(request: pytest.FixtureRequest) -> Iterator[SlurmLab]:
    """A Slurm with accounting, of both versions."""
    if problem := missing(request.param):
        pytest.skip(problem)
    with AccountingLab(request.param) as lab:
        yield lab


async def test_exit_codes_come_back_after_the_controller_forgot_the_jobs(slurm: SlurmLab) -> None:
    options = options_for(slurm, "accounting")
    plain = [slurm_pod("a", "exit 0", queue="large"), slurm_pod("b", "exit 3", queue="large")]
    mixed = [slurm_pod("l", "exit 0", queue="cpu"), slurm_pod("w", "exit 4", queue="gpu")]
    gangs = {"plain": plain, "mixed": mixed}
    first = SlurmExecutor(options, "slurm")
    async with process(first):
        for gang, pods in gangs.items():
            await first.reserve(order(*pods, gang=gang))
            await first.start(first.units(ObjectKey("team", gang)))
    async with asyncio.timeout(150):
        while "JobId=" in slurm.client("scontrol", "show", "jobs"):  # noqa: ASYNC110
            await asyncio.sleep(1)
    second = SlurmExecutor(options, "slurm")
    async with process(second):
        known = [unit for key in second.gangs() for unit in second.units(key)]
        found = {unit.pod: (unit.state, unit.exit_code) for unit in known}
        ended = RemoteMemberState.EXITED
        assert found == {"a": (ended, 0), "b": (ended, 3), "l": (ended, 0), "w": (ended, 4)}
        for gang, pods in gangs.items():
            # Nothing runs a second time.
            await second.reserve(order(*pods, gang=gang, attempt=2))
        assert slurm.jobs() == {}
        for key in second.gangs():
            await second.release(second.units(key))
        assert second.gangs() == ()
