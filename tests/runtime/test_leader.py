"""Leader election: at most one at a time, whatever the network and the scheduler do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.leading.elector import (
    ElectionOptions,
    ElectionTiming,
    Elector,
    LeadershipLost,
)
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.runtime.lease_server import LeaseClient, LeaseServer

pytestmark = pytest.mark.virtual_time

LEASE = ObjectKey("system", "toy")
TIMING = ElectionTiming(random=lambda: 0.5)


class RecordingSwitch:
    """Remembers when it would have ended the process."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.fires_at: float | None = None

    def arm(self, seconds: float) -> None:
        self.fires_at = self.clock.elapsed() + seconds

    def disarm(self) -> None:
        self.fires_at = None


class Candidate:
    """A process that would like to lead, and when it did."""

    def __init__(self, name: str, server: LeaseServer, clock: Clock) -> None:
        self.name = name
        self.client: LeaseClient = server.client()
        self.telemetry = Telemetry()
        self.switch = RecordingSwitch(clock)
        self.elector = Elector(
            self.client,
            LEASE,
            name,
            self.telemetry,
            options=ElectionOptions(TIMING, clock, self.switch),
        )
        self.led: list[list[float]] = []
        self.finish = asyncio.Event()

    async def work(self) -> None:
        now = asyncio.get_running_loop().time
        self.led.append([now()])
        try:
            await self.finish.wait()
        finally:
            self.led[-1].append(now())

    async def run(self) -> None:
        while not self.finish.is_set():
            with contextlib.suppress(LeadershipLost):
                await self.elector.lead(self.work)

    @property
    def gauge(self) -> float | None:
        name = {"name": str(LEASE)}
        return self.telemetry.registry.get_sample_value("leader_election_master_status", name)


Join = Callable[[str], Candidate]


@contextlib.asynccontextmanager
async def election(server: LeaseServer, clock: Clock) -> AsyncIterator[Join]:
    async with asyncio.TaskGroup() as group:
        tasks = []

        def join(name: str) -> Candidate:
            candidate = Candidate(name, server, clock)
            tasks.append(group.create_task(candidate.run()))
            return candidate

        yield join
        for task in tasks:
            task.cancel()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


async def test_the_first_leads_and_the_second_waits(server: LeaseServer, clock: Clock) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(1)
        second = join("second")
        await asyncio.sleep(300)
        assert first.elector.remaining() > 0
        assert (len(first.led), len(second.led)) == (1, 0)
        assert (first.gauge, second.gauge) == (1, 0)
        assert second.elector.remaining() == 0


