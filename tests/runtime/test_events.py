"""Events are aggregated, budgeted, and never in anybody's way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from shared_api.kube.errors import KubeError
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.budget import Budget
from shared_api.runtime.recording.event_objects import Regarding, Reporter
from shared_api.runtime.recording.recorder import EventLimits, Recorder
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.runtime.writes import ScriptedClient, Write, refusal

pytestmark = pytest.mark.virtual_time

GANG = Regarding("scheduler.grove.io/v1alpha1", "PodGang", "a", "g", "uid-g")


class Bench:
    """A recorder before a scripted client."""

    def __init__(self, clock: Clock, limits: EventLimits | None = None) -> None:
        self.client = ScriptedClient()
        self.telemetry = Telemetry()
        self.recorder = Recorder(
            self.client,
            Reporter("podgang/toy", "toy-0"),
            self.telemetry,
            limits=limits,
            clock=clock,
        )

    def event_identity(self, note: str = "2 of 8 pods fit", regarding: Regarding = GANG) -> None:
        self.recorder.record(regarding, "Unschedulable", note, type_="Warning")

    def count(self, result: str) -> float:
        name = "events_recorded_total"
        return self.telemetry.registry.get_sample_value(name, {"result": result}) or 0.0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            sender = group.create_task(self.recorder.run())
            try:
                yield
            finally:
                sender.cancel()


async def test_an_event_says_who_what_where_and_when(clock: Clock) -> None:
    bench = Bench(clock)
    async with bench.running():
        bench.event_identity()
        await asyncio.sleep(1)
    (write,) = bench.client.writes
    assert (write.verb, write.resource) == ("create", "events")
    body = dict(write.body)
    metadata = body.pop("metadata")
    assert metadata["namespace"] == "a"
    assert metadata["name"].startswith("g.")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "podgang/toy",
        "reportingInstance": "toy-0",
        "action": "Reconcile",
        "reason": "Unschedulable",
        "type": "Warning",
        "note": "2 of 8 pods fit",
        "regarding": {
            "apiVersion": "scheduler.grove.io/v1alpha1",
            "kind": "PodGang",
            "namespace": "a",
            "name": "g",
            "uid": "uid-g",
        },
    }


async def test_repetitions_become_one_series_that_is_renewed_rarely(clock: Clock) -> None:
    bench = Bench(clock)
    async with bench.running():
        for _ in range(100):
            bench.event_identity()
            await asyncio.sleep(1)
        await asyncio.sleep(60)
    assert len(bench.client.sent("create")) == 1
    patches = [write for write in bench.client.writes if write.verb == "patch"]
    assert len(patches) == 4
    assert patches[-1].body["series"] == {
        "count": 100,
        "lastObservedTime": "2026-01-01T00:01:39.000000Z",
    }


async def test_another_note_is_another_event(clock: Clock) -> None:
    bench = Bench(clock)
    async with bench.running():
        bench.event_identity("2 of 8 pods fit")
        await asyncio.sleep(1)
        bench.event_identity("3 of 8 pods fit")
        await asyncio.sleep(1)
    assert len(bench.client.sent("create")) == 2


async def test_after_a_long_silence_it_is_news_again(clock: Clock) -> None:
    bench = Bench(clock)
    async with bench.running():
        bench.event_identity()
        await asyncio.sleep(1000)
        bench.event_identity()
        await asyncio.sleep(1)
    assert len(set(bench.client.sent("create"))) == 2


async def test_an_object_that_babbles_is_silenced_and_others_are_not(clock: Clock) -> None:
    bench = Bench(clock, EventLimits(object_burst=5))
    async with bench.running():
        for number in range(50):
            bench.event_identity(f"{number}")
        bench.event_identity(regarding=GANG._replace(name="other", uid="uid-other"))
        await asyncio.sleep(60)
    names = bench.client.sent("create")
    assert len(names) == 6
    assert any(name.startswith("other.") for name in names)
    assert bench.count("dropped_object_budget") == 45


async def test_the_process_stays_within_its_budget(clock: Clock) -> None:
    bench = Bench(clock, EventLimits(burst=10, rate=2))
    async with bench.running():
        for number in range(30):
            bench.event_identity(regarding=GANG._replace(uid=f"u{number}", name=f"g{number}"))
        await asyncio.sleep(5.1)
        assert len(bench.client.writes) == 20
        await asyncio.sleep(60)
    assert bench.count("sent") == 30


async def test_what_cannot_be_kept_is_dropped_and_counted(clock: Clock) -> None:
    bench = Bench(clock, EventLimits(unsent=3))
    for number in range(10):
        bench.event_identity(regarding=GANG._replace(uid=f"u{number}"))
    assert bench.count("dropped_full") == 7


async def test_recording_does_not_wait_for_a_slow_server(clock: Clock) -> None:
    bench = Bench(clock)
    bench.client.latency = 5
    async with bench.running():
        bench.event_identity("first")
        await asyncio.sleep(1)
        bench.event_identity("second")
        assert asyncio.get_running_loop().time() == 1


async def test_a_refused_event_is_dropped_and_a_failed_one_is_sent_again(clock: Clock) -> None:
    bench = Bench(clock)
    answers = [refusal(500, "InternalError"), None, refusal(422, "Invalid")]
    bench.client.refuse = lambda write: answers[len(bench.client.writes) - 1]
    async with bench.running():
        bench.event_identity("failed")
        await asyncio.sleep(5)
        bench.event_identity("refused")
        await asyncio.sleep(60)
    assert len(bench.client.writes) == 3
    assert (bench.count("sent"), bench.count("dropped_refused")) == (1, 1)


async def test_an_event_that_keeps_failing_is_given_up(clock: Clock) -> None:
    bench = Bench(clock, EventLimits(attempts=3))
    bench.client.refuse = lambda write: refusal(500, "InternalError")
    async with bench.running():
        bench.event_identity()
        await asyncio.sleep(600)
    assert len(bench.client.writes) == 3
    assert bench.count("dropped_refused") == 1


async def test_an_event_that_expired_is_created_anew(clock: Clock) -> None:
    bench = Bench(clock)

    def refuse(write: Write) -> KubeError | None:
        return refusal(404, "NotFound") if write.verb == "patch" else None

    bench.client.refuse = refuse
    async with bench.running():
        bench.event_identity()
        await asyncio.sleep(1)
        bench.event_identity()
        await asyncio.sleep(60)
    assert [write.verb for write in bench.client.writes] == ["create", "patch", "create"]
    assert bench.client.writes[-1].body["series"]["count"] == 2


async def test_a_create_whose_answer_was_lost_is_not_repeated_under_another_name(
    clock: Clock,
) -> None:
    bench = Bench(clock)
    answers = [refusal(500, "InternalError"), refusal(409, "AlreadyExists")]
    bench.client.refuse = lambda write: answers[len(bench.client.writes) - 1]
    async with bench.running():
        bench.event_identity()
        await asyncio.sleep(60)
    assert len(set(bench.client.sent("create"))) == 1
    assert bench.count("sent") == 1


async def test_events_about_cluster_scoped_objects_live_in_default(clock: Clock) -> None:
    bench = Bench(clock)
    bench.event_identity("x" * 5000, GANG._replace(namespace="", name="n" * 253))
    await bench.recorder.flush()
    (write,) = bench.client.writes
    assert write.body["metadata"]["namespace"] == "default"
    assert len(write.body["metadata"]["name"]) <= 253
    assert len(write.body["note"]) == 1024


async def test_a_budget_fills_up_again(clock: Clock) -> None:
    budget = Budget(burst=2, rate=0.5, clock=clock)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    assert budget.wait() == pytest.approx(2)
    await asyncio.sleep(100)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
