"""Hosts without an engine as the contract suite needs them."""

import contextlib
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.ssh.executor import SshExecutor
from backend_controllers.ssh.options import SshOptions
from shared_api.runtime.clock import SYSTEM, Clock
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import ProcessKilled
from tests.backends.ssh.hosts import Hosts

_CHANGING = ("create", "start", "remove")


def host_pod(name: str, script: str = "sleep 600", **fields: Any) -> RemotePod:
    """A pod that runs a shell script on a host."""
    return remote_pod(name, script, **{"image": "host", "shell": "/bin/sh", **fields})


class HostsOverSsh:
    """Two hosts."""

    grant_seconds = 2
    restarts = True

    def __init__(self, hosts: Hosts, options: SshOptions) -> None:
        self._hosts = hosts
        self._options = options

    def executor(self, clock: Clock = SYSTEM) -> Executor:
        return SshExecutor(self._options, "ssh", clock)

    def pod(self, name: str, script: str = "sleep 600", **fields: Any) -> RemotePod:
        return host_pod(name, script, **fields)

    def refused_pod(self, name: str) -> RemotePod:
        return host_pod(name, shell="/usr/bin/python3")

    def exists(self) -> dict[str, str]:
        return self._hosts.units()

    @contextlib.contextmanager
    def foreign(self) -> Iterator[Callable[[], bool]]:
        host = next(iter(self._hosts.hosts.values()))
        with subprocess.Popen([*host.link.inside, "sleep", "600"]) as process:
            try:
                yield lambda: process.poll() is None
            finally:
                process.kill()

    @contextlib.contextmanager
    def unreachable(self) -> Iterator[None]:
        with self._hosts.cut():
            yield

    def kill_after(self, executor: Executor, calls: int) -> None:
        assert isinstance(executor, SshExecutor)
        made = 0

        def dying(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def made_and_killed(name: str, *arguments: Any, **fields: Any) -> Any:
                nonlocal made
                if name not in _CHANGING:
                    return await call(name, *arguments, **fields)
                if made >= calls:
                    raise ProcessKilled
                made += 1
                answer = await call(name, *arguments, **fields)
                if made >= calls:
                    raise ProcessKilled
                return answer

            return made_and_killed

        for host in executor.watches.values():
            host.agent.call = dying(host.agent.call)  # type: ignore[assignment]
