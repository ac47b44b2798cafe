"""The contract suite on a real Slurm."""

import pytest

from tests.backends.remote.contract import ExecutorContract
from tests.backends.remote.far_side import FarSide
from tests.backends.remote.faults import FaultContract
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.far_sides import SlurmFarSide
from tests.backends.slurm.lab import SlurmLab

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


class TestSlurm(ExecutorContract, FaultContract):
    """One controller with six nodes."""

    @pytest.fixture
    def far_side(self, slurm: SlurmLab) -> FarSide:
        slurm.cancel_all()
        return SlurmFarSide(slurm, options_for(slurm, "contract"))
