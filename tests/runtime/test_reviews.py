"""Who may read the metrics: what is asked, what is kept, and what happens without an answer."""

import asyncio
import json
from typing import Any

import pytest

from shared_api.kube.http.transport import ConnectionLimits
from shared_api.runtime.clock import Clock
from shared_api.runtime.serving.reviews import Reviews
from tests.faults.clients import scripted
from tests.faults.scripted import Reply, answer, failure, silence

USER = {
    "username": "system:serviceaccount:monitoring:prometheus",
    "uid": "1",
    "groups": ["system:authenticated"],
    "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]},
}
KNOWN = answer(201, {"status": {"authenticated": True, "user": USER}})
UNKNOWN = answer(201, {"status": {"authenticated": False, "error": "no"}})
ALLOWED = answer(201, {"status": {"allowed": True}})
REFUSED = answer(201, {"status": {"allowed": False}})


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.clock = Clock(monotonic=lambda: self.now)


def made(client: Any, time: Time | None = None, seconds: float = 30) -> Reviews:
    return Reviews(client, "toy", keep_seconds=seconds, clock=(time or Time()).clock)


async def ask(reviews: Reviews, token: str = "t0ken") -> int:
    return await reviews.status(f"Bearer {token}", "/metrics")


async def test_the_user_of_a_token_is_asked_for_by_everything_that_is_known_of_it() -> None:
    async with scripted(KNOWN, ALLOWED) as (server, client):
        assert await ask(made(client)) == 200
    token, access = (json.loads(request.body) for request in server.received)
    assert token["spec"] == {"token": "t0ken"}
    assert access["spec"] == {
        "user": USER["username"],
        "uid": "1",
        "groups": USER["groups"],
        "extra": USER["extra"],
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer t\xf6ken"])
async def test_without_a_token_nobody_is_asked(header: str) -> None:
    async with scripted(KNOWN) as (server, client):
        assert await made(client).status(header, "/metrics") == 401
        assert server.received == []


@pytest.mark.parametrize(
    ("replies", "status"), [([UNKNOWN], 401), ([KNOWN, REFUSED], 403), ([KNOWN, ALLOWED], 200)]
)
async def test_an_answer_is_kept_for_its_time_and_asked_for_again_after_it(
    replies: list[Reply], status: int
) -> None:
    time = Time()
    async with scripted(*replies, *replies) as (server, client):
        reviews = made(client, time)
        assert [await ask(reviews), await ask(reviews)] == [status, status]
        assert len(server.received) == len(replies)
        time.now += 30
        assert await ask(reviews) == status
        assert len(server.received) == 2 * len(replies)


@pytest.mark.parametrize(
    "reply",
    [failure(403, "Forbidden"), failure(500, "InternalError"), answer(201, b"<html>"), silence],
)
async def test_nobody_gets_in_without_an_answer_and_none_is_kept(reply: Reply) -> None:
    async with scripted(reply, limits=ConnectionLimits(attempt=0.1), attempts=1) as (
        server,
        client,
    ):
        reviews = made(client)
        assert [await ask(reviews), await ask(reviews)] == [503, 503]
        assert len(server.received) >= 2


async def test_scrapers_with_one_token_share_an_answer() -> None:
    async with scripted(KNOWN, ALLOWED) as (server, client):
        reviews = made(client)
        assert await ask(reviews, "first") == 200
        server.replies[:] = [KNOWN, KNOWN, ALLOWED]
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(reviews)) for _ in range(64)]
        assert {task.result() for task in asked} == {200}
        # Those that had their turn at the same time ask each by itself.
        assert len(server.received) <= 2 + 2 * 2


async def test_guessed_tokens_are_forgotten_and_displace_no_scraper() -> None:
    async with scripted(KNOWN, ALLOWED, UNKNOWN) as (server, client):
        reviews = made(client)
        assert await ask(reviews, "good") == 200
        for number in range(300):
            assert await ask(reviews, f"guess-{number}") == 401
        sent = len(server.received)
        assert await ask(reviews, "good") == 200
        assert await ask(reviews, "guess-299") == 401
        assert len(server.received) == sent
        assert await ask(reviews, "guess-0") == 401
        assert len(server.received) == sent + 1


async def test_no_token_is_kept() -> None:
    async with scripted(KNOWN, ALLOWED) as (_, client):
        reviews = made(client)
        assert await ask(reviews, "very-secret") == 200
        assert "very-secret" not in repr(vars(reviews))
