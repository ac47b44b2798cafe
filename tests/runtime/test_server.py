"""The three pages of a process."""

from collections.abc import Mapping

import aiohttp
import pytest

from shared_api.runtime.server import Address, Check, Server
from shared_api.runtime.telemetry import Telemetry

LOOPBACK = Address("127.0.0.1", 0)


async def fetch(
    path: str, live: Mapping[str, Check], ready: Mapping[str, Check]
) -> tuple[int, str]:
    telemetry = Telemetry()
    telemetry.request("APPLY", "pods", 200, 0.01)
    async with (
        Server(LOOPBACK, telemetry.registry, live=live, ready=ready) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
        session.get(path) as response,
    ):
        return response.status, await response.text()


def fine() -> str | None:
    return None


def broken() -> str | None:
    return "has heard nothing for 81 s"


async def test_a_healthy_process_says_ok() -> None:
    assert await fetch("/readyz", {}, {"watch pods": fine}) == (200, "ok")
    assert await fetch("/livez", {}, {}) == (200, "ok")


async def test_readiness_names_what_is_wrong() -> None:
    status, text = await fetch("/readyz", {}, {"watch pods": broken, "watch gangs": fine})
    assert status == 503
    assert text == "[+] watch gangs ok\n[-] watch pods has heard nothing for 81 s\nfailed\n"


async def test_a_process_that_is_not_ready_still_lives() -> None:
    assert (await fetch("/livez", {"loop": fine}, {"watch pods": broken}))[0] == 200


async def test_all_checks_are_shown_on_request() -> None:
    assert await fetch("/readyz?verbose", {}, {"watch pods": fine}) == (
        200,
        "[+] watch pods ok\nok\n",
    )


async def test_metrics_are_those_of_the_given_registry() -> None:
    status, text = await fetch("/metrics", {}, {})
    assert status == 200
    assert (
        'rest_client_requests_total{code="200",method="PATCH",resource="pods",verb="APPLY"} 1.0'
        in text
    )
    assert "python_gc" not in text


@pytest.mark.parametrize("path", ["/", "/debug", "/healthz/x"])
async def test_there_is_nothing_else(path: str) -> None:
    assert (await fetch(path, {}, {}))[0] == 404
