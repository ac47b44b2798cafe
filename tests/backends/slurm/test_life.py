"""What happens to jobs and to Slurm's own programs, and what the executor reports about it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from zlib import crc32

import pytest

from backend_controllers.contract.remote.executor import ExecutorError, Outcome, RemoteUnit
from backend_controllers.slurm.executor import SlurmExecutor
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.tokens import signed
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM
from tests.backends.remote.far_side import GANG, identities, order, process, states, until
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.lab import OLD, SlurmLab
from tests.backends.slurm.pods import slurm_pod

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(240)]

RUNNING, EXITED = RemoteMemberState.RUNNING, RemoteMemberState.EXITED
UNKNOWN = RemoteMemberState.UNKNOWN


@pytest.fixture
def options(slurm: SlurmLab, request: pytest.FixtureRequest) -> SlurmOptions:
    slurm.cancel_all()
    return options_for(slurm, f"t{crc32(request.node.name.encode())}")


@pytest.fixture
async def executor(slurm: SlurmLab, options: SlurmOptions) -> AsyncIterator[SlurmExecutor]:
    """An executor that leaves nothing behind."""
    one = SlurmExecutor(options, "slurm")
    try:
        async with process(one):
            yield one
            async with asyncio.timeout(60):
                for gang in one.gangs():
                    await _release(one, gang)
    finally:
        slurm.cancel_all()


async def _release(executor: SlurmExecutor, gang: ObjectKey) -> None:
    """Release a gang; a server that was stopped in the test may not be noticed to answer yet."""
    while True:
        try:
            await executor.release(executor.units(gang))
        except ExecutorError:
            await asyncio.sleep(0.5)
        else:
            return


async def running(executor: SlurmExecutor, queue: str = "large", count: int = 2) -> str:
    """Start a gang; return the ID of its job."""
    pods = [slurm_pod(f"p{n}", queue=queue) for n in range(count)]
    await executor.reserve(order(*pods))
    await executor.start(executor.units(GANG))
    await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
    return executor.units(GANG)[0].external_id.split(".")[0]


def all_ended(units: tuple[RemoteUnit, ...]) -> bool:
    return bool(units) and all(unit.state is EXITED for unit in units)


async def test_gang_stays_while_nothing_changes_in_slurm(executor: SlurmExecutor) -> None:
    await running(executor)
    made = identities(executor)
    # Longer than the time before the last answer for which changes are asked.
    for _ in range(20):
        await asyncio.sleep(0.3)
        await executor._watch.next_poll()
        assert identities(executor) == made


async def test_command_that_begins_with_a_dash_is_no_option_of_srun(
    executor: SlurmExecutor,
) -> None:
    await executor.reserve(order(slurm_pod("a", queue="large", command_words=["--version"])))
    await executor.start(executor.units(GANG))
    await until(executor, all_ended)
    assert executor.units(GANG)[0].exit_code != 0


async def test_path_of_a_pod_does_not_choose_the_programs_of_the_script(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    env = [{"name": "PATH", "value": str(slurm.top)}]
    words = ["/bin/sh", "-c", '[ "$PATH" = "$0" ]', str(slurm.top)]
    await executor.reserve(order(slurm_pod("a", queue="large", command_words=words, env=env)))
    await executor.start(executor.units(GANG))
    await until(executor, all_ended)
    assert executor.units(GANG)[0].exit_code == 0


async def test_job_that_somebody_cancels_ends_with_the_reason_and_numbers(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    job = await running(executor)
    slurm.client("scancel", job)
    await until(executor, all_ended)
    first, second = executor.units(GANG)
    assert first.message.startswith(f"Slurm job {job} ended as CANCELLED")
    assert f" s on {first.host.rstrip('0123456789')}" in first.message
    assert 0 not in (first.exit_code, second.exit_code)


async def test_job_above_its_time_limit_ends_with_the_reason(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    job = await running(executor)
    slurm.client("scontrol", "update", f"JobId={job}", "TimeLimit=1")
    async with asyncio.timeout(150):
        while not all_ended(executor.units(GANG)):  # noqa: ASYNC110 - longer than `until` waits
            await asyncio.sleep(0.5)
    message = executor.units(GANG)[0].message
    assert message.startswith(f"Slurm job {job} ended as TIMEOUT (TimeLimit) after ")


async def test_job_that_is_preempted_ends_with_the_reason(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    job = await running(executor, count=4)
    urgent = ("sbatch", "--parsable", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null")
    slurm.client(*urgent, "--wrap", "sleep 600")
    await until(executor, all_ended)
    message = executor.units(GANG)[0].message
    assert message.startswith(f"Slurm job {job} ended as PREEMPTED")


async def test_job_that_is_requeued_is_lost_and_starts_nothing_again(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    job = await running(executor)
    if slurm.version != OLD:
        with pytest.raises(RuntimeError, match="Requested operation is presently disabled"):
            slurm.client("scontrol", "requeue", job)
        return
    slurm.client("scontrol", "requeue", job)
    await until(executor, all_ended)
    assert f"lost job {job}" in executor.units(GANG)[0].message
    async with asyncio.timeout(60):
        while slurm.jobs():  # noqa: ASYNC110 - seen without the executor
            await asyncio.sleep(0.5)


async def test_node_that_dies_ends_the_gang_with_the_reason_within_a_minute(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    job = await running(executor)
    node = executor.units(GANG)[1].host
    slurm.kill(node)
    try:
        await until(executor, all_ended)
        message = executor.units(GANG)[0].message
        assert f"job {job}" in message
        assert "NODE_FAIL" in message or "lost job" in message
    finally:
        for gang in executor.gangs():
            with contextlib.suppress(ExecutorError):
                await executor.release(executor.units(gang))
        slurm.revive(node)


async def test_node_that_is_drained_keeps_its_gang_and_is_named_when_the_next_does_not_fit(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    await running(executor, "gpu")
    made = identities(executor)
    host = executor.units(GANG)[0].host
    with drained(slurm, host):
        pods = (slurm_pod(f"x{n}", queue="gpu", cpu="2") for n in range(3))
        with pytest.raises(ExecutorError) as caught:
            await executor.reserve(order(*pods, gang="other"))
        assert caught.value.outcome is Outcome.CAPACITY
        assert "1 of 6 nodes take no jobs" in str(caught.value)
        assert f"{host} " in str(caught.value)
        assert "DRAIN: fan" in str(caught.value)
        assert identities(executor) == made
        assert states(executor) == [RUNNING] * 2


async def test_maintenance_is_named_when_a_gang_does_not_fit(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    slurm.client(
        *("scontrol", "create", "reservation", "ReservationName=service", "StartTime=now"),
        *("Duration=10", "Users=root", "Nodes=n1,n2", "Flags=MAINT,IGNORE_JOBS"),
    )
    try:
        with pytest.raises(ExecutorError) as caught:
            await executor.reserve(order(*(slurm_pod(f"x{n}", queue="gpu") for n in range(3))))
        assert caught.value.outcome is Outcome.CAPACITY
        assert "needs 3 nodes" in str(caught.value)
        assert "Reservation maintenance service has 2 nodes from 20" in str(caught.value)
    finally:
        slurm.client("scontrol", "delete", "ReservationName=service")
        shown = ("sinfo", "-h", "-N", "-o", "%T")
        slurm.until("maintenance is over", lambda: "maint" not in slurm.client(*shown))


@pytest.mark.parametrize("program", ["slurmctld", "slurmrestd"])
async def test_program_that_is_killed_loses_nothing(
    executor: SlurmExecutor, slurm: SlurmLab, program: str
) -> None:
    job = await running(executor)
    made = identities(executor)
    # The controller writes its state to the disk every few seconds; a job that is not there is lost.
    # Jobs of earlier tests are in the file too, so this one gets a mark of its own.
    mark = f"saved-{time.monotonic_ns()}"
    await asyncio.to_thread(
        slurm.client, "scontrol", "update", f"JobId={job}", f"AdminComment={mark}"
    )
    saved = slurm.top / "state" / "job_state"
    await asyncio.to_thread(
        slurm.until, "the job is saved", lambda: mark.encode() in saved.read_bytes()
    )
    slurm.kill(program)
    await until(executor, lambda units: {unit.state for unit in units} == {UNKNOWN})
    assert identities(executor) == made
    slurm.start(program)
    await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
    assert identities(executor) == made
    assert list(slurm.jobs()) == [job]


async def test_controller_that_is_frozen_for_20_seconds_loses_nothing(
    executor: SlurmExecutor, slurm: SlurmLab
) -> None:
    job = await running(executor)
    made = identities(executor)
    slurm.freeze("slurmctld")
    try:
        await asyncio.sleep(20)
        assert identities(executor) == made
        assert set(states(executor)) <= {RUNNING, UNKNOWN}
    finally:
        slurm.thaw("slurmctld")
    await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
    assert identities(executor) == made
    assert list(slurm.jobs()) == [job]


async def test_token_that_expired_makes_units_unknown_until_there_is_another(
    slurm: SlurmLab, options: SlurmOptions
) -> None:
    token = slurm.secret / "own-token"
    key, now = slurm.key_file.read_bytes(), int(SYSTEM.utc().timestamp())
    token.write_text(signed(key, "root", now, 8))
    executor = SlurmExecutor(options.model_copy(update={"token_file": str(token)}), "slurm")
    async with process(executor):
        await running(executor)
        made = identities(executor)
        await until(executor, lambda units: {unit.state for unit in units} == {UNKNOWN})
        assert all(host.problem for host in executor.hosts())
        token.write_text(signed(key, "root", int(SYSTEM.utc().timestamp()), 600))
        await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
        assert identities(executor) == made
        await executor.release(executor.units(GANG))


async def test_tokens_are_signed_with_the_mounted_key(
    slurm: SlurmLab, options: SlurmOptions
) -> None:
    keyed = options.model_copy(update={"token_file": None, "key_file": str(slurm.key_file)})
    executor = SlurmExecutor(keyed, "slurm")
    async with process(executor):
        await running(executor)
        await executor.release(executor.units(GANG))
        assert executor.units(GANG) == ()


@contextlib.contextmanager
def drained(slurm: SlurmLab, node: str) -> Iterator[None]:
    slurm.client("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=fan")
    try:
        yield
    finally:
        slurm.client("scontrol", "update", f"NodeName={node}", "State=RESUME")
