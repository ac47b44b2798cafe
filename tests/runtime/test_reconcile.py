"""What happens around a reconcile: workers, verdicts, deadlines and the own-writes barrier."""

import asyncio

import pytest
import structlog

from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import KubeError, Status, from_status
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.logs import IN_WORK
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.reconciling.controller import Controller, ControllerOptions
from shared_api.runtime.reconciling.outcome import Result, Retry, Terminal, WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Advanced, Changed, Restarted, Synced
from tests.runtime.controller_bench import Bench

pytestmark = pytest.mark.virtual_time

X, Y = ObjectKey("a", "x"), ObjectKey("a", "y")


@pytest.fixture
def bench(clock: Clock) -> Bench:
    return Bench(clock)


def refusal(code: int, reason: str, retry_after: float | None = None) -> KubeError:
    return from_status(Status(code, reason, "no"), retry_after=retry_after)


async def test_a_key_is_reconciled_once_per_wake_up(bench: Bench) -> None:
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0]
    assert bench.metric("controller_runtime_reconcile_total", result="success") == 1


async def test_a_requeue_comes_after_its_time(bench: Bench) -> None:
    async def script(key: ObjectKey, call: int) -> Result | None:
        return Result(requeue_after=25) if call == 1 else None

    bench.script = script
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 25]
    assert bench.metric("controller_runtime_reconcile_total", result="requeue_after") == 1


@pytest.mark.parametrize(
    "error", [Retry("later"), refusal(500, "InternalError"), refusal(403, "Forbidden")]
)
async def test_what_may_succeed_later_is_retried_with_back_off(
    bench: Bench, error: Exception
) -> None:
    bench.fail_with(error, error, error)
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 1, 3, 7]
    assert bench.metric("controller_runtime_reconcile_errors_total") == 3
    assert bench.metric("controller_runtime_reconcile_panics_total") == 0


async def test_a_success_ends_the_back_off(bench: Bench) -> None:
    bench.fail_with(Retry("a"), Retry("b"))
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(50)
        bench.calls.clear()
        bench.fail_with(Retry("c"))
        bench.controller.queue.add(X)
        await asyncio.sleep(50)
    assert bench.times() == [50, 51]


@pytest.mark.parametrize(
    "error", [Retry("busy", after=20), refusal(429, "TooManyRequests", retry_after=20)]
)
async def test_who_asks_for_time_gets_it(bench: Bench, error: Exception) -> None:
    bench.fail_with(error)
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 20]


@pytest.mark.parametrize("error", [Terminal("never"), refusal(422, "Invalid")])
async def test_a_terminal_error_waits_for_the_next_event(bench: Bench, error: Exception) -> None:
    bench.fail_with(error)
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(10_000)
        assert bench.times() == [0]
        bench.controller.queue.add(X)
        await asyncio.sleep(1)
    assert bench.times() == [0, 10_000]
    assert bench.metric("controller_runtime_terminal_reconcile_errors_total") == 1


@pytest.mark.parametrize("error", [WaitForEvent("soon"), refusal(409, "Conflict")])
async def test_a_stale_view_waits_for_its_event_but_not_for_ever(
    bench: Bench, error: Exception
) -> None:
    bench.fail_with(error, error)
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(5)
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 5, 65]


async def test_a_key_that_waits_for_an_event_may_set_when_it_is_reconciled_again(
    bench: Bench,
) -> None:
    bench.fail_with(WaitForEvent("soon", within=7))
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 7]


async def test_of_several_errors_the_hopeful_one_decides(bench: Bench) -> None:
    bench.fail_with(ExceptionGroup("2 of 9", [Terminal("never"), Retry("later", after=9)]))
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 9]


@pytest.mark.parametrize("error", [ZeroDivisionError(), asyncio.CancelledError(), KeyError("x")])
async def test_a_defect_delays_its_own_key_only(bench: Bench, error: Exception) -> None:
    async def script(key: ObjectKey, call: int) -> Result | None:
        if key == X and len(bench.times("x")) == 1:
            raise error
        return None

    bench.script = script
    with structlog.testing.capture_logs() as lines:
        async with bench.running():
            bench.controller.queue.add(X)
            bench.controller.queue.add(Y)
            await asyncio.sleep(100)
    assert bench.times("x") == [0, 1]
    assert bench.times("y") == [0]
    assert bench.metric("controller_runtime_reconcile_panics_total") == 1
    assert [line["exc_info"] for line in lines if line["log_level"] == "warning"] != [None]


async def test_a_reconcile_that_hangs_is_cut_off_and_retried(bench: Bench) -> None:
    async def script(key: ObjectKey, call: int) -> Result | None:
        if call == 1:
            await asyncio.Event().wait()
        return None

    bench.script = script
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(100)
    assert bench.times() == [0, 31]
    assert bench.metric("controller_runtime_reconcile_timeouts_total") == 1
    assert bench.metric("controller_runtime_reconcile_panics_total") == 0


async def test_no_key_is_reconciled_twice_at_once(bench: Bench) -> None:
    active: list[ObjectKey] = []

    async def script(key: ObjectKey, call: int) -> Result | None:
        assert key not in active
        active.append(key)
        await asyncio.sleep(5)
        active.remove(key)
        return None

    bench.script = script
    async with bench.running():
        for _ in range(10):
            bench.controller.queue.add(X)
            bench.controller.queue.add(Y)
            await asyncio.sleep(1)
        await asyncio.sleep(50)
    assert bench.metric("controller_runtime_reconcile_errors_total") == 0
    assert bench.times("x") == [0, 5, 10]


