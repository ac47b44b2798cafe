"""One container without a cluster: restarts, startup, hooks and last words. Real processes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from local_cluster.api import Api
from local_cluster.process_node import backoff, containers, logs
from local_cluster.process_node.addresses import Addresses
from local_cluster.process_node.config_maps import ConfigMaps
from local_cluster.process_node.containers import Container
from local_cluster.process_node.environment import ContainerConfigError
from local_cluster.process_node.events import Events
from local_cluster.process_node.processes import Launch
from local_cluster.process_node.services import Services
from local_cluster.process_node.status import ContainerView, Running, TerminatedState, Waiting
from tests.local_cluster.process_node_samples import MACHINE, NOON

SECONDS = 20.0
STAY = "import time; time.sleep(600)"


class NoApi(Api):
    """An API server that nobody asks."""

    def __init__(self) -> None:
        pass


class FakeHost:
    """A pod around one container."""

    ip = "127.0.0.1"

    def __init__(self, services: Services) -> None:
        self.services = services
        self.events: list[tuple[str, str]] = []
        self.complaints: list[str] = []
        self._change = asyncio.Event()

    def launch(self, container: dict[str, Any]) -> tuple[Launch, Path]:
        if self.complaints:
            raise ContainerConfigError(self.complaints.pop())
        root = self.services.root
        env = {"PATH": os.environ["PATH"], "ROOT": str(root)}
        return Launch((sys.executable, "-c", container["code"]), env, root), root

    def log_file(self, container: str) -> Path:
        return logs.log_file(self.services.root, "shop", "pod", "uid", container)

    def lock_file(self, container: str) -> Path:
        return self.services.root / "lock"

    def grace(self) -> float:
        return SECONDS

    def grace_of_spec(self) -> float:
        return SECONDS

    def changed(self) -> None:
        self._change.set()

    def event(self, kind: str, reason: str, message: str) -> None:
        self.events.append((reason, message))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds():
                await self._change.wait()
                self._change.clear()


@pytest.fixture
async def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeHost]:
    monkeypatch.setattr(backoff, "FIRST", 0.01)
    monkeypatch.setattr(containers, "CONFIG_RETRY_SECONDS", 0.01)
    api = NoApi()
    async with aiohttp.ClientSession() as http:
        yield FakeHost(
            Services(
                api=api,
                http=http,
                clock=lambda: NOON,
                root=tmp_path,
                machine=MACHINE,
                addresses=Addresses(),
                config_maps=ConfigMaps(api),
                events=Events(api, lambda: NOON, "node"),
                shutdown_grace=1,
            )
        )


def container(
    host: FakeHost,
    code: str,
    policy: str = "Always",
    view: ContainerView | None = None,
    **spec: Any,
) -> Container:
    spec = {"name": "main", "code": code, **spec}
    return Container(host, spec, view or ContainerView("main"), policy)


@asynccontextmanager
async def running(one: Container) -> AsyncIterator[asyncio.Task[bool]]:
    """The container runs in the block and is stopped at its end."""
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        task = group.create_task(one.run())
        yield task
        task.cancel()


def shell(command: str) -> dict[str, Any]:
    return {"exec": {"command": ["sh", "-c", command]}}


async def test_a_success_is_the_end_when_only_failures_are_restarted(host: FakeHost) -> None:
    code = "import os, pathlib, sys\nf = pathlib.Path(os.environ['ROOT'], 'n')\n"
    code += "n = len(f.read_text()) if f.exists() else 0\nf.write_text('x' * (n + 1))\n"
    code += "sys.exit(0 if n == 2 else 4)"
    one = container(host, code, "OnFailure")
    assert await one.run() is True
    assert one.view.restarts == 2
    assert isinstance(one.view.state, TerminatedState)
    assert one.view.last is not None
    assert one.view.last.exit_code == 4
    assert [reason for reason, _ in host.events].count("Started") == 3


async def test_without_restarts_a_failure_is_the_end(host: FakeHost) -> None:
    one = container(host, "raise SystemExit(4)", "Never")
    assert await one.run() is False
    assert one.view.restarts == 0


async def test_a_container_that_ended_before_the_node_restarted_is_not_run_again(
    host: FakeHost,
) -> None:
    ended = TerminatedState(0, "Completed", NOON, NOON)
    one = container(host, STAY, "OnFailure", ContainerView("main", state=ended))
    assert await one.run() is True
    assert host.events == []


async def test_a_container_lost_with_the_node_counts_a_restart(host: FakeHost) -> None:
    lost = TerminatedState(137, "ContainerStatusUnknown", NOON, NOON)
    one = container(host, STAY, "Always", ContainerView("main", state=lost, restarts=3))
    async with running(one):
        await host.until(lambda: isinstance(one.view.state, Running))
        assert (one.view.restarts, one.view.last) == (4, lost)


async def test_a_container_that_cannot_be_configured_says_why_and_tries_again(
    host: FakeHost,
) -> None:
    host.complaints = ['configmap "late" not found']
    refused = Waiting("CreateContainerConfigError", 'configmap "late" not found')
    one = container(host, STAY)
    async with running(one):
        await host.until(lambda: one.view.state == refused)
        await host.until(lambda: isinstance(one.view.state, Running))
    assert ("Failed", f"main: {refused.message}") in host.events


async def test_the_startup_probe_holds_everything_back(host: FakeHost, tmp_path: Path) -> None:
    probe = {**shell("test -e $ROOT/up"), "periodSeconds": 1, "timeoutSeconds": 5}
    one = container(host, STAY, startupProbe={**probe, "failureThreshold": 100})
    async with running(one):
        await host.until(lambda: isinstance(one.view.state, Running))
        assert (one.view.started, one.view.ready) == (False, False)
        (tmp_path / "up").touch()
        await host.until(lambda: one.view.started)
        assert one.view.ready


async def test_a_container_that_never_starts_up_is_restarted(host: FakeHost) -> None:
    probe = {**shell("exit 1"), "periodSeconds": 0.1, "failureThreshold": 2, "timeoutSeconds": 5}
    one = container(host, STAY, startupProbe=probe)
    async with running(one):
        await host.until(lambda: one.view.restarts == 1)
    text = "Container main failed its startupProbe, it will be restarted"
    assert ("Killing", text) in host.events
    assert one.view.last is not None
    assert one.view.last.exit_code == 143


@pytest.mark.parametrize(
    ("probe", "complaint"),
    [
        ({"httpGet": {"port": "nowhere"}}, "the container has no port 'nowhere'"),
        ({"tcpSocket": {"port": 1}}, "Connect call failed"),
        (shell("echo no; exit 9"), "exit code 9: no"),
        ({**shell("sleep 600"), "timeoutSeconds": 0.1}, "no answer in 0.1 s"),
    ],
)
async def test_a_failed_look_says_what_was_wrong(
    host: FakeHost, probe: dict[str, Any], complaint: str
) -> None:
    timing = {"periodSeconds": 0.1, "timeoutSeconds": 5, "failureThreshold": 1}
    one = container(host, STAY, livenessProbe={**timing, **probe})
    async with running(one):
        await host.until(lambda: one.view.restarts == 1)
    problems = [message for reason, message in host.events if reason == "Unhealthy"]
    assert problems[0].startswith("Liveness probe failed: ")
    assert complaint in problems[0]


async def test_the_hook_runs_before_sigterm(host: FakeHost, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "def end(*_):\n"
        "    sys.exit(5 if os.path.exists(os.environ['ROOT'] + '/hook') else 6)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "open(os.environ['ROOT'] + '/up', 'w').close()\n"
        "while True: signal.pause()\n"
    )
    probe = {**shell("test -e $ROOT/up"), "periodSeconds": 1, "timeoutSeconds": 5}
    hook = shell("touch $ROOT/hook")
    one = container(host, code, startupProbe=probe, lifecycle={"preStop": hook})
    async with running(one):
        await host.until(lambda: one.view.started)
    assert isinstance(one.view.state, TerminatedState)
    assert one.view.state.exit_code == 5


async def test_a_failed_container_has_last_words_when_it_asked_for_them(host: FakeHost) -> None:
    code = "import sys; print('no luck'); sys.exit(1)"
    one = container(host, code, "Never", terminationMessagePolicy="FallbackToLogsOnError")
    await one.run()
    assert isinstance(one.view.state, TerminatedState)
    assert one.view.state.message == "no luck\n"


async def test_a_killed_container_does_not_wait_for_its_grace(host: FakeHost) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    one = container(host, code, "Never")
    async with asyncio.timeout(SECONDS / 2), running(one) as task:
        await host.until(lambda: one.view.started)
        task.cancel()
        await host.until(lambda: ("Killing", "Stopping container main") in host.events)
        one.kill()
    assert isinstance(one.view.state, TerminatedState)
    assert one.view.state.exit_code in (137, 143)
