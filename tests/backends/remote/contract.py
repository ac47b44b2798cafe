"""The contract suite, part one: what every executor must do while its far side is healthy.

A backend inherits the class in a test module and defines the fixture `far_side`.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from backend_controllers.contract.remote.executor import (
    Executor,
    ExecutorError,
    GangTag,
    Outcome,
)
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from tests.backends.remote.far_side import (
    GANG,
    FarSide,
    identities,
    log_of,
    order,
    process,
    states,
    until,
)

RESERVED, RUNNING = RemoteMemberState.RESERVED, RemoteMemberState.RUNNING
EXITED = RemoteMemberState.EXITED


class ExecutorContract:
    """Tests of an executor; `far_side` is a fixture of the class that inherits it."""

    @pytest.fixture
    async def executor(self, far_side: FarSide) -> AsyncIterator[Executor]:
        """An executor, which leaves nothing behind."""
        async with process(far_side.executor()) as found:
            yield found
            for gang in found.gangs():
                await found.release(found.units(gang))
        assert far_side.exists() == {}

    async def test_reserving_starts_nothing_and_starting_starts_all(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        await executor.reserve(order(*(far_side.pod(f"p{rank}") for rank in range(6))))
        assert states(executor) == [RESERVED] * 6
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
        assert len(executor.units(GANG)) == 6

    async def test_gang_that_does_not_fit_is_refused_with_numbers_and_leaves_nothing(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        with pytest.raises(ExecutorError, match=r"\d") as caught:
            await executor.reserve(order(*(far_side.pod(f"p{rank}", cpu="1") for rank in range(5))))
        assert caught.value.outcome is Outcome.CAPACITY
        assert executor.units(GANG) == ()
        assert far_side.exists() == {}

    async def test_member_that_is_refused_leaves_nothing_of_the_others(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        pods = (far_side.pod("a"), far_side.pod("b"), far_side.refused_pod("c"))
        with pytest.raises(ExecutorError) as caught:
            await executor.reserve(order(*pods))
        assert caught.value.outcome is Outcome.INVALID
        assert far_side.exists() == {}

    async def test_same_call_twice_changes_nothing(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        wanted = order(far_side.pod("a"), far_side.pod("b"))
        await executor.reserve(wanted)
        before = identities(executor)
        await executor.reserve(wanted)
        assert identities(executor) == before
        await executor.start(executor.units(GANG))
        await executor.start(executor.units(GANG))
        assert identities(executor) == before
        assert len(far_side.exists()) == len({unit.external_id for unit in executor.units(GANG)})

    async def test_released_twice_is_released(self, executor: Executor, far_side: FarSide) -> None:
        await executor.reserve(order(far_side.pod("a"), far_side.pod("b")))
        units = executor.units(GANG)
        await executor.release(units)
        await executor.release(units)
        assert executor.units(GANG) == ()
        assert far_side.exists() == {}

    async def test_running_gang_is_released_whole(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        await executor.reserve(order(far_side.pod("a"), far_side.pod("b")))
        await executor.start(executor.units(GANG))
        await executor.release(executor.units(GANG), grace_seconds=1)
        assert executor.units(GANG) == ()
        assert far_side.exists() == {}

    async def test_of_two_gangs_for_the_same_capacity_one_is_reserved_whole(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        gangs = ("train", "other")
        calls = [
            executor.reserve(
                order(*(far_side.pod(f"{gang}-{rank}", cpu="1") for rank in range(3)), gang=gang)
            )
            for gang in gangs
        ]
        results = await asyncio.gather(*calls, return_exceptions=True)  # noqa: TID251 - both end
        (refused,) = (result for result in results if result is not None)
        assert isinstance(refused, ExecutorError)
        assert refused.outcome is Outcome.CAPACITY
        assert sorted(len(executor.units(ObjectKey("team", gang))) for gang in gangs) == [0, 3]

    async def test_what_a_gang_holds_is_not_free_until_it_is_released(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        before = _free(executor)
        await executor.reserve(order(far_side.pod("a", cpu="1"), far_side.pod("b", cpu="1")))
        assert _free(executor) == before - 2000
        await executor.release(executor.units(GANG))
        assert _free(executor) == before

    async def test_pod_that_is_added_later_gets_its_own_unit(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        ranks = {"a": 0, "b": 1, "c": 2}
        await executor.reserve(order(far_side.pod("a"), far_side.pod("b"), ranks=ranks))
        await executor.start(executor.units(GANG))
        before = identities(executor)
        await executor.reserve(order(far_side.pod("c"), ranks=ranks, attempt=2))
        assert before < identities(executor)
        assert [unit.pod for unit in executor.units(GANG)] == ["a", "b", "c"]
        (added,) = (unit for unit in executor.units(GANG) if unit.pod == "c")
        await executor.start((added,))
        await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})

    async def test_one_unit_is_released_and_the_others_run_on(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        pods = [far_side.pod("a"), far_side.pod("b")]
        await executor.reserve(order(pods[0], ranks={"a": 0, "b": 1}))
        await executor.reserve(order(pods[1], ranks={"a": 0, "b": 1}, attempt=2))
        await executor.start(executor.units(GANG))
        await executor.release(executor.units(GANG)[1:])
        await until(executor, lambda units: [unit.state for unit in units] == [RUNNING])
        assert [unit.pod for unit in executor.units(GANG)] == ["a"]

    async def test_gang_of_the_same_name_has_another_tag(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        await executor.reserve(order(far_side.pod("a"), tag=GangTag(*GANG, "first")))
        await executor.reserve(order(far_side.pod("b"), tag=GangTag(*GANG, "second")))
        tags = {unit.pod: unit.tag.uid for unit in executor.units(GANG)}
        assert tags == {"a": "first", "b": "second"}

    async def test_what_is_foreign_is_never_touched(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        with far_side.foreign() as untouched:
            await executor.reserve(order(far_side.pod("a")))
            assert [unit.pod for unit in executor.units(GANG)] == ["a"]
            await executor.start(executor.units(GANG))
            await executor.release(executor.units(GANG))
            assert executor.gangs() == ()
            assert untouched()

    async def test_exit_codes_come_back(self, executor: Executor, far_side: FarSide) -> None:
        await executor.reserve(order(far_side.pod("a", "exit 0"), far_side.pod("b", "exit 3")))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: {unit.state for unit in units} == {EXITED})
        assert {unit.pod: unit.exit_code for unit in executor.units(GANG)} == {"a": 0, "b": 3}

    async def test_container_knows_its_rank_its_size_and_its_pod(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        text = "echo rank $GROVE_PODGANG_RANK of $GROVE_PODGANG_SIZE role $ROLE"
        role = {"name": "ROLE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['role']"}}}
        await executor.reserve(order(far_side.pod("a"), far_side.pod("b", text, env=[role])))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: EXITED in {unit.state for unit in units})
        (ended,) = (unit for unit in executor.units(GANG) if unit.state is EXITED)
        assert await log_of(executor, ended) == b"rank 1 of 2 role w\n"

    async def test_log_has_all_lines_the_last_ones_and_what_is_written_later(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        script = "echo one; echo two; echo three; sleep 2; echo four"
        await executor.reserve(order(far_side.pod("a", script)))
        await executor.start(executor.units(GANG))
        (unit,) = executor.units(GANG)
        assert await log_of(executor, unit, follow=True) == b"one\ntwo\nthree\nfour\n"
        await until(executor, lambda units: units[0].state is EXITED)
        (unit,) = executor.units(GANG)
        assert await log_of(executor, unit) == b"one\ntwo\nthree\nfour\n"
        assert await log_of(executor, unit, tail=2) == b"three\nfour\n"

    async def test_what_fails_is_started_again_where_the_policy_asks_for_it(
        self, executor: Executor, far_side: FarSide
    ) -> None:
        if not far_side.restarts:
            pytest.skip("this far side starts nothing again")
        await executor.reserve(order(far_side.pod("a", "exit 1", restartPolicy="OnFailure")))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: units[0].restarts >= 1)


def _free(executor: Executor) -> int:
    return sum(host.free.get("cpu", 0) for host in executor.hosts())