async def test_a_holder_that_vanishes_is_followed_after_its_lease(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(1)
        second = join("second")
        await asyncio.sleep(100)
        first.client.is_cut_off = True
        await asyncio.sleep(60)
        assert len(second.led) == 1
    ended, began = first.led[0][1], second.led[0][0]
    renewed = max(when for when, holder in server.writes if holder == "first")
    assert ended <= renewed + TIMING.renew_deadline
    assert began >= renewed + TIMING.duration
    assert ended < began


async def test_work_ends_before_another_can_begin_even_with_slow_requests(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        first.client.latency = 3.9
        await asyncio.sleep(20)
        second = join("second")
        await asyncio.sleep(50)
        first.client.is_cut_off = True
        await asyncio.sleep(60)
    assert first.led[0][1] < second.led[0][0]


async def test_the_switch_ends_a_process_whose_work_will_not_stop_before_the_lease(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(30)
        renewed = server.writes[-1][0]
        assert first.switch.fires_at is not None
        assert renewed + TIMING.renew_deadline < first.switch.fires_at < renewed + TIMING.duration
        first.finish.set()
        await asyncio.sleep(1)
        assert first.switch.fires_at is None


async def test_the_switch_stays_armed_until_the_work_has_ended(
    server: LeaseServer, clock: Clock
) -> None:
    candidate = Candidate("first", server, clock)
    armed: list[bool] = []

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            armed.append(candidate.switch.fires_at is not None)

    async with asyncio.TaskGroup() as group:
        leading = group.create_task(_lost(candidate, stubborn))
        await asyncio.sleep(5)
        candidate.client.is_cut_off = True
        assert await leading
    assert armed == [True]
    assert candidate.switch.fires_at is None


async def test_the_lease_is_given_back_at_the_end_of_the_work(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(1)
        second = join("second")
        await asyncio.sleep(30)
        first.finish.set()
        await asyncio.sleep(TIMING.retry + 1)
        assert len(second.led) == 1
    assert second.led[0][0] - first.led[0][1] <= TIMING.retry + 0.1
    assert first.gauge == 0


async def test_the_lease_is_given_back_when_the_work_is_cancelled(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        join("first")
        await asyncio.sleep(30)
    assert server.spec is not None
    assert "holderIdentity" not in server.spec


async def test_the_lease_is_given_back_when_the_work_fails(
    server: LeaseServer, clock: Clock
) -> None:
    candidate = Candidate("first", server, clock)

    async def broken() -> None:
        await asyncio.sleep(5)
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await candidate.elector.lead(broken)
    assert server.spec is not None
    assert "holderIdentity" not in server.spec


async def test_a_lost_answer_does_not_cost_the_leadership(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(5)
        first.client.loses_answers = True
        await asyncio.sleep(5)
        first.client.loses_answers = False
        await asyncio.sleep(100)
        assert len(first.led) == 1
        assert first.elector.remaining() > 0


async def test_a_lease_that_is_anothers_ends_the_work_at_once(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(5)
        server.version += 1
        server.spec = {"holderIdentity": "thief", "leaseDurationSeconds": 15}
        await asyncio.sleep(TIMING.retry + 0.1)
        assert len(first.led[0]) == 2
        assert first.elector.remaining() == 0


async def test_who_lost_the_lease_becomes_a_candidate_again(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(5)
        first.client.is_cut_off = True
        await asyncio.sleep(30)
        first.client.is_cut_off = False
        await asyncio.sleep(30)
        assert len(first.led) == 2
        assert first.elector.remaining() > 0


async def test_after_a_freeze_the_deadline_is_looked_at_before_anything_else(
    server: LeaseServer,
) -> None:
    frozen = 0.0

    def elapsed() -> float:
        return asyncio.get_running_loop().time() + frozen

    candidate = Candidate("first", server, Clock(elapsed=elapsed))
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(_lost(candidate, candidate.work))
        await asyncio.sleep(5)
        writes = len(server.writes)
        # The process stood still: its own clock jumps, its timers come late.
        frozen = 60.0
        assert candidate.elector.remaining() < 0
        assert await leading
    assert len(server.writes) == writes


async def _lost(candidate: Candidate, work: Callable[[], Awaitable[None]]) -> bool:
    try:
        await candidate.elector.lead(work)
    except LeadershipLost:
        return True
    return False


async def test_an_answer_that_is_read_too_late_counts_for_nothing(server: LeaseServer) -> None:
    late = 0.0

    def elapsed() -> float:
        return asyncio.get_running_loop().time() + late

    candidate = Candidate("first", server, Clock(elapsed=elapsed))
    candidate.client.latency = 1.0
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(_lost(candidate, candidate.work))
        # The freeze comes while a renewal is under way.
        await asyncio.sleep(TIMING.retry + 2.5)
        late = 60.0
        assert await leading
    assert candidate.elector.remaining() == 0


async def test_an_unreachable_server_does_not_end_a_candidate(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        first.client.is_cut_off = True
        await asyncio.sleep(600)
        first.client.is_cut_off = False
        await asyncio.sleep(10)
        assert len(first.led) == 1


async def test_times_are_utc_and_changes_of_the_holder_are_counted(
    server: LeaseServer, clock: Clock
) -> None:
    async with election(server, clock) as join:
        first = join("first")
        await asyncio.sleep(30)
        assert server.spec is not None
        assert server.spec["renewTime"].startswith("2026-01-01T00:00:")
        assert server.spec["renewTime"].endswith("Z")
        assert server.spec["leaseTransitions"] == 0
        first.finish.set()
        await asyncio.sleep(1)
        join("second")
        await asyncio.sleep(5)
        assert server.spec["leaseTransitions"] == 1


@pytest.mark.parametrize(
    ("duration", "renew_deadline", "one"), [(10, 10, 4), (15, 5, 4), (15, 16, 4)]
)
def test_timings_that_could_overlap_are_refused(
    duration: float, renew_deadline: float, one: float
) -> None:
    with pytest.raises(ValueError, match="renew_deadline"):
        ElectionTiming(duration=duration, renew_deadline=renew_deadline, request=one)


def test_replicas_do_not_march_in_step() -> None:
    assert ElectionTiming(random=lambda: 0.0).pause() < ElectionTiming(random=lambda: 1.0).pause()
