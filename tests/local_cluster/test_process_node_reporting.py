"""Status reports: none without news, none lost, none for a stranger. Events likewise."""

import asyncio
from typing import Any

import aiohttp
import pytest

from local_cluster.api import MERGE_PATCH, STRATEGIC_PATCH, Api, ApiError
from local_cluster.process_node import reporting
from local_cluster.process_node.events import Events
from local_cluster.process_node.reporting import StatusReporter
from tests.local_cluster.process_node_samples import NOON, pod


class RecordingApi(Api):
    """Keeps requests; fails as told first."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.requests: list[tuple[str, str, Any]] = []
        self.arrived = asyncio.Event()

    def _note(self, verb: str, path: str, body: Any) -> dict[str, Any]:
        if self._failures:
            raise self._failures.pop(0)
        self.requests.append((verb, path, body))
        self.arrived.set()
        return {}

    async def create(self, path: str, body: Any, **params: str) -> dict[str, Any]:
        return self._note("POST", path, body)

    async def patch(
        self, path: str, body: Any, *, content_type: str = MERGE_PATCH, **params: str
    ) -> dict[str, Any]:
        verb = "MERGE" if content_type == STRATEGIC_PATCH else "PATCH"
        return self._note(verb, path, body)

    async def delete(self, path: str, body: Any = None, **params: str) -> dict[str, Any]:
        return self._note("DELETE", path, body)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "FIRST_RETRY", 0.0)


def reporter(api: Api, *statuses: str) -> StatusReporter:
    """A reporter of a pod whose phase is the next of `statuses` at each look."""
    phases = iter(statuses)
    return StatusReporter(api, pod(), lambda _: {"phase": next(phases)})


async def test_a_report_is_sent_once() -> None:
    api = RecordingApi()
    reports = reporter(api, "Pending", "Pending", "Running")
    for _ in range(3):
        await reports.send()
    assert [body["status"]["phase"] for _, _, body in api.requests] == ["Pending", "Running"]
    verb, path, body = api.requests[0]
    assert (verb, path) == ("MERGE", "/api/v1/namespaces/shop/pods/web-1/status")
    assert body["metadata"] == {"uid": "uid-1"}


async def test_a_report_that_failed_is_sent_again_with_the_latest_news() -> None:
    api = RecordingApi(ApiError(500, "etcd"), aiohttp.ServerDisconnectedError())
    await reporter(api, "Pending", "Running", "Failed").send()
    assert [body["status"]["phase"] for _, _, body in api.requests] == ["Failed"]


@pytest.mark.parametrize("code", [404, 409])
async def test_a_pod_that_is_gone_or_replaced_is_left_alone(code: int) -> None:
    api = RecordingApi(ApiError(code, "gone"))
    await reporter(api, "Pending").send()
    assert api.requests == []


async def test_deletion_is_final_and_only_of_this_pod() -> None:
    api = RecordingApi(ApiError(503, "wait"))
    await reporter(api).delete()
    ((verb, path, body),) = api.requests
    assert (verb, path) == ("DELETE", "/api/v1/namespaces/shop/pods/web-1")
    assert body == {"gracePeriodSeconds": 0, "preconditions": {"uid": "uid-1"}}


async def written(api: RecordingApi, events: Events) -> None:
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(events.run())
        await api.arrived.wait()
        api.arrived.clear()
        running.cancel()


async def test_a_repeated_event_is_counted() -> None:
    api = RecordingApi()
    events = Events(api, lambda: NOON, "process-node")
    for _ in range(2):
        events.record(pod(), "Warning", "Unhealthy", "no answer")
        await written(api, events)
    (_, _, first), (verb, path, again) = api.requests
    assert first["involvedObject"]["uid"] == "uid-1"
    assert (first["reason"], first["message"], first["count"]) == ("Unhealthy", "no answer", 1)
    assert verb == "PATCH"
    assert path.endswith(first["metadata"]["name"])
    assert again["count"] == 2


async def test_an_event_that_expired_is_written_anew() -> None:
    api = RecordingApi()
    events = Events(api, lambda: NOON, "process-node")
    events.record(pod(), "Normal", "Started", "x")
    await written(api, events)
    api._failures.append(ApiError(404, "expired"))
    events.record(pod(), "Normal", "Started", "x")
    events.record(pod(), "Normal", "Started", "x")
    await written(api, events)
    assert [verb for verb, _, _ in api.requests] == ["POST", "POST"]


async def test_a_flood_of_events_keeps_the_newest() -> None:
    api = RecordingApi()
    events = Events(api, lambda: NOON, "process-node")
    for number in range(1000):
        events.record(pod(), "Normal", "Flood", str(number))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(events.run())
        while len(api.requests) < 200:
            await api.arrived.wait()
            api.arrived.clear()
        running.cancel()
    assert [body["message"] for _, _, body in api.requests] == [str(n) for n in range(800, 1000)]
