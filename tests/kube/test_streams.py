"""Streams: read as they come, held back when nobody reads, and never left open."""

import asyncio
import contextlib
import gc
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client, WatchStart
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import ConnectionLost, Forbidden, Gone, Timeout
from shared_api.kube.http.connection import Connection
from shared_api.kube.http.transport import Line
from shared_api.kube.resources import CONFIGMAPS, PODS
from shared_api.kube.retry import RetryPolicy
from tests.faults.clients import Pauses, scripted, write_kubeconfig
from tests.faults.scripted import (
    Reply,
    ScriptedServer,
    answer,
    failure,
    hang_up,
    raw,
    silence,
    stream,
)
from tests.faults.transports import HEAD, chunk, opened_stream, receive


def batches(client: Client, inactivity: float = 60.0) -> AsyncGenerator[list[Line], None]:
    start = WatchStart(resource_version="1", inactivity=inactivity)
    return client.watch_batches(PODS, start=start)


async def lines(client: Client) -> list[bytes]:
    return [bytes(line) async for batch in batches(client) for line in batch]


@contextlib.asynccontextmanager
async def behind_a_proxy(*replies: Reply) -> AsyncGenerator[tuple[ScriptedServer, Client], None]:
    """The scripted server is the proxy, so it sees requests for a server that does not exist."""
    with tempfile.TemporaryDirectory() as directory:
        async with ScriptedServer(list(replies)) as server:
            nowhere: dict[str, object] = {"proxy-url": server.url}
            path = write_kubeconfig(Path(directory), "http://nowhere.invalid:1", None, **nowhere)
            retry = RetryPolicy(sleep=Pauses(), attempts=1)
            async with Client(from_kubeconfig(path), retry=retry) as client:
                yield server, client


async def test_a_reader_who_is_busy_holds_the_server_back() -> None:
    connection, transport = await opened_stream(most=1000)
    receive(connection, chunk(b"x" * 600))
    assert transport.told == ["write"]
    receive(connection, chunk(b"x" * 600))
    assert transport.told == ["write", "pause"]
    assert sum(map(len, await connection.parts(deadline=0.0))) == 1200
    assert transport.told == ["write", "pause", "resume"]


async def test_what_came_before_a_stream_broke_is_still_read() -> None:
    connection, _ = await opened_stream()
    receive(connection, chunk(b"a\n"))
    connection.connection_lost(None)
    assert await connection.parts(deadline=0.0) == [b"a\n"]
    with pytest.raises(ConnectionLost):
        await connection.parts(deadline=0.0)


async def test_a_large_event_is_put_together_from_many_reads() -> None:
    event = b'{"a":"' + b"x" * 3_000_000 + b'"}'
    async with scripted(stream(event + b"\n", b"{}\n")) as (_, client):
        assert await lines(client) == [event, b"{}"]


async def test_a_stream_without_a_length_ends_with_its_connection() -> None:
    async with scripted(raw(b"HTTP/1.0 200 OK\r\n\r\n{}\n")) as (_, client):
        assert await lines(client) == [b"{}"]


async def test_a_refusal_reports_why() -> None:
    async with scripted(failure(403, "Forbidden", message="not you")) as (_, client):
        with pytest.raises(Forbidden, match="not you"):
            await lines(client)


async def test_a_stream_that_is_given_up_is_closed(tmp_path: Path) -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + chunk(b"{}\n"))
        await reader.read()
        writer.close()
        closed.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        path = write_kubeconfig(tmp_path, f"http://{host}:{port}")
        async with Client.from_kubeconfig(path) as client:
            async with contextlib.aclosing(batches(client)) as found:
                assert [bytes(line) for line in await anext(found)] == [b"{}"]
            async with asyncio.timeout(60):
                await closed.wait()


async def test_a_connection_that_has_ended_is_not_left_to_the_collector() -> None:
    def alive() -> int:
        return sum(isinstance(each, Connection) for each in gc.get_objects())

    gc.collect()
    before = alive()
    gc.disable()
    try:
        async with scripted(stream(b"1\n"), answer(200, {"metadata": {"name": "a"}})) as (
            _,
            client,
        ):
            assert await lines(client) == [b"1"]
            await client.get(CONFIGMAPS, "a", "b", into=PartialObject)
        assert alive() == before
    finally:
        gc.enable()


async def test_a_client_that_closes_ends_its_streams() -> None:
    async with (
        scripted(stream({"a": 1}, then=silence)) as (_, client),
        contextlib.aclosing(batches(client)) as found,
    ):
        await anext(found)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_ends(found))
            await asyncio.sleep(0)
            await client.__aexit__(None, None, None)
        assert isinstance(waiting.result(), ConnectionLost)


async def _ends(found: AsyncGenerator[list[Line], None]) -> BaseException | None:
    try:
        await anext(found)
    except ConnectionLost as error:
        return error
    return None


async def test_behind_a_proxy_requests_and_streams_go_through_it() -> None:
    named = {"metadata": {"name": "a"}}
    async with behind_a_proxy(answer(200, named), stream({"b": 1})) as (server, client):
        assert (await client.get(CONFIGMAPS, "a", "b", into=PartialObject)).metadata.name == "a"
        assert await lines(client) == [b'{"b": 1}']
    assert all(
        request.target.startswith("http://nowhere.invalid:1/") for request in server.received
    )


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (failure(410, "Expired"), Gone),
        (hang_up, ConnectionLost),
        (stream({"a": 1}, then=hang_up), ConnectionLost),
        (stream(b'{"a'), ConnectionLost),
    ],
    ids=["refused", "hung up", "broken", "cut"],
)
async def test_behind_a_proxy_faults_are_of_our_tree(fault: Reply, error: type[Exception]) -> None:
    async with behind_a_proxy(fault) as (_, client):
        with pytest.raises(error):
            await lines(client)


async def test_behind_a_proxy_a_silent_stream_is_given_up() -> None:
    async with behind_a_proxy(stream({"a": 1}, then=silence)) as (_, client):
        with pytest.raises(Timeout, match="silent"):
            async for _batch in batches(client, inactivity=0.1):
                pass
