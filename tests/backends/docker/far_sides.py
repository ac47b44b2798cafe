"""Container hosts as the contract suite needs them."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.options import DockerOptions
from shared_api.runtime.clock import SYSTEM, Clock
from tests.backends.docker.engines import IMAGE, Engines
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import ProcessKilled


class ContainerHosts:
    """Two engines of one kind."""

    grant_seconds = 1
    restarts = True

    def __init__(self, engines: Engines, options: DockerOptions) -> None:
        self._engines = engines
        self._options = options

    def executor(self, clock: Clock = SYSTEM) -> Executor:
        return DockerExecutor(self._options, "docker", clock)

    def pod(self, name: str, script: str = "sleep 600", **fields: Any) -> RemotePod:
        return remote_pod(name, script, **fields)

    def refused_pod(self, name: str) -> RemotePod:
        return remote_pod(name, image="local/absent:1")

    def exists(self) -> dict[str, str]:
        return self._engines.containers()

    @contextlib.contextmanager
    def foreign(self) -> Iterator[Callable[[], bool]]:
        host = next(iter(self._engines.hosts.values()))
        run = ("run", "--detach", "--network=host", "--name", "foreign", IMAGE, "sleep", "600")
        host.docker(*run)
        try:
            yield lambda: host.containers() == {"foreign": "running"}
        finally:
            host.docker("rm", "--force", "foreign")

    @contextlib.contextmanager
    def unreachable(self) -> Iterator[None]:
        for host in self._engines.hosts.values():
            host.freeze()
        try:
            yield
        finally:
            for host in self._engines.hosts.values():
                host.thaw()

    def kill_after(self, executor: Executor, calls: int) -> None:
        assert isinstance(executor, DockerExecutor)
        made = 0

        def dying(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def made_and_killed(*arguments: Any) -> Any:
                nonlocal made
                if made >= calls:
                    raise ProcessKilled
                made += 1
                answer = await call(*arguments)
                if made >= calls:
                    raise ProcessKilled
                return answer

            return made_and_killed

        for host in executor.engines.values():
            for name in ("create", "start", "remove"):
                setattr(host.engine, name, dying(getattr(host.engine, name)))
