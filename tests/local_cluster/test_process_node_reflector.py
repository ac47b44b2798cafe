"""A watched collection survives everything that a watch can do."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import pytest

from local_cluster.api import Api, ApiError
from local_cluster.process_node import reflector
from local_cluster.process_node.config_maps import ConfigMaps
from local_cluster.process_node.reflector import Reflector

END = {
    "type": "BOOKMARK",
    "object": {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}},
}
BOOKMARK = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}
GONE = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}


def event(kind: str, name: str, uid: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": uid or f"uid-{name}"}
    return {"type": kind, "object": {"metadata": metadata}}


class ScriptedApi(Api):
    """Answers each watch with the next round of a script, then stays silent."""

    def __init__(self, *rounds: list[Any]) -> None:
        self._rounds = list(rounds)
        self.asked: list[dict[str, str]] = []
        self.exhausted = asyncio.Event()

    async def watch(self, path: str, **params: str) -> AsyncGenerator[dict[str, Any], None]:
        self.asked.append(params)
        if not self._rounds:
            self.exhausted.set()
            await asyncio.Event().wait()
        for item in self._rounds.pop(0):
            if isinstance(item, Exception):
                raise item
            yield item


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "FIRST_PAUSE", 0.0)


async def follow(*rounds: list[Any]) -> tuple[list[str], ScriptedApi]:
    api = ScriptedApi(*rounds)
    seen: list[str] = []
    followed = Reflector(
        api,
        "/things",
        lambda kind, item: seen.append(f"{kind} {item['metadata']['name']}"),
        fieldSelector="a=b",
    )
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(followed.run())
        await api.exhausted.wait()
        running.cancel()
    return seen, api


async def test_objects_come_first_and_changes_after() -> None:
    seen, api = await follow([event("ADDED", "a"), END, BOOKMARK, event("MODIFIED", "a")])
    assert seen == ["ADDED a", "MODIFIED a"]
    assert api.asked[0]["sendInitialEvents"] == "true"
    assert api.asked[0]["fieldSelector"] == "a=b"


async def test_what_vanished_while_nobody_watched_is_reported_deleted() -> None:
    first = [event("ADDED", "a"), event("ADDED", "b"), END]
    seen, _ = await follow(first, [event("ADDED", "b"), END])
    assert seen == ["ADDED a", "ADDED b", "ADDED b", "DELETED a"]


async def test_a_list_that_breaks_off_deletes_nothing() -> None:
    first = [event("ADDED", "a"), event("ADDED", "b"), END]
    seen, _ = await follow(first, [event("ADDED", "b")], [aiohttp.ClientPayloadError("cut")])
    assert not [line for line in seen if line.startswith("DELETED")]


async def test_a_successor_of_the_same_name_is_another_object() -> None:
    first = [event("ADDED", "a", "uid-1"), END]
    seen, _ = await follow(first, [event("ADDED", "a", "uid-2"), END])
    assert seen == ["ADDED a", "ADDED a", "DELETED a"]


@pytest.mark.parametrize(
    "trouble", [GONE, ApiError(500, "etcd"), aiohttp.ServerDisconnectedError(), TimeoutError()]
)
async def test_trouble_starts_another_round(trouble: Any) -> None:
    seen, api = await follow([event("ADDED", "a"), END, trouble], [event("ADDED", "a"), END])
    assert seen == ["ADDED a", "ADDED a"]
    assert len(api.asked) == 3


async def test_an_object_is_deleted_once() -> None:
    deleted = event("DELETED", "a")
    seen, _ = await follow([event("ADDED", "a"), END, deleted], [END, deleted])
    assert seen == ["ADDED a", "DELETED a"]


async def test_config_maps_are_found_by_namespace_and_report_their_listeners() -> None:
    rounds = [event("ADDED", "a", "1"), END], [event("ADDED", "a", "2"), END]
    api = ScriptedApi(*rounds)
    maps = ConfigMaps(api)
    told: list[str] = []
    with maps.listening("shop", lambda: told.append("shop")):
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            running = group.create_task(maps.reflector.run())
            await api.exhausted.wait()
            running.cancel()
    assert maps.of("shop")["a"]["metadata"]["uid"] == "2"
    assert "a" not in maps.of("elsewhere")
    assert told == ["shop"] * 3
