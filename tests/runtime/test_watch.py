"""A watch gives the whole state, then each change once, whatever happens to its streams."""

import asyncio
import contextlib

import pytest

from shared_api.kube.client import Selector
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import PODS
from shared_api.runtime.clock import Clock
from shared_api.runtime.watching.reflector import Advanced, Reflector, Source, Synced, WatchTiming
from tests.faults.clients import scripted
from tests.faults.scripted import (
    Reply,
    ScriptedServer,
    answer,
    cut,
    failure,
    hang_up,
    silence,
    stream,
)
from tests.runtime.watch_scripts import (
    added,
    bookmark,
    collect,
    deleted,
    deltas,
    error,
    item,
    modified,
    reflector,
)

pytestmark = pytest.mark.virtual_time

STATE = stream(added("a", 5), added("b", 3), bookmark(9, end=True))
STATE_OPEN = stream(added("a", 5), bookmark(9, end=True), then=silence)
REFUSED = failure(422, "Invalid", message="sendInitialEvents is forbidden for watch")


def versions(server: ScriptedServer) -> list[str]:
    """What each request asked for: the state, a list, or what came after a version."""
    asked = []
    for received in server.received:
        query = received.query
        if "sendInitialEvents" in query:
            asked.append("state")
        elif "watch" in query:
            asked.append(f"after {query['resourceVersion']}")
        else:
            asked.append("list")
    return asked


async def test_the_state_is_streamed_and_then_followed_in_the_same_stream(clock: Clock) -> None:
    opened = stream(
        added("a", 5), added("b", 3), bookmark(9, end=True), modified("a", 10), deleted("b", 11),
        bookmark(15), then=silence,
    )  # fmt: skip
    async with scripted(opened) as (server, client):
        seen = await collect(reflector(client, clock), 7)

    assert seen == ["restarted", "a@5", "b@3", "synced@9", "a@10", "-b@11", "to@15"]
    assert versions(server) == ["state"]


