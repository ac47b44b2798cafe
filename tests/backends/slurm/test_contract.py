"""The contract suite on a real Slurm."""

import asyncio
from zlib import crc32

import pytest

from tests.backends.remote.contract import ExecutorContract
from tests.backends.remote.far_side import GANG, FarSide, ProcessKilled, order, process
from tests.backends.remote.faults import FaultContract
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.far_sides import SlurmFarSide
from tests.backends.slurm.lab import SlurmLab

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


class TestSlurm(ExecutorContract, FaultContract):
    """One controller with six nodes."""

    @pytest.fixture
    def far_side(self, slurm: SlurmLab, request: pytest.FixtureRequest) -> FarSide:
        slurm.cancel_all()
        # Slurm lists jobs for minutes after their end, and all tests have gangs of the same name.
        cluster = f"t{crc32(request.node.name.encode())}"
        return SlurmFarSide(slurm, options_for(slurm, cluster))

    async def test_what_a_killed_process_reserved_can_be_released_by_the_next(
        self, far_side: FarSide
    ) -> None:
        async with process(far_side.executor()) as first:
            far_side.kill_after(first, 1)
            with pytest.raises(ProcessKilled):
                await first.reserve(order(far_side.pod("a"), far_side.pod("b")))
        assert far_side.exists() != {}
        async with process(far_side.executor()) as second:
            # A job that still waits is no unit. It is cancelled if it goes on waiting; once it is
            # granted, its units are announced, and what nobody wants is released.
            async with asyncio.timeout(30):
                while far_side.exists():
                    await second.release(second.units(GANG))
                    await asyncio.sleep(0.2)
            assert second.gangs() == ()
