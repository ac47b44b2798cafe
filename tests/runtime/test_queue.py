"""What the work queue promises, one behaviour per test, in virtual time."""

import asyncio

import pytest

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue, QueueClosed

pytestmark = pytest.mark.virtual_time

KeyQueue = Queue[ObjectKey]


def key(name: str, namespace: str = "a") -> ObjectKey:
    return ObjectKey(namespace, name)


@pytest.fixture
def queue(clock: Clock) -> KeyQueue:
    return Queue(lambda key: key.namespace, clock=clock, backoff=Backoff(base=1, cap=10, jitter=0))


def take_all(queue: KeyQueue) -> list[str]:
    taken = []
    while (key := queue.take()) is not None:
        taken.append(str(key))
        queue.done(key)
    return taken


async def test_a_key_added_many_times_is_given_out_once(queue: KeyQueue) -> None:
    for _ in range(3):
        queue.add(key("x"))
    assert take_all(queue) == ["a/x"]


async def test_a_key_is_not_given_out_while_it_is_processed(queue: KeyQueue) -> None:
    queue.add(key("x"))
    assert queue.take() == key("x")
    queue.add(key("x"))
    assert queue.take() is None
    queue.done(key("x"))
    assert queue.take() == key("x")


async def test_what_is_added_after_the_take_is_never_lost(queue: KeyQueue) -> None:
    queue.add(key("x"))
    queue.take()
    queue.add(key("x"), delay=5)
    queue.add(key("x"), delay=2, priority=Priority.USER)
    queue.done(key("x"))
    assert await queue.get() == key("x")
    assert asyncio.get_running_loop().time() == pytest.approx(2)


async def test_user_changes_overtake_resyncs(queue: KeyQueue) -> None:
    queue.add(key("old"), priority=Priority.RESYNC)
    queue.add(key("event"), priority=Priority.EVENT)
    queue.add(key("new"), priority=Priority.USER)
    assert take_all(queue) == ["a/new", "a/event", "a/old"]


async def test_the_highest_priority_of_several_adds_wins(queue: KeyQueue) -> None:
    queue.add(key("x"), priority=Priority.RESYNC)
    queue.add(key("y"), priority=Priority.EVENT)
    queue.add(key("x"), priority=Priority.USER)
    queue.add(key("x"), priority=Priority.RESYNC)
    assert take_all(queue) == ["a/x", "a/y"]


async def test_inside_a_priority_the_order_is_first_in_first_out(queue: KeyQueue) -> None:
    for name in "dacb":
        queue.add(key(name))
    assert take_all(queue) == ["a/d", "a/a", "a/c", "a/b"]


async def test_a_namespace_with_ten_thousand_keys_delays_another_by_one_key(
    queue: KeyQueue,
) -> None:
    for number in range(10_000):
        queue.add(key(f"{number}", "big"))
    queue.add(key("x", "small"))
    queue.add(key("y", "small"))
    taken = [str(queue.take()) for _ in range(4)]
    assert taken == ["big/0", "small/x", "big/1", "small/y"]


async def test_the_shortest_of_several_delays_wins(queue: KeyQueue) -> None:
    queue.add(key("x"), delay=60)
    queue.add(key("x"), delay=5)
    queue.add(key("x"), delay=30)
    assert await queue.get() == key("x")
    assert asyncio.get_running_loop().time() == pytest.approx(5)
    queue.done(key("x"))
    assert queue.waiting() == 0


async def test_an_add_without_delay_ends_the_wait(queue: KeyQueue) -> None:
    queue.add(key("x"), delay=60)
    queue.add(key("x"))
    assert queue.take() == key("x")


async def test_a_delay_that_was_overtaken_does_not_shorten_a_later_one(queue: KeyQueue) -> None:
    queue.add(key("x"), delay=5)
    queue.add(key("x"))
    queue.take()
    queue.done(key("x"))
    queue.add(key("x"), delay=60)
    await queue.get()
    assert asyncio.get_running_loop().time() == pytest.approx(60)