async def test_the_request_asks_for_what_the_server_needs_to_stream_the_state(clock: Clock) -> None:
    async with scripted(STATE_OPEN) as (server, client):
        await collect(reflector(client, clock), 3)

    assert server.received[0].query == {
        "watch": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


async def test_a_server_that_cannot_stream_the_state_is_listed_in_pages(clock: Clock) -> None:
    first = answer(
        200, {"metadata": {"resourceVersion": "20", "continue": "t"}, "items": [item("a", 5)]}
    )
    second = answer(200, {"metadata": {"resourceVersion": "20"}, "items": [item("b", 7)]})
    changes = stream(modified("a", 21), then=silence)
    async with scripted(REFUSED, first, second, changes) as (server, client):
        seen = await collect(reflector(client, clock), 6)

    assert seen == ["restarted", "restarted", "a@5", "b@7", "synced@20", "a@21"]
    assert versions(server) == ["state", "list", "list", "after 20"]
    assert server.received[1].query == {"limit": "500"}
    assert server.received[2].query == {"limit": "500", "continue": "t"}


async def test_a_server_that_never_completes_the_state_is_listed_instead(clock: Clock) -> None:
    listed = answer(200, {"metadata": {"resourceVersion": "20"}, "items": [item("a", 5)]})
    async with scripted(stream(added("a", 5), then=silence), listed) as (server, client):
        seen = await collect(reflector(client, clock), 5)

    assert seen == ["restarted", "a@5", "restarted", "a@5", "synced@20"]
    assert versions(server) == ["state", "list"]


async def test_streaming_the_state_is_tried_again_after_a_list(clock: Clock) -> None:
    listed = answer(200, {"metadata": {"resourceVersion": "20"}, "items": []})
    async with scripted(silence, listed, failure(410, "Expired"), STATE_OPEN) as (server, client):
        await collect(reflector(client, clock), 6)

    assert versions(server) == ["state", "list", "after 20", "state"]


@pytest.mark.parametrize(
    "end",
    [
        stream(modified("a", 10), bookmark(12)),
        stream(modified("a", 10), bookmark(12), then=cut),
        stream(modified("a", 10), bookmark(12), then=hang_up),
        stream(modified("a", 10), bookmark(12), b"garbage\n"),
        stream(modified("a", 10), bookmark(12), b'{"type":"MODIFIED","object":'),
        stream(modified("a", 10), bookmark(12), error(500, "InternalError")),
        stream(modified("a", 10), bookmark(12), then=silence),
    ],
    ids=["ended", "cut", "reset", "garbage", "half a line", "error", "silent"],
)
async def test_a_stream_is_taken_up_where_it_ended(clock: Clock, end: Reply) -> None:
    async with scripted(
        STATE,
        end,
        stream(modified("a", 13), then=silence),
    ) as (server, client):
        seen = await collect(reflector(client, clock), 7)

    assert seen == ["restarted", "a@5", "b@3", "synced@9", "a@10", "to@12", "a@13"]
    assert versions(server) == ["state", "after 9", "after 12"]


@pytest.mark.parametrize(
    "gone",
    [
        failure(410, "Expired"),
        stream(error(410, "Expired")),
        stream(modified("a", 10), error(410, "Gone")),
    ],
    ids=["at once", "first event", "mid-stream"],
)
async def test_a_version_that_the_server_forgot_begins_again(clock: Clock, gone: Reply) -> None:
    again = stream(added("b", 30), bookmark(40, end=True), then=silence)
    async with scripted(STATE, gone, again) as (server, client):
        source = reflector(client, clock)
        seen = [word for word in await collect(source, 7) if word != "a@10"]

    assert seen[:6] == ["restarted", "a@5", "b@3", "synced@9", "restarted", "b@30"]
    assert versions(server) == ["state", "after 9", "state"]


async def test_a_version_from_the_future_begins_again(clock: Clock) -> None:
    future = answer(504, {"kind": "Status", "code": 504, "reason": "Timeout", "message": "Too large",
                          "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}})  # fmt: skip
    async with scripted(STATE, future, STATE_OPEN) as (server, client):
        await collect(reflector(client, clock), 7)

    assert versions(server) == ["state", "after 9", "state"]


async def test_a_state_that_breaks_off_is_sent_again_from_the_start(clock: Clock) -> None:
    async with scripted(stream(added("a", 5), then=hang_up), STATE_OPEN) as (server, client):
        seen = await collect(reflector(client, clock), 5)

    assert seen == ["restarted", "a@5", "restarted", "a@5", "synced@9"]
    assert versions(server) == ["state", "state"]


async def test_a_server_that_ends_every_stream_at_once_is_not_hammered(clock: Clock) -> None:
    async with scripted(STATE, stream()) as (server, client):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(120):
                await collect(reflector(client, clock), 100)

    assert 10 <= len(server.received) <= 25


@pytest.mark.parametrize(
    "fault", [failure(500, "InternalError"), answer(503, b"<html>"), hang_up, answer(200, b"{}")]
)
async def test_a_server_that_always_fails_is_not_hammered(clock: Clock, fault: Reply) -> None:
    async with scripted(fault) as (server, client):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(120):
                await collect(reflector(client, clock), 100)

    # A reading request whose connection was reset is repeated once below the client.
    assert 10 <= len(server.received) <= 50


async def test_pauses_begin_small_again_after_a_healthy_stream(clock: Clock) -> None:
    async def break_after_a_minute(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)
        await hang_up(writer)

    failing = [failure(500, "InternalError")] * 8
    async with (
        scripted(
            *failing,
            stream(bookmark(9, end=True), then=break_after_a_minute),
            stream(bookmark(10), then=silence),
        ) as (_, client),
        contextlib.aclosing(deltas(reflector(client, clock))) as told,
    ):
        while not isinstance(await anext(told), Synced):
            pass
        began = clock.monotonic()
        assert isinstance(await anext(told), Advanced)

    assert clock.monotonic() - began <= 60.5


async def test_the_server_may_name_the_time_of_the_next_attempt(clock: Clock) -> None:
    async with scripted(failure(429, "TooManyRequests", retry_after=30), STATE_OPEN) as (_, client):
        await collect(reflector(client, clock), 4)

    assert 30 <= clock.monotonic() <= 31


async def test_a_half_open_connection_is_noticed_within_75_seconds(clock: Clock) -> None:
    resumed = stream(modified("a", 10), then=silence)
    async with scripted(STATE_OPEN, resumed) as (server, client):
        await collect(Reflector(client, Source(PODS, PartialObject), clock=clock), 4)

    assert versions(server) == ["state", "after 9"]
    assert clock.monotonic() <= 75


async def test_staleness_is_the_time_since_the_server_was_heard(clock: Clock) -> None:
    async with scripted(STATE_OPEN) as (_, client):
        source = reflector(client, clock)
        assert source.stale_for() == float("inf")
        async with contextlib.aclosing(deltas(source)) as told:
            for _ in range(3):
                await anext(told)
            assert source.stale_for() == 0
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(50):
                    await anext(told)

    assert source.stale_for() == 50


async def test_an_idle_watch_is_never_stale_for_longer_than_its_silence(clock: Clock) -> None:
    async with scripted(STATE_OPEN, stream(then=silence)) as (server, client):
        source = reflector(client, clock)
        async with contextlib.aclosing(deltas(source)) as told:
            for _ in range(3):
                await anext(told)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1000):
                    await anext(told)

    assert source.stale_for() <= 71
    assert versions(server) == ["state"] + ["after 9"] * 14


async def test_restarts_are_reported_with_their_reason(clock: Clock) -> None:
    told: list[tuple[str, str]] = []
    async with scripted(
        STATE, stream(), failure(500, "InternalError"), failure(410, "Expired"), STATE_OPEN
    ) as (_, client):
        source = reflector(client, clock, on_restart=lambda *what: told.append(what))
        await collect(source, 7)

    assert told == [("pods", "Ended"), ("pods", "ServerError"), ("pods", "Gone")]
    assert source.last_error is None


async def test_selectors_and_metadata_only_reach_the_server(clock: Clock) -> None:
    listed = answer(200, {"metadata": {"resourceVersion": "20"}, "items": []})
    wanted = Source(
        PODS,
        PartialObject,
        "team",
        Selector(labels="app=x", fields="spec.nodeName=n"),
        metadata_only=True,
    )
    async with scripted(REFUSED, listed, stream(bookmark(21), then=silence)) as (server, client):
        await collect(Reflector(client, wanted, clock=clock), 4)

    for received in server.received:
        assert received.target.startswith("/api/v1/namespaces/team/pods?")
        assert received.query["labelSelector"] == "app=x"
        assert received.query["fieldSelector"] == "spec.nodeName=n"
        assert "as=PartialObjectMetadata" in received.headers["accept"]


async def test_streams_end_at_different_times_on_the_server(clock: Clock) -> None:
    async with scripted(STATE, stream(bookmark(10), then=silence)) as (server, client):
        rolls = iter([0.0, 0.5])
        timing = WatchTiming(random=lambda: next(rolls))
        await collect(reflector(client, clock, timing=timing), 5)

    assert [received.query["timeoutSeconds"] for received in server.received] == ["300", "450"]


async def test_a_kind_that_the_server_lacks_is_an_empty_state_until_it_appears(
    clock: Clock,
) -> None:
    served: list[bool] = []
    absent = failure(404, "NotFound")
    appeared = stream(added("a", 5), bookmark(9, end=True))
    back = stream(added("c", 12), bookmark(20, end=True), then=silence)
    async with scripted(absent, absent, appeared, absent, absent, back) as (_, client):
        source = Source(PODS, PartialObject, optional=True)
        follower = Reflector(
            client,
            source,
            timing=WatchTiming(random=lambda: 0.0),
            clock=clock,
            on_served=served.append,
        )
        seen = await collect(follower, 17)
    # Asked anew each time it is absent, and never left waiting for a state.
    gone = ["restarted", "restarted", "synced@"]
    state = ["restarted", "a@5", "synced@9"]
    assert seen == [
        *gone,
        *gone,
        *state,
        "restarted",
        "synced@",
        *gone,
        "restarted",
        "c@12",
        "synced@20",
    ]
    assert served == [False, True, False, True]


async def test_a_kind_that_must_be_there_is_waited_for(clock: Clock) -> None:
    async with scripted(failure(404, "NotFound"), STATE_OPEN) as (_, client):
        seen = await collect(reflector(client, clock), 4)
    assert seen == ["restarted", "restarted", "a@5", "synced@9"]
