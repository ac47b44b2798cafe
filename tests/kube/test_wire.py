"""Short requests over kept connections: nobody ever gets another's answer."""

import asyncio

import pytest

from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import ConfigError, ConnectionLost, ServerError, Timeout
from shared_api.kube.resources import CONFIGMAPS
from shared_api.kube.wire import Limits
from tests.faults.clients import scripted
from tests.faults.scripted import answer, raw


def named(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


async def get(client: Client) -> str:
    found = await client.get(CONFIGMAPS, "a", "b", into=PartialObject)
    return found.metadata.name


async def test_an_answer_that_comes_too_late_is_nobodys() -> None:
    release = asyncio.Event()

    async def late(writer: asyncio.StreamWriter) -> None:
        await release.wait()
        await answer(200, named("late"))(writer)

    async with scripted(
        late, answer(200, named("own")), limits=Limits(attempt=0.2), attempts=1
    ) as (_, client):
        with pytest.raises(Timeout):
            await get(client)
        release.set()
        assert await get(client) == "own"


async def test_a_server_that_speaks_unasked_is_left() -> None:
    twice = b"HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n" + b'{"metadata":{"name":"own"}}'

    async with scripted(raw(twice + twice), answer(200, named("second"))) as (_, client):
        assert await get(client) == "own"
        assert await get(client) == "second"


async def test_an_error_page_without_a_length_ends_with_its_connection() -> None:
    page = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 7\r\n\r\n<html>try later</html>"

    async with scripted(raw(page), attempts=1) as (_, client):
        with pytest.raises(ServerError) as caught:
            await get(client)
    assert caught.value.retry_after == 7


async def test_an_answer_that_breaks_off_is_a_lost_connection() -> None:
    half = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"metadata":'

    async with scripted(raw(half), attempts=1) as (_, client):
        with pytest.raises(ConnectionLost):
            await get(client)


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 27\r\n\r\n"
    closing = head + b'{"metadata":{"name":"one"}}'

    async with scripted(raw(closing), answer(200, named("two")), attempts=1) as (_, client):
        assert await get(client) == "one"
        assert await get(client) == "two"


async def test_a_line_break_in_a_token_cannot_add_headers() -> None:
    async with scripted(answer(200, named("own")), token="a\r\nX-Other: b") as (server, client):
        with pytest.raises(ConfigError, match="line break"):
            await get(client)
    assert server.received == []