async def test_a_failing_key_waits_longer_each_time_up_to_the_cap(queue: KeyQueue) -> None:
    delays = [queue.retry(key("x")) for _ in range(6)]
    assert delays == [1, 2, 4, 8, 10, 10]
    queue.forget(key("x"))
    assert queue.retry(key("x")) == 1


async def test_the_server_may_ask_for_more_than_the_back_off(queue: KeyQueue) -> None:
    assert queue.retry(key("x"), at_least=7) == 7


def test_jitter_only_shortens() -> None:
    backoff = Backoff(base=8, cap=8, jitter=0.25, random=lambda: 1.0)
    assert backoff.delay(1) == 6
    assert Backoff(base=8, cap=8, jitter=0.25, random=lambda: 0.0).delay(9000) == 8


async def test_work_that_is_added_again_keeps_its_priority(queue: KeyQueue) -> None:
    queue.add(key("x"), priority=Priority.USER)
    queue.take()
    queue.add(key("x"))
    queue.done(key("x"))
    assert queue.depth() == {Priority.USER: 1}


async def test_getters_sleep_until_there_is_something(queue: KeyQueue) -> None:
    taken: list[tuple[str, float]] = []

    async def worker() -> None:
        while True:
            got = await queue.get()
            taken.append((got.name, asyncio.get_running_loop().time()))
            queue.done(got)

    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(worker()) for _ in range(3)]
        queue.add(key("late"), delay=100)
        queue.add(key("soon"), delay=3)
        await asyncio.sleep(1)
        queue.add(key("now"))
        await asyncio.sleep(200)
        for task in workers:
            task.cancel()
    assert taken == [("now", 1), ("soon", 3), ("late", 100)]


async def test_a_cancelled_getter_passes_its_notification_on(queue: KeyQueue) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(queue.get())
        second = group.create_task(queue.get())
        await asyncio.sleep(0)
        queue.add(key("x"))
        first.cancel()
        assert await second == key("x")


async def test_a_closed_queue_sends_its_getters_home_and_keeps_its_keys(queue: KeyQueue) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_closed(queue))
        await asyncio.sleep(0)
        queue.close()
        assert await waiting
    queue.add(key("x"))
    assert queue.take() is None
    queue.reopen()
    assert queue.take() == key("x")


async def _closed(queue: KeyQueue) -> bool:
    try:
        await queue.get()
    except QueueClosed:
        return True
    return False


async def test_far_re_checks_of_a_busy_key_do_not_pile_up(queue: KeyQueue) -> None:
    for _ in range(10_000):
        queue.add(key("x"), delay=36_000)
        queue.add(key("x"))
        queue.take()
        queue.done(key("x"))
    assert queue.timers() <= 129


async def test_a_closed_queue_lets_go_of_keys_that_name_nothing(clock: Clock) -> None:
    alive = {key(f"alive-{number}") for number in range(100)}
    queue: KeyQueue = Queue(lambda found: found.namespace, clock=clock, exists=alive.__contains__)
    queue.close()
    for found in alive:
        queue.add(found)
    for number in range(50_000):
        queue.add(key(f"gone-{number}"), delay=number % 2)
    assert len(queue) < 5_000
    assert queue.timers() < 5_000
    queue.reopen()
    taken = {queue.take() for _ in range(len(queue))}
    assert alive <= taken


async def test_an_open_queue_gives_out_keys_of_what_is_gone(clock: Clock) -> None:
    queue: KeyQueue = Queue(lambda found: found.namespace, clock=clock, exists=lambda _: False)
    for number in range(5_000):
        queue.add(key(f"gone-{number}"))
    assert len(queue) == 5_000


async def test_it_reports_how_long_keys_are_in_work(queue: KeyQueue) -> None:
    queue.add(key("x"))
    queue.take()
    await asyncio.sleep(4)
    assert queue.processing() == {key("x"): pytest.approx(4)}
