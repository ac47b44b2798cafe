"""Core as a process of the test's own, under its ServiceAccount, and callers of its pages."""

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from local_cluster.certificates import Authority
from local_cluster.cluster import Cluster
from tests.deploy.kit import DEPLOY, NAMESPACE
from tests.monitoring.processes import free_port, running

HOST = "127.0.0.1"
FILES = 1024
"""File descriptors of the process: less than there are idle sockets."""
_AT_ONCE = 200
"""Idle sockets that are opened at the same time: fewer than the kernel keeps waiting."""
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Pages:
    """Where a process serves probes and metrics; by TLS if there is a context."""

    port: int
    metrics_port: int
    tls: ssl.SSLContext | None

    async def probe(self, path: str) -> int:
        """Return the status of a page on the port of the probes."""
        status, _ = await self._get(self.port, path, None, "")
        return status

    async def metrics(self, token: str = "") -> tuple[int, str]:
        """Return the status and the text of /metrics for the bearer of a token."""
        return await self._get(self.metrics_port, "/metrics", self.tls, token)

    async def _get(
        self, port: int, path: str, tls: ssl.SSLContext | None, token: str
    ) -> tuple[int, str]:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port, ssl=tls)
            authorization = f"Authorization: Bearer {token}\r\n" if token else ""
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{authorization}\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            text = (await reader.readexactly(length)).decode()
            writer.close()
        return int(head.split()[1]), text


@contextlib.contextmanager
def core_process(cluster: Cluster, directory: Path, name: str, *, secured: bool) -> Iterator[Pages]:
    """Core with the rights of its ServiceAccount, and with few file descriptors.

    `name` begins its identity in the Lease.
    """
    tls = None
    server: dict[str, object] = {"host": HOST, "port": free_port()}
    if secured:
        authority = Authority(directory / "authority")
        pair, mounted = authority.server("metrics"), directory / "tls"
        mounted.mkdir()
        shutil.copy(pair.certificate, mounted / "tls.crt")
        shutil.copy(pair.key, mounted / "tls.key")
        server |= {
            "metricsPort": free_port(),
            "metricsCertificates": str(mounted),
            "reviewCacheSeconds": 1.0,
        }
        tls = ssl.create_default_context(cafile=str(authority.pair.certificate))
    settings = directory / "settings.yaml"
    settings.write_text(
        yaml.safe_dump({"server": server, "leaderElection": {"namespace": NAMESPACE}})
    )
    limited = ["sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"']
    program = [sys.executable, "-m", "core_operator", "--config", str(settings)]
    environment = {
        **os.environ,
        "KUBECONFIG": str(_kubeconfig(cluster, directory, "core-operator")),
        "POD_NAME": name,
    }
    with running([*limited, *program], directory / "core.log", environment):
        port = server["port"]
        yield Pages(int(str(port)), int(str(server.get("metricsPort", port))), tls)


@contextlib.contextmanager
def review_rights(cluster: Cluster) -> Iterator[None]:
    """Grant what the component `secure-metrics` grants, as long as the block lasts."""
    rights = str(DEPLOY / "components" / "secure-metrics" / "rbac.yaml")
    cluster.kubectl("apply", "--server-side", "-f", rights)
    try:
        yield
    finally:
        cluster.kubectl("delete", "-f", rights)


def token_of(cluster: Cluster, name: str, namespace: str) -> str:
    """Return a token of a ServiceAccount."""
    return cluster.kubectl("create", "token", name, f"--namespace={namespace}").stdout.strip()


@contextlib.asynccontextmanager
async def idle_sockets(count: int, ports: tuple[int, ...]) -> AsyncIterator[None]:
    """Connections that send nothing, all of them open until the block ends."""
    loop, turns = asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)
    with contextlib.ExitStack() as held:

        async def connect(port: int) -> None:
            idle = held.enter_context(socket.socket())
            idle.setblocking(False)
            async with turns:
                await loop.sock_connect(idle, (HOST, port))

        async with asyncio.timeout(4 * _SECONDS), asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(connect(ports[number % len(ports)]))
        yield


def _kubeconfig(cluster: Cluster, directory: Path, account: str) -> Path:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"] = [
        {**user, "user": {"token": token_of(cluster, account, NAMESPACE)}}
        for user in config["users"]
    ]
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