async def test_keys_run_side_by_side_up_to_the_number_of_workers(bench: Bench) -> None:
    async def script(key: ObjectKey, call: int) -> Result | None:
        await asyncio.sleep(10)
        return None

    bench.script = script
    async with bench.running():
        for name in "abcd":
            bench.controller.queue.add(ObjectKey("n", name))
        await asyncio.sleep(5)
        assert bench.metric("controller_runtime_active_workers") == 3
        await asyncio.sleep(50)
    assert [when for _, when in bench.calls] == [0, 0, 0, 10]


async def test_each_time_work_begins_it_begins_with_what_is_first_then(clock: Clock) -> None:
    bench, urgent = Bench(clock), [""]
    bench.controller = Controller(
        "toy",
        bench,
        PendingWrites(),
        Telemetry(),
        options=ControllerOptions(
            workers=1, first=lambda: [ObjectKey("n", name) for name in urgent]
        ),
        clock=clock,
    )
    for expected in ("b", "c"):
        bench.calls.clear()
        urgent[:] = [expected]
        for name in "abc":
            bench.controller.queue.add(ObjectKey("n", name), priority=Priority.RESYNC)
        async with bench.running():
            await asyncio.sleep(1)
        assert [name for name, _ in bench.calls] == [
            expected,
            *(name for name in "abc" if name != expected),
        ]


async def test_log_lines_of_a_reconcile_carry_its_key(bench: Bench) -> None:
    seen: list[object] = []

    async def script(key: ObjectKey, call: int) -> Result | None:
        seen.append(IN_WORK.get())
        return None

    bench.script = script
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(1)
    assert seen == [("toy", "a", "x")]
    assert IN_WORK.get() is None


def filled() -> Cache[PartialObject]:
    cache: Cache[PartialObject] = Cache()
    cache.take(Restarted())
    cache.take(Synced("100"))
    return cache


async def test_a_key_is_not_reconciled_before_its_own_write_is_visible(bench: Bench) -> None:
    pods = filled()
    async with bench.running():
        bench.pending.wrote(X, pods, ObjectKey("a", "pod"), "120")
        bench.controller.queue.add(X)
        bench.controller.queue.add(Y)
        await asyncio.sleep(10)
        bench.controller.queue.add(X)
        await asyncio.sleep(10)
        assert bench.times("x") == []
        assert bench.times("y") == [0]
        assert bench.metric("writes_not_yet_seen") == 1
        pods.take(
            Changed(PartialObject(Metadata(name="pod", namespace="a", resource_version="120")))
        )
        await asyncio.sleep(10)
    assert bench.times("x") == [20]


async def test_a_key_waits_for_all_of_its_writes(bench: Bench) -> None:
    pods, gangs = filled(), filled()
    async with bench.running():
        bench.pending.wrote(X, pods, ObjectKey("a", "pod"), "120")
        bench.pending.wrote(X, gangs, ObjectKey("a", "gang"), "130")
        bench.controller.queue.add(X)
        await asyncio.sleep(5)
        pods.take(Advanced("125"))
        await asyncio.sleep(5)
        assert bench.times() == []
        gangs.take(Advanced("130"))
        await asyncio.sleep(5)
    assert bench.times() == [10]


async def test_keys_that_wait_for_the_watch_hold_no_worker(bench: Bench) -> None:
    pods = filled()
    async with bench.running():
        for number in range(50):
            key = ObjectKey("a", f"{number}")
            bench.pending.wrote(key, pods, key, "120")
            bench.controller.queue.add(key)
        await asyncio.sleep(1)
        bench.controller.queue.add(Y)
        await asyncio.sleep(1)
        assert bench.times("y") == [1]


async def test_a_write_that_the_watch_already_showed_does_not_hold_the_key(bench: Bench) -> None:
    pods = filled()
    bench.pending.wrote(X, pods, ObjectKey("a", "pod"), "90")
    assert len(bench.pending) == 0
    assert bench.pending.is_settled(X)


async def test_draining_lets_work_finish_and_takes_nothing_new(bench: Bench) -> None:
    async def script(key: ObjectKey, call: int) -> Result | None:
        await asyncio.sleep(3)
        return None

    bench.script = script
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.controller.run())
        bench.controller.queue.add(X)
        await asyncio.sleep(1)
        bench.controller.drain()
        bench.controller.queue.add(Y)
        await running
    assert asyncio.get_running_loop().time() == 3
    assert [name for name, _ in bench.calls] == ["x"]
    assert bench.metric("controller_runtime_reconcile_total", result="success") == 1


async def test_work_that_was_cut_short_is_first_when_it_runs_again(bench: Bench) -> None:
    async def script(key: ObjectKey, call: int) -> Result | None:
        if call == 1:
            await asyncio.Event().wait()
        return None

    bench.script = script
    async with bench.running():
        bench.controller.queue.add(X)
        await asyncio.sleep(1)
    async with bench.running():
        await asyncio.sleep(1)
    assert bench.times() == [0, 1]


async def test_parked_keys_survive_a_change_of_leader(bench: Bench) -> None:
    pods = filled()
    async with bench.running():
        bench.pending.wrote(X, pods, ObjectKey("a", "pod"), "120")
        bench.controller.queue.add(X)
        await asyncio.sleep(1)
    pods.take(Advanced("120"))
    async with bench.running():
        await asyncio.sleep(1)
    assert bench.times() == [1]
