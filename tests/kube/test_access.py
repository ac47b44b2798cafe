"""Credentials: found, read again in time, renewed after a refusal, and never from elsewhere."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared_api.kube import access
from shared_api.kube.access import Access
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import ConfigError, Unauthorized
from shared_api.kube.resources import CONFIGMAPS
from tests.faults.clients import write_kubeconfig
from tests.faults.scripted import ScriptedServer, answer, failure

REFUSED = failure(401, "Unauthorized")
OBJECT = answer(200, {"metadata": {"name": "a"}})


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer([OBJECT]) as scripted:
        yield scripted


async def get(client: Client) -> PartialObject:
    return await client.get(CONFIGMAPS, "a", "b", into=PartialObject)


def tokens(server: ScriptedServer) -> list[str | None]:
    return [received.headers.get("authorization") for received in server.received]


def with_token_file(directory: Path, server: ScriptedServer) -> tuple[Path, Access]:
    token = directory / "token"
    token.write_text("first")
    user: dict[str, object] = {"tokenFile": str(token)}
    return token, access.from_kubeconfig(write_kubeconfig(directory, server.url, user))


async def test_a_rotated_token_is_read_again_after_a_refusal(
    server: ScriptedServer, tmp_path: Path
) -> None:
    token, source = with_token_file(tmp_path, server)
    async with Client(source) as client:
        await get(client)
        token.write_text("second")
        await get(client)
        server.replies[:] = [REFUSED, OBJECT]
        await get(client)

    assert tokens(server) == ["Bearer first", "Bearer first", "Bearer first", "Bearer second"]


async def test_a_token_is_read_again_at_most_every_minute(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, source = with_token_file(tmp_path, server)
    now = 1000.0
    monkeypatch.setattr(access, "_now", lambda: now)
    async with Client(source) as client:
        token.write_text("second")
        now += 59.9
        await get(client)
        now += 0.2
        await get(client)
        token.unlink()
        now += 61
        await get(client)

    assert tokens(server) == ["Bearer first", "Bearer second", "Bearer second"]


async def test_the_same_token_is_not_sent_twice_after_a_refusal(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.replies[:] = [REFUSED]
    async with Client(with_token_file(tmp_path, server)[1]) as client:
        with pytest.raises(Unauthorized):
            await get(client)

    assert len(server.received) == 1


async def test_a_late_refusal_of_an_old_token_reads_nothing(
    server: ScriptedServer, tmp_path: Path
) -> None:
    token, source = with_token_file(tmp_path, server)
    await source.open()
    token.write_text("second")

    assert await source.renew("Bearer an older one")
    assert source.authorization == "Bearer first"


async def test_requests_that_are_refused_together_renew_together(
    server: ScriptedServer, tmp_path: Path
) -> None:
    both = asyncio.Barrier(2)

    async def refuse(writer: asyncio.StreamWriter) -> None:
        await both.wait()
        await REFUSED(writer)

    token, source = with_token_file(tmp_path, server)
    server.replies[:] = [refuse, refuse, OBJECT]
    async with Client(source) as client:
        token.write_text("second")
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            group.create_task(get(client))
            group.create_task(get(client))

    assert tokens(server) == ["Bearer first"] * 2 + ["Bearer second"] * 2


async def test_an_exec_plug_in_is_run_again_after_a_refusal(
    server: ScriptedServer, tmp_path: Path
) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',\n"
        " 'status': {'token': f'run-{number}', 'expirationTimestamp': '2999-01-01T00:00:00Z'}}))\n"
    )
    user: dict[str, object] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(plugin)],
            "interactiveMode": "Never",
        }
    }
    server.replies[:] = [OBJECT, REFUSED, OBJECT]
    source = access.from_kubeconfig(write_kubeconfig(tmp_path, server.url, user))
    async with Client(source) as client:
        await get(client)
        await get(client)

    assert tokens(server) == ["Bearer run-1", "Bearer run-1", "Bearer run-2"]


async def test_proxy_variables_are_ignored(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with Client(with_token_file(tmp_path, server)[1]) as client:
        await get(client)

    assert len(server.received) == 1


async def test_the_directory_of_the_service_account_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: bytes
) -> None:
    (tmp_path / "token").write_text("mine")
    (tmp_path / "ca.crt").write_bytes(authority)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    monkeypatch.setenv(access.SERVICE_ACCOUNT_DIR_ENV, str(tmp_path))

    found = access.from_environment()
    await found.open()

    assert found.server == "https://[::1]:6443"
    assert found.authorization == "Bearer mine"
    assert found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1


async def test_a_missing_token_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")

    with pytest.raises(ConfigError, match="token file does not exist"):
        await access.in_cluster(tmp_path).open()


async def test_a_missing_context_is_reported(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, "http://127.0.0.1:1")

    with pytest.raises(ConfigError, match="nope"):
        await access.from_kubeconfig(path, "nope").open()


async def test_a_missing_kubeconfig_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        await access.from_kubeconfig(tmp_path / "none").open()
