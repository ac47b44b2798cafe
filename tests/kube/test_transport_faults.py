"""A server that misbehaves: each fault ends in one error of our tree, in bounded time."""

import asyncio

import pytest

from shared_api.kube.client import Client, WatchStart
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import (
    BadResponse,
    ConnectionLost,
    Invalid,
    Redirected,
    ServerError,
    Timeout,
    TooManyRequests,
)
from shared_api.kube.http.slots import Urgency
from shared_api.kube.http.transport import ConnectionLimits
from shared_api.kube.resources import CONFIGMAPS, PODS
from tests.faults.clients import Pauses, scripted
from tests.faults.scripted import (
    Reply,
    ScriptedServer,
    answer,
    cut,
    dribble,
    failure,
    hang_up,
    raw,
    silence,
    stream,
)

OBJECT = {"metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}}
MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
QUICK = ConnectionLimits(attempt=0.2)


async def get(client: Client) -> PartialObject:
    return await client.get(CONFIGMAPS, "a", "b", into=PartialObject)


async def create(client: Client) -> PartialObject:
    return await client.create(CONFIGMAPS, MANIFEST, field_manager="test", into=PartialObject)


async def lines(client: Client, inactivity: float = 5.0) -> list[bytes]:
    start = WatchStart(resource_version="1", inactivity=inactivity)
    batches = client.watch_batches(PODS, start=start)
    return [bytes(line) async for lines in batches for line in lines]


async def test_a_storm_of_failures_is_survived_with_growing_pauses() -> None:
    storm = [
        failure(500, "InternalError"),
        answer(503, b"<html>"),
        failure(429, "x", retry_after=3),
    ]
    pauses = Pauses()
    async with scripted(*storm, hang_up, answer(200, OBJECT), pauses=pauses) as (server, client):
        assert (await get(client)).metadata.uid == "c"

    assert len(server.received) >= 5
    assert pauses.taken[0] < pauses.taken[1] < 1
    assert pauses.taken[2] >= 3, "the server asked for three seconds"


async def test_a_storm_that_does_not_end_is_given_up() -> None:
    async with scripted(failure(429, "TooManyRequests", retry_after=1)) as (server, client):
        with pytest.raises(TooManyRequests):
            await get(client)

    assert len(server.received) == 6


@pytest.mark.parametrize("fault", [failure(500, "InternalError"), hang_up, answer(200, b"x")])
async def test_a_create_that_may_have_arrived_is_not_repeated(fault: Reply) -> None:
    async with scripted(fault, answer(201, OBJECT)) as (server, client):
        with pytest.raises((ServerError, ConnectionLost, BadResponse)):
            await create(client)

    assert len(server.received) == 1


async def test_a_create_that_was_throttled_is_repeated() -> None:
    async with scripted(failure(429, "x", retry_after=1), answer(201, OBJECT)) as (_, client):
        assert (await create(client)).metadata.name == "a"


async def test_an_eviction_that_a_budget_refuses_is_not_repeated() -> None:
    async with scripted(failure(429, "TooManyRequests")) as (server, client):
        with pytest.raises(TooManyRequests):
            await get(client)

    assert len(server.received) == 1


async def test_a_refusal_is_not_repeated() -> None:
    async with scripted(failure(422, "Invalid")) as (server, client):
        with pytest.raises(Invalid):
            await get(client)

    assert len(server.received) == 1


async def test_a_server_that_is_not_there_is_a_lost_connection_and_retried() -> None:
    pauses = Pauses()
    async with scripted(silence, pauses=pauses) as (server, client):
        await server.stop()
        with pytest.raises(ConnectionLost) as caught:
            await create(client)

    assert not caught.value.sent
    assert len(pauses.taken) == 5


@pytest.mark.parametrize("fault", [silence, dribble(b"x" * 100, 0.05)], ids=["silent", "dribbling"])
async def test_no_answer_outlasts_its_deadline(fault: Reply) -> None:
    async with scripted(fault, limits=QUICK) as (_, client), asyncio.timeout(5):
        with pytest.raises(Timeout):
            await create(client)


async def test_a_burst_waits_for_its_turn_and_fails_nothing() -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        await answer(200, OBJECT)(writer)

    async with (
        scripted(slow, limits=ConnectionLimits(attempt=0.4, in_flight=1)) as (server, client),
        asyncio.TaskGroup() as group,
    ):
        for _ in range(6):
            group.create_task(create(client))

    assert len(server.received) == 6


async def test_requests_in_flight_are_bounded() -> None:
    busy, most, gate = 0, 0, asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        if busy == 3:
            gate.set()
        await gate.wait()
        busy -= 1
        await answer(200, OBJECT)(writer)

    async with (
        scripted(slow, limits=ConnectionLimits(in_flight=3)) as (_, client),
        asyncio.timeout(5),
        asyncio.TaskGroup() as group,
    ):
        for _ in range(20):
            group.create_task(get(client))

    assert most == 3


async def test_an_urgent_request_goes_before_those_that_wait() -> None:
    async with (
        scripted(answer(200, OBJECT), limits=ConnectionLimits(in_flight=1)) as (server, client),
        asyncio.TaskGroup() as group,
    ):
        for _ in range(3):
            group.create_task(get(client.at(Urgency.BEGIN)))
        group.create_task(create(client.at(Urgency.FINISH)))

    assert [request.method for request in server.received] == ["GET", "POST", "GET", "GET"]


async def test_an_answer_that_is_too_large_is_not_read() -> None:
    limits = ConnectionLimits(body=1000)
    async with scripted(answer(200, b"x" * 1001), limits=limits) as (_, client):
        with pytest.raises(BadResponse, match="more than 1000 bytes"):
            await create(client)
    async with scripted(stream(b"x" * 600, b"x" * 600), limits=limits) as (_, client):
        with pytest.raises(BadResponse, match="more than 1000 bytes"):
            await create(client)


async def test_a_page_of_a_proxy_is_no_object() -> None:
    async with scripted(answer(200, b"<html>Please log in</html>")) as (_, client):
        with pytest.raises(BadResponse):
            await get(client)


async def test_a_redirect_is_not_followed_with_our_credentials() -> None:
    async with (
        ScriptedServer([answer(200, OBJECT)]) as elsewhere,
        scripted(answer(302, b"", Location=f"{elsewhere.url}/login?t=hunter2")) as (_, client),
    ):
        for ask in (get, lines):
            with pytest.raises(
                Redirected, match=r"302 Redirect: .*127\.0\.0\.1/login, which"
            ) as caught:
                await ask(client)
            assert "hunter2" not in str(caught.value)

    assert elsewhere.received == []


@pytest.mark.parametrize("code", [408, 425])
async def test_a_server_that_did_not_wait_is_asked_again(code: int) -> None:
    async with scripted(failure(code, "Timeout"), answer(200, OBJECT)) as (_, client):
        assert (await get(client)).metadata.uid == "c"
    async with scripted(failure(code, "Timeout"), answer(201, OBJECT)) as (server, client):
        with pytest.raises(ServerError):
            await create(client)
    assert len(server.received) == 1, "a create may have been carried out"


async def test_what_is_no_http_is_a_lost_connection() -> None:
    async with scripted(raw(b"SSH-2.0-OpenSSH_9.2\r\n")) as (_, client):
        with pytest.raises(ConnectionLost):
            await create(client)


async def test_lines_are_put_together_from_any_chunks() -> None:
    async with scripted(stream(b'{"a"', b":1}\n{", b'"b":2}\n\n{"c":3}\n')) as (_, client):
        assert await lines(client) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


@pytest.mark.parametrize(
    "fault", [stream({"a": 1}, then=cut), stream({"a": 1}, then=hang_up), stream(b'{"a":1}\n{"b')]
)
async def test_a_stream_that_is_cut_off_is_a_lost_connection(fault: Reply) -> None:
    async with scripted(fault) as (_, client):
        with pytest.raises(ConnectionLost):
            await lines(client)


async def test_a_silent_stream_is_given_up() -> None:
    async with scripted(stream({"a": 1}, then=silence)) as (_, client):
        with pytest.raises(Timeout, match="silent"):
            await lines(client, inactivity=0.1)


async def test_a_stream_that_never_ends_a_line_is_given_up() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with scripted(stream(then=drip)) as (_, client), asyncio.timeout(5):
        with pytest.raises(Timeout):
            await lines(client, inactivity=0.2)


async def test_a_line_without_end_is_given_up() -> None:
    async with scripted(
        stream(b"x" * 5000, b"x" * 5000, then=silence), limits=ConnectionLimits(line=8000)
    ) as (_, client):
        with pytest.raises(BadResponse, match="a line of more than"):
            await lines(client)


async def test_connections_are_used_again() -> None:
    peers = set()

    async def note(writer: asyncio.StreamWriter) -> None:
        peers.add(writer.get_extra_info("peername"))
        await answer(200, OBJECT)(writer)

    async with scripted(note) as (_, client):
        for _ in range(5):
            await get(client)

    assert len(peers) == 1


async def test_every_attempt_is_observed_with_its_code() -> None:
    seen: list[tuple[str, str, int]] = []
    async with scripted(
        failure(500, "x"), answer(200, OBJECT), hang_up, observe=lambda *told: seen.append(told[:3])
    ) as (_, client):
        await get(client)
        with pytest.raises(ConnectionLost):
            await create(client)

    assert seen == [
        ("GET", "configmaps", 500),
        ("GET", "configmaps", 200),
        ("POST", "configmaps", 0),
    ]
