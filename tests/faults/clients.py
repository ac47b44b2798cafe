"""Clients for the scripted server: short limits, no real pauses."""

import contextlib
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import yaml

from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.http.transport import ConnectionLimits, Observer
from shared_api.kube.retry import RetryPolicy
from tests.faults.scripted import Reply, ScriptedServer


class Pauses:
    """Stands in for sleeping, and remembers how long it should have been."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def write_kubeconfig(
    directory: Path, server: str, user: dict[str, object] | None = None, **cluster: object
) -> Path:
    """A kubeconfig with one context."""
    path = directory / "kubeconfig"
    config = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "it", "user": user or {"token": "secret"}}],
    }
    path.write_text(yaml.safe_dump(config))
    return path


@contextlib.asynccontextmanager
async def scripted(
    *replies: Reply,
    pauses: Pauses | None = None,
    limits: ConnectionLimits | None = None,
    observe: Observer | None = None,
    attempts: int = 6,
    token: str = "secret",
) -> AsyncGenerator[tuple[ScriptedServer, Client], None]:
    """A server that gives these replies, and a client whose pauses take no time."""
    with tempfile.TemporaryDirectory() as directory:
        async with ScriptedServer(list(replies)) as server:
            path = write_kubeconfig(Path(directory), server.url, {"token": token})
            access = from_kubeconfig(path)
            retry = RetryPolicy(sleep=pauses or Pauses(), random=lambda: 1.0, attempts=attempts)
            async with Client(
                access, limits=limits or ConnectionLimits(attempt=5.0), retry=retry, observe=observe
            ) as client:
                yield server, client
