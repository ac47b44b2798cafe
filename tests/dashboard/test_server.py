"""The server: files, stream and details for who has the token; nothing for anybody else."""

import asyncio
from typing import Any

import aiohttp
import msgspec
import pytest

from gangctl.dashboard.files import MODULES
from tests.dashboard.fleets import usual
from tests.dashboard.served import Served, served


async def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, await answer.text(), dict(answer.headers)


async def messages(dashboard: Served, last_id: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Read the stream until it is complete."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    found: list[tuple[str, dict[str, Any]]] = []
    async with (
        asyncio.timeout(20),
        aiohttp.ClientSession(read_bufsize=2**22) as session,
        session.get(f"{dashboard.url}events", headers=headers) as answer,
    ):
        name = ""
        async for line in answer.content:
            if line.startswith(b"id: "):
                name = line[4:].strip().decode()
            if line.startswith(b"data: "):
                found.append((name, msgspec.json.decode(line[6:])))
                if _is_enough(dashboard, [one for _, one in found], bool(last_id)):
                    break
    return found


def _is_enough(dashboard: Served, found: list[dict[str, Any]], resumes: bool) -> bool:
    """A new reader waits for all sets, one that resumes for the first change."""
    keys = [key for message in found for key in message.get("put", {})]
    sets = sum(key.startswith("set/") for key in keys)
    return bool(keys) if resumes else sets >= len(dashboard.scene.caches.sets)


async def test_every_file_of_the_page_is_served_with_its_type_and_policy() -> None:
    async with served(usual()) as dashboard:
        for path in MODULES.iterdir():
            status, text, headers = await get(dashboard.url + path.name)
            assert status == 200, path.name
            assert text == path.read_text()
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert headers["Content-Type"].split("/")[0] in ("text", "image")
        assert (await get(dashboard.url))[1] == (MODULES / "index.html").read_text()


@pytest.mark.parametrize(
    "path", ["../server.py", "%2e%2e/server.py", "..%2fserver.py", "server.py", "nothing.js", "a/b"]
)
async def test_no_other_file_can_be_read(path: str) -> None:
    async with served(usual()) as dashboard:
        status, text, _ = await get(dashboard.url + path)
        assert status == 404
        assert "import" not in text


async def test_without_the_token_nothing_is_served() -> None:
    async with served(usual()) as dashboard:
        base = dashboard.url.rsplit("/", 2)[0]
        for path in ("/", "/wrong/", "/wrong/events", "/wrong/app.js", "/favicon.ico"):
            assert (await get(base + path))[0] == 404


async def test_a_foreign_host_or_origin_is_refused() -> None:
    async with served(usual()) as dashboard:
        assert (await get(dashboard.url, Host="evil.example"))[0] == 421
        events = f"{dashboard.url}events"
        assert (await get(events, Origin="http://evil.example"))[0] == 403


async def test_the_server_listens_on_loopback_only() -> None:
    async with served(usual()) as dashboard:
        assert dashboard.url.startswith("http://127.0.0.1:")


async def test_the_stream_sends_everything_and_then_only_changes() -> None:
    async with served(usual()) as dashboard:
        found = await messages(dashboard)
        keys = {key for _, message in found for key in message.get("put", {})}
        assert "gang/research/training-0" in keys
        dashboard.scene.other_pod("new", "node-31", 1)
        _, message = (await messages(dashboard, found[-1][0]))[-1]
        assert set(message["put"]) == {"node/node-31"}
        assert not message.get("reset")


async def test_a_reader_of_an_earlier_process_starts_over() -> None:
    async with served(usual()) as dashboard:
        _, message = (await messages(dashboard, "0badc0de-5"))[0]
        assert message["reset"]


async def test_details_of_a_gang_are_served_and_missing_ones_are_not_found() -> None:
    async with served(usual()) as dashboard:
        query = f"{dashboard.url}gang?namespace=research&name="
        status, text, _ = await get(f"{query}training-0")
        assert status == 200
        assert msgspec.json.decode(text)["shading"]["fitting"] == 10
        assert (await get(f"{query}nothing"))[0] == 404


async def test_more_pages_than_the_limit_are_refused() -> None:
    async with served(usual()) as dashboard, aiohttp.ClientSession() as session:
        opened = [await session.get(f"{dashboard.url}events") for _ in range(33)]
        assert [answer.status for answer in opened].count(503) == 1
        for answer in opened:
            answer.close()
