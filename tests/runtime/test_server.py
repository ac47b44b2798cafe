"""The three pages of a process."""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from local_cluster.certificates import Authority
from shared_api.runtime.configuration import SettingsError
from shared_api.runtime.serving.reviews import Reviews
from shared_api.runtime.serving.secure_metrics import Certificate, SecureMetrics
from shared_api.runtime.serving.server import Address, Check, Server
from shared_api.runtime.telemetry.metrics import Telemetry

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


async def test_a_healthy_process_reports_ok() -> None:
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


class Counting(Collector):
    """Families that say how often they were read, and let somebody see each being read."""

    def __init__(self) -> None:
        self.reads = 0
        self.turns = 0
        self.seen: list[int] = []

    def collect(self) -> Iterable[Metric]:
        self.reads += 1
        for number in range(3):
            self.seen.append(self.turns)
            yield GaugeMetricFamily(f"toy_{number}", "A toy.", value=self.reads)


async def test_metrics_are_rendered_once_for_all_who_ask_within_a_second() -> None:
    registry, collector = CollectorRegistry(), Counting()
    registry.register(collector)
    collector.reads = 0
    async with (
        Server(LOOPBACK, registry, live={}, ready={}) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
    ):

        async def page() -> str:
            async with session.get("/metrics") as response:
                return await response.text()

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(page()) for _ in range(20)]
        assert len({task.result() for task in asked}) == 1
        assert collector.reads == 1
        async with asyncio.timeout(20):
            while "toy_2 2.0" not in await page():
                assert collector.reads == 1


async def test_others_have_their_turn_while_metrics_are_rendered() -> None:
    registry, collector = CollectorRegistry(), Counting()
    registry.register(collector)
    collector.seen.clear()

    async def live_on() -> None:
        while True:
            collector.turns += 1
            await asyncio.sleep(0)

    async with (
        Server(LOOPBACK, registry, live={}, ready={}) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
        asyncio.TaskGroup() as group,
    ):
        other = group.create_task(live_on())
        async with session.get("/metrics") as response:
            assert response.status == 200
        other.cancel()
    first, second, third = collector.seen
    assert first < second < third


class Word(Reviews):
    """Stands in for the answers of a cluster."""

    def __init__(self) -> None:
        pass

    async def status(self, authorization: str, path: str) -> int:
        assert path == "/metrics"
        return {"Bearer good": 200, "Bearer poor": 403, "Bearer late": 503}.get(authorization, 401)


def certified(directory: Path, authority: Authority) -> Path:
    """A directory with a certificate of this authority, as a Secret is mounted."""
    pair = authority.server("metrics")
    directory.mkdir(exist_ok=True)
    pair.certificate.rename(directory / "tls.crt")
    pair.key.rename(directory / "tls.key")
    return directory


async def test_secured_metrics_are_served_by_tls_to_whom_the_cluster_allows(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    certificate = Certificate(certified(tmp_path / "tls", authority))
    secure = SecureMetrics(0, certificate, Word())
    context = ssl.create_default_context(cafile=str(authority.pair.certificate))
    async with (
        Server(Address("127.0.0.1", 0, secure), Telemetry().registry, live={}, ready={}) as server,
        aiohttp.ClientSession() as session,
    ):

        async def status(url: str, token: str = "") -> int:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with session.get(url, headers=headers, ssl=context) as response:
                if response.status != 200:
                    assert "workqueue" not in await response.text()
                return response.status

        probes, metrics = (
            f"http://127.0.0.1:{server.port}",
            f"https://127.0.0.1:{server.metrics_port}",
        )
        assert await status(f"{probes}/readyz") == 200
        assert await status(f"{probes}/metrics", "good") == 404
        found = [
            await status(f"{metrics}/metrics", token) for token in ("", "poor", "late", "good")
        ]
        assert found == [401, 403, 503, 200]
        assert await status(f"{metrics}/readyz", "good") == 404


async def test_a_new_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "first"), Authority(tmp_path / "second")
    directory = certified(tmp_path / "tls", first)
    secure = SecureMetrics(0, Certificate(directory), Word())
    async with Server(
        Address("127.0.0.1", 0, secure), Telemetry().registry, live={}, ready={}
    ) as server:

        async def trusts(authority: Authority) -> bool:
            context = ssl.create_default_context(cafile=str(authority.pair.certificate))
            try:
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", server.metrics_port, ssl=context
                )
            except ssl.SSLCertVerificationError:
                return False
            writer.transport.abort()
            return True

        assert (await trusts(first), await trusts(second)) == (True, False)
        pair = second.server("metrics")
        pair.certificate.rename(directory / "tls.crt")
        assert await trusts(first), "the key of the new certificate is not there yet"
        pair.key.rename(directory / "tls.key")
        assert (await trusts(first), await trusts(second)) == (False, True)


def test_without_a_certificate_the_start_ends_with_a_line_that_names_the_directory(
    tmp_path: Path,
) -> None:
    with pytest.raises(SettingsError, match=f"server.metricsCertificates: {tmp_path}: .*tls.crt"):
        Certificate(tmp_path)
