"""Short requests over kept connections: nobody ever gets another's answer."""

import asyncio
import contextlib
import json
import os
import tempfile
import traceback
from pathlib import Path

import pytest

from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client, WatchStart
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import (
    BadResponse,
    ConfigError,
    ConnectionLost,
    Invalid,
    ServerError,
    Timeout,
    TransportError,
)
from shared_api.kube.http import pool as wire
from shared_api.kube.http.pool import ConnectionLimits
from shared_api.kube.resources import CONFIGMAPS, PODS
from shared_api.kube.retry import RetryPolicy
from tests.faults.clients import Pauses, scripted, write_kubeconfig
from tests.faults.scripted import Reply, answer, failure, raw, stream


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
        late, answer(200, named("own")), limits=ConnectionLimits(attempt=0.2), attempts=1
    ) as (_, client):
        with pytest.raises(Timeout):
            await get(client)
        release.set()
        assert await get(client) == "own"


async def test_a_server_that_serves_unasked_is_left() -> None:
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


@pytest.mark.parametrize(
    "token", ["s3cr\r\nX-Other: b", "s3cr\rb", "s3cr\0", "s3cr\u20ac", "s3cr\xe9", "s3cr\ud800"]
)
async def test_a_token_that_no_header_can_carry_is_refused_and_not_quoted(token: str) -> None:
    with pytest.raises(ConfigError, match="no header can carry") as caught:
        async with scripted(answer(200, named("own")), token=token):
            pass
    assert "s3cr" not in "".join(traceback.format_exception(caught.value))


async def test_the_line_break_at_the_end_of_a_token_file_is_not_part_of_the_token() -> None:
    async with scripted(answer(200, named("own")), token="secret\n") as (server, client):
        assert await get(client) == "own"
    assert server.received[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("status", [100, 102, 103])
async def test_an_interim_answer_is_not_the_answer(status: int, count: int) -> None:
    interim = f"HTTP/1.1 {status} Wait\r\nRetry-After: 9\r\nLink: </style.css>\r\n\r\n".encode()

    def after(final: Reply) -> Reply:
        async def reply(writer: asyncio.StreamWriter) -> None:
            for _ in range(count):
                writer.write(interim)
                await writer.drain()
            await final(writer)

        return reply

    replies = [after(answer(200, named(name))) for name in ("one", "two")]
    async with scripted(*replies, after(failure(500, "x")), attempts=1) as (_, client):
        assert await get(client) == "one"
        assert await get(client) == "two"
        with pytest.raises(ServerError) as caught:
            await get(client)
    assert caught.value.retry_after is None, "what the interim answer said is not the answer's"


async def test_a_stream_begins_after_its_interim_answers() -> None:
    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await writer.drain()
        await stream({"a": 1})(writer)

    async with scripted(reply) as (_, client):
        found = client.watch_batches(PODS, start=WatchStart(resource_version="1"))
        assert [bytes(line) async for batch in found for line in batch] == [b'{"a": 1}']


@pytest.mark.parametrize("headers", [b"", b"Upgrade: h2c\r\nConnection: Upgrade\r\n"])
async def test_a_change_of_protocol_is_refused_and_the_connection_closed(headers: bytes) -> None:
    async def switch(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\n" + headers + b"\r\n")
        await answer(200, named("other"))(writer)

    async with scripted(switch, answer(200, named("own")), attempts=1) as (_, client):
        with pytest.raises(BadResponse, match="101 Switching Protocols"):
            await get(client)
        assert await get(client) == "own"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 " + b"O" * 200_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 8_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;ext=",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 200_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: ",
    ],
    ids=["header", "reason", "headers", "interim", "extension", "chunk size", "trailer"],
)
async def test_what_is_not_body_is_bounded(head: bytes) -> None:
    ended = asyncio.Event()

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        try:
            while True:
                writer.write(b"x" * 10_000 if head.endswith((b" ", b"=")) else b"")
                await writer.drain()
                await asyncio.sleep(0)
        finally:
            ended.set()

    async with scripted(endless, attempts=1) as (_, client), asyncio.timeout(30):
        with pytest.raises(BadResponse, match="65536 bytes that are not body"):
            await get(client)
        with pytest.raises(BadResponse, match="65536 bytes that are not body"):
            await anext(client.watch_batches(PODS, start=WatchStart(resource_version="1")))
        await ended.wait()


async def test_an_answer_that_waits_in_the_socket_is_not_the_next_ones() -> None:
    answered, sent = asyncio.Event(), asyncio.Event()

    async def chatty(writer: asyncio.StreamWriter) -> None:
        await answer(200, named("own"))(writer)
        await answered.wait()
        # Straight into the socket, so that the client sends again before its loop reads.
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n"
        body = b'{"metadata":{"name":"stale"}}'
        os.write(writer.get_extra_info("socket").fileno(), head + body)
        sent.set()

    async with scripted(chatty, answer(200, named("second")), attempts=1) as (_, client):
        assert await get(client) == "own"
        answered.set()
        await sent.wait()
        assert await get(client) == "second"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
        b"HTTP/1.1 200",
    ],
)
async def test_an_answer_whose_end_is_in_doubt_is_no_answer(head: bytes) -> None:
    async with scripted(raw(head + b"{}" * head.endswith(b"\r\n\r\n")), attempts=1) as (_, client):
        # The answer to a delete is not decoded, so that nothing else would notice.
        with pytest.raises(TransportError):
            await client.delete(CONFIGMAPS, "a", "b", uid="c")


async def test_a_connection_whose_request_was_not_read_whole_is_not_used_again(
    tmp_path: Path,
) -> None:
    peers: list[asyncio.StreamWriter] = []
    over = asyncio.Event()
    body = json.dumps(named("own")).encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        status = b"413 Too Large" if len(peers) == 1 else b"200 OK"
        writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        # A server that goes on would find the rest of the body where it expects a request.
        await over.wait()
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1024)
    host, port = server.sockets[0].getsockname()
    path = write_kubeconfig(tmp_path, f"http://{host}:{port}")
    large = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y" * 30_000_000}}
    try:
        once = RetryPolicy(sleep=Pauses(), attempts=1)
        async with Client(from_kubeconfig(path), retry=once) as client:
            with pytest.raises(Invalid):
                await client.create(
                    CONFIGMAPS,
                    {**large, "metadata": {"name": "a", "namespace": "b"}},
                    field_manager="test",
                    into=PartialObject,
                )
            assert await get(client) == "own"
    finally:
        over.set()
        server.close()
        await server.wait_closed()
    assert len(peers) == 2


async def test_a_connection_that_cannot_be_guarded_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        closed.set()

    def fails(opened: object) -> None:
        raise OSError("no such option")

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        with tempfile.TemporaryDirectory() as directory:
            path = write_kubeconfig(Path(directory), f"http://{host}:{port}")
            retry = RetryPolicy(sleep=Pauses(), attempts=1)
            monkeypatch.setattr(wire, "guard", fails)
            async with Client(from_kubeconfig(path), retry=retry) as client:
                with pytest.raises(ConnectionLost, match="no such option") as caught:
                    await get(client)
                assert not caught.value.sent
                async with asyncio.timeout(30):
                    await closed.wait()
