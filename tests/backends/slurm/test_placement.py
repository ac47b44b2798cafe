"""Where a real Slurm runs gangs: all together, in one rack, or not at all with numbers."""

from collections.abc import AsyncIterator
from zlib import crc32

import pytest

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.slurm.executor import SlurmExecutor
from shared_api.models import RemoteMemberState
from tests.backends.remote.far_side import GANG, log_of, order, process, until
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.lab import SlurmLab
from tests.backends.slurm.pods import slurm_pod

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(120)]

RACKS = ({"n1", "n2"}, {"n3", "n4"})


@pytest.fixture
async def executor(slurm: SlurmLab, request: pytest.FixtureRequest) -> AsyncIterator[SlurmExecutor]:
    slurm.cancel_all()
    one = SlurmExecutor(options_for(slurm, f"t{crc32(request.node.name.encode())}"), "slurm")
    async with process(one):
        yield one
        for gang in one.gangs():
            await one.release(one.units(gang))
    slurm.cancel_all()


def busy(slurm: SlurmLab, node: str) -> None:
    """Let somebody else use a whole node."""
    job = slurm.client(
        *("sbatch", "--parsable", "-w", node, "--exclusive", "-o", "/dev/null"),
        *("--wrap", "sleep 600"),
    ).strip()
    slurm.until("a foreign job runs", lambda: slurm.jobs().get(job) == "RUNNING")


async def test_leader_and_gpu_workers_start_within_one_second(executor: SlurmExecutor) -> None:
    script = "date +%s.%N; echo $CUDA_VISIBLE_DEVICES"
    workers = [slurm_pod(f"w{n}", script, queue="gpu", gpus=4) for n in range(3)]
    await executor.reserve(order(slurm_pod("leader", script, queue="cpu"), *workers))
    assert {unit.state for unit in executor.units(GANG)} == {RemoteMemberState.RESERVED}
    assert {unit.host for unit in executor.units(GANG)} == {"n1", "n2", "n3", "n4"}
    await executor.start(executor.units(GANG))
    await until(executor, lambda units: all(unit.exit_code == 0 for unit in units))
    logs = [(await log_of(executor, unit)).split() for unit in executor.units(GANG)]
    begun = [float(log[0]) for log in logs]
    assert max(begun) - min(begun) < 1
    assert [log[1:] for log in logs] == [[], *[[b"0,1,2,3"]] * 3]


async def test_leader_does_not_start_while_a_worker_does_not_fit(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    busy(slurm, "n2")
    workers = [slurm_pod(f"w{n}", queue="gpu", gpus=4) for n in range(3)]
    with pytest.raises(ExecutorError) as caught:
        await executor.reserve(order(slurm_pod("leader", queue="cpu"), *workers))
    assert caught.value.outcome is Outcome.CAPACITY
    assert "3 nodes with 1 cpu, 100Mi memory, 4 gpu in partition gpu (2 free, 3 exist)" in str(
        caught.value
    )
    assert executor.units(GANG) == ()
    assert len(slurm.jobs()) == 1


@pytest.mark.parametrize("taken", ["n1", "n4"])
async def test_gang_that_is_packed_runs_in_the_rack_that_has_its_nodes(
    executor: SlurmExecutor, slurm: SlurmLab, taken: str
) -> None:
    busy(slurm, taken)
    pack = PackLevels("rack", "")
    pods = [slurm_pod(f"p{n}", queue="large") for n in range(2)]
    await executor.reserve(order(*pods, pack=pack))
    (rack,) = (rack for rack in RACKS if taken not in rack)
    assert {unit.host for unit in executor.units(GANG)} == rack
    # Three nodes are free, and no rack has them.
    more = [slurm_pod(f"q{n}", queue="large") for n in range(3)]
    with pytest.raises(ExecutorError) as caught:
        await executor.reserve(order(*more, pack=pack, gang="other"))
    assert caught.value.outcome is Outcome.CAPACITY
