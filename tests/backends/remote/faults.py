"""The contract suite, part two: killed processes, far sides that are gone, deadlines and clocks."""

import contextlib
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM, Clock
from tests.backends.remote.far_side import (
    GANG,
    FarSide,
    ProcessKilled,
    identities,
    order,
    process,
    states,
    until,
    until_hosts,
)

RESERVED, RUNNING = RemoteMemberState.RESERVED, RemoteMemberState.RUNNING
UNKNOWN = RemoteMemberState.UNKNOWN
_NOT_DONE = {Outcome.CAPACITY, Outcome.TRANSIENT, Outcome.AMBIGUOUS}


class FaultContract:
    """Tests of an executor; `far_side` is a fixture of the class that inherits it."""

    async def test_process_that_starts_finds_what_the_last_one_made(
        self, far_side: FarSide
    ) -> None:
        wanted = order(far_side.pod("a"), far_side.pod("b"))
        async with process(far_side.executor()) as first:
            await first.reserve(wanted)
            made = identities(first)
        async with process(far_side.executor()) as second:
            assert identities(second) == made
            assert second.gangs() == (GANG,)
            # The same call again, since nobody recorded the answer of the first one.
            await second.reserve(wanted)
            assert identities(second) == made
            await second.release(second.units(GANG))
        assert far_side.exists() == {}

    @pytest.mark.parametrize("calls", [1, 2, 3])
    async def test_process_killed_while_it_reserves_is_continued_by_the_next(
        self, far_side: FarSide, calls: int
    ) -> None:
        wanted = order(*(far_side.pod(f"p{rank}") for rank in range(3)))
        async with process(far_side.executor()) as first:
            far_side.kill_after(first, calls)
            # A far side that needs one call for the whole gang is killed at the first one only.
            if calls == 1:
                with pytest.raises(ProcessKilled):
                    await first.reserve(wanted)
            else:
                with contextlib.suppress(ProcessKilled):
                    await first.reserve(wanted)
        async with process(far_side.executor()) as second:
            await second.reserve(wanted)
            assert [unit.pod for unit in second.units(GANG)] == ["p0", "p1", "p2"]
            assert states(second) == [RESERVED] * 3
            await second.start(second.units(GANG))
            await until(second, lambda units: {unit.state for unit in units} == {RUNNING})
            external = {unit.external_id for unit in second.units(GANG)}
            assert len(far_side.exists()) == len(external)
            await second.release(second.units(GANG))
        assert far_side.exists() == {}

    async def test_what_a_killed_process_reserved_can_be_released_by_the_next(
        self, far_side: FarSide
    ) -> None:
        async with process(far_side.executor()) as first:
            far_side.kill_after(first, 1)
            with pytest.raises(ProcessKilled):
                await first.reserve(order(far_side.pod("a"), far_side.pod("b")))
        async with process(far_side.executor()) as second:
            await second.release(second.units(GANG))
            assert second.gangs() == ()
        assert far_side.exists() == {}

    async def test_process_killed_while_it_starts_is_continued_and_nothing_runs_twice(
        self, far_side: FarSide
    ) -> None:
        async with process(far_side.executor()) as first:
            await first.reserve(order(far_side.pod("a"), far_side.pod("b")))
            made = identities(first)
            far_side.kill_after(first, 1)
            with pytest.raises(ProcessKilled):
                await first.start(first.units(GANG))
        async with process(far_side.executor()) as second:
            await second.start(second.units(GANG))
            await until(second, lambda units: {unit.state for unit in units} == {RUNNING})
            assert identities(second) == made
            assert [unit.restarts for unit in second.units(GANG)] == [0, 0]
            await second.release(second.units(GANG))
        assert far_side.exists() == {}

    async def test_process_killed_while_it_releases_is_continued(self, far_side: FarSide) -> None:
        async with process(far_side.executor()) as first:
            await first.reserve(order(far_side.pod("a"), far_side.pod("b")))
            await first.start(first.units(GANG))
            far_side.kill_after(first, 1)
            with pytest.raises(ProcessKilled):
                await first.release(first.units(GANG))
        async with process(far_side.executor()) as second:
            await second.release(second.units(GANG))
            assert second.gangs() == ()
        assert far_side.exists() == {}

    async def test_grant_that_nobody_starts_expires(self, far_side: FarSide) -> None:
        async with process(far_side.executor()) as executor:
            await executor.reserve(
                order(far_side.pod("a"), far_side.pod("b"), grant_seconds=far_side.grant_seconds)
            )
            await until(executor, lambda units: not units)
        assert far_side.exists() == {}

    @pytest.mark.parametrize("hours", [-2, 2])
    async def test_what_runs_outlives_its_grant_and_a_wrong_clock(
        self, far_side: FarSide, hours: int
    ) -> None:
        async with process(far_side.executor()) as first:
            await first.reserve(order(far_side.pod("a"), far_side.pod("b")))
            await first.start(first.units(GANG))
            made = identities(first)
        async with process(far_side.executor(_clock_off_by(hours))) as second:
            # A second gang makes one round with this clock.
            await second.reserve(order(far_side.pod("x"), gang="other"))
            assert identities(second) == made
            assert states(second) == [RUNNING] * 2
            for gang in second.gangs():
                await second.release(second.units(gang))
        assert far_side.exists() == {}

    async def test_far_side_that_is_gone_makes_units_unknown_until_it_is_back(
        self, far_side: FarSide
    ) -> None:
        async with process(far_side.executor()) as executor:
            await executor.reserve(order(far_side.pod("a"), far_side.pod("b")))
            await executor.start(executor.units(GANG))
            await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
            made = identities(executor)
            with far_side.unreachable():
                await until(executor, lambda units: {unit.state for unit in units} == {UNKNOWN})
                assert identities(executor) == made
                await until_hosts(executor, reachable=False)
                with pytest.raises(ExecutorError) as caught:
                    await executor.reserve(order(far_side.pod("x"), gang="other"))
                assert caught.value.outcome in _NOT_DONE
                assert identities(executor) == made
            await until(executor, lambda units: {unit.state for unit in units} == {RUNNING})
            assert identities(executor) == made
            await until_hosts(executor, reachable=True)
            for gang in executor.gangs():
                await executor.release(executor.units(gang))
        assert far_side.exists() == {}

    async def test_release_that_failed_is_repeated_when_the_far_side_is_back(
        self, far_side: FarSide
    ) -> None:
        async with process(far_side.executor()) as executor:
            await executor.reserve(order(far_side.pod("a"), far_side.pod("b")))
            await executor.start(executor.units(GANG))
            with far_side.unreachable():
                await until(executor, lambda units: {unit.state for unit in units} == {UNKNOWN})
                units = executor.units(GANG)
                with pytest.raises(ExecutorError):
                    await executor.release(units)
                # The far side may have got the call, and carries it out when it is back.
                assert executor.units(GANG) == units
            await until_hosts(executor, reachable=True)
            await executor.release(executor.units(GANG))
            assert executor.units(GANG) == ()
        assert far_side.exists() == {}

    async def test_process_that_starts_while_the_far_side_is_gone_finds_all_when_it_is_back(
        self, far_side: FarSide
    ) -> None:
        async with process(far_side.executor()) as first:
            await first.reserve(order(far_side.pod("a")))
            await first.start(first.units(GANG))
            made = identities(first)
        second = far_side.executor()
        with far_side.unreachable():
            async with process(second):
                assert all(host.problem for host in second.hosts())
                assert second.gangs() == ()
        async with process(far_side.executor()) as third:
            await until(third, lambda units: [unit.state for unit in units] == [RUNNING])
            assert identities(third) == made
            await third.release(third.units(GANG))
        assert far_side.exists() == {}


def _clock_off_by(hours: int) -> Clock:
    def utc() -> datetime:
        return SYSTEM.utc() + timedelta(hours=hours)

    return replace(SYSTEM, utc=utc)
