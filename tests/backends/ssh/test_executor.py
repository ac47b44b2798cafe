"""What only hosts without an engine do: locks that the host enforces, rights, limits and pinned keys."""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend_controllers.contract.remote.executor import Executor, ExecutorError
from backend_controllers.ssh import host_watch
from backend_controllers.ssh.executor import SshExecutor
from backend_controllers.ssh.options import SshOptions
from backend_controllers.ssh.program import program
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM
from tests.backends.remote.far_side import GANG, log_of, order, process, until
from tests.backends.ssh.conftest import options_for
from tests.backends.ssh.far_sides import host_pod
from tests.backends.ssh.hosts import DIRECTORY, Hosts, TestHost, make_key

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]

RUNNING, EXITED = RemoteMemberState.RUNNING, RemoteMemberState.EXITED
_MARK = "sleep 987654"


@pytest.fixture
def options(ssh_hosts: Hosts) -> SshOptions:
    return options_for(ssh_hosts, "contract")


async def until_true(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something that nothing announces."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def started(executor: Executor, hosts: Hosts, **fields: Any) -> TestHost:
    """Run a gang of one pod, and return its host."""
    await executor.reserve(order(host_pod("a", _MARK, **fields)))
    await executor.start(executor.units(GANG))
    await until(executor, lambda units: [unit.state for unit in units] == [RUNNING])
    (unit,) = executor.units(GANG)
    return hosts[unit.host]


async def test_host_that_is_cut_off_ends_its_units_before_they_may_run_elsewhere(
    options: SshOptions, ssh_hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_watch, "_LAST_GRACE_SECONDS", 8.0)
    short = options.model_copy(update={"lock_seconds": 6})
    async with process(SshExecutor(short, "ssh")) as executor:
        host = await started(executor, ssh_hosts)
        # Longer than the lock: renewed, it runs on.
        for _ in range(4):
            await executor.renew()
            await asyncio.sleep(2)
        assert host.processes(_MARK)
        with host.link.cut():
            await until_true(lambda: executor.units(GANG) == ())
            # It ended there before it was forgotten here.
            assert host.processes(_MARK) == []
            assert host.units() == {}
            (offer,) = (one for one in executor.hosts() if one.name == host.name)
            assert offer.problem
            assert offer.is_fenced
            other = next(one for one in ssh_hosts.hosts.values() if one is not host)
            await executor.renew()
            assert await started(executor, ssh_hosts) is other
        await until_true(lambda: not any(one.problem for one in executor.hosts()))
        assert [unit.host for unit in executor.units(GANG)] == [other.name]
        await executor.release(executor.units(GANG))
    assert ssh_hosts.units() == {}


async def test_a_process_that_does_not_lead_counts_no_host_as_fenced(
    options: SshOptions, ssh_hosts: Hosts
) -> None:
    ahead = 0.0
    clock = replace(SYSTEM, monotonic=lambda: SYSTEM.monotonic() + ahead)
    with ssh_hosts.cut():
        async with process(SshExecutor(options, "ssh", clock)) as executor:
            ahead = 100_000.0
            # The leader, which renews, may still reach the host.
            assert not any(host.is_fenced for host in executor.hosts())
            await executor.renew()
            assert not any(host.is_fenced for host in executor.hosts())
            ahead = 200_000.0
            assert all(host.is_fenced for host in executor.hosts())


async def test_nothing_of_a_unit_outlives_its_supervisor(
    options: SshOptions, ssh_hosts: Hosts
) -> None:
    async with process(SshExecutor(options, "ssh")) as executor:
        script = f"{_MARK} & {_MARK} & wait"
        await executor.reserve(order(host_pod("a", script)))
        await executor.start(executor.units(GANG))
        (unit,) = executor.units(GANG)
        host = ssh_hosts[unit.host]
        await until_true(lambda: len(host.processes(_MARK)) >= 2)
        os.kill(_supervisor(host), signal.SIGKILL)
        await until(executor, lambda units: not units)
        await until_true(lambda: host.processes(_MARK) == [])
    assert ssh_hosts.units() == {}


async def test_processes_have_no_rights_and_reach_no_program_that_has_some(
    options: SshOptions, ssh_hosts: Hosts
) -> None:
    # Of root's programs, none may get a library of the pod.
    env = [{"name": "LD_PRELOAD", "value": "/nowhere/evil.so"}]
    script = (
        "unset LD_PRELOAD; id -u; grep -E 'CapBnd|NoNewPrivs' /proc/self/status;"
        " cat ../spec ../log 2>/dev/null; ls ../.. 2>/dev/null; echo $$; pwd"
    )
    async with process(SshExecutor(options, "ssh")) as executor:
        await executor.reserve(order(host_pod("a", script, env=env)))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: units[0].state is EXITED)
        (unit,) = executor.units(GANG)
        lines = (await log_of(executor, unit)).decode().splitlines()
        complaints = [line for line in lines if "evil.so" in line]
        # The shell complains once; `setpriv` and `env`, which begin as root, would do so before it.
        assert len(complaints) == 1
        found = [line for line in lines if line not in complaints]
        assert found[:3] == ["65534", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"]
        assert found[3] == "1"
        assert found[4].endswith("/units/pod-uid-a/work")
        assert len(found) == 5
        await executor.release((unit,))


async def test_memory_above_the_limit_is_reported_as_such(options: SshOptions) -> None:
    greedy = "x=aaaaaaaa; while true; do x=$x$x; done"
    async with process(SshExecutor(options, "ssh")) as executor:
        await executor.reserve(order(host_pod("a", greedy)))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: units[0].state is EXITED)
        (unit,) = executor.units(GANG)
        assert (unit.exit_code, unit.message) == (137, "OOMKilled")
        await executor.release((unit,))


async def test_host_with_another_key_is_refused(options: SshOptions, ssh_hosts: Hosts) -> None:
    wrong = ssh_hosts.path / "wrong"
    if not wrong.exists():
        make_key(wrong)
    public = wrong.with_suffix(".pub").read_text()
    known = ssh_hosts.path / "wrong_known_hosts"
    known.write_text(
        "".join(f"[{host.link.address}]:{host.port} {public}" for host in ssh_hosts.hosts.values())
    )
    pinned = tuple(
        host.model_copy(update={"known_hosts_file": str(known)}) for host in options.hosts
    )
    mistaken = options.model_copy(update={"hosts": pinned})
    async with process(SshExecutor(mistaken, "ssh")) as executor:
        assert all("not trusted" in host.problem for host in executor.hosts())
        with pytest.raises(ExecutorError, match="0 of 2 hosts can be reached"):
            await executor.reserve(order(host_pod("a")))


async def test_agent_that_is_installed_on_the_host_does_the_same(
    options: SshOptions, ssh_hosts: Hosts
) -> None:
    installed = ssh_hosts.path / "agent.py"
    installed.write_text(program())
    hosts = tuple(
        host.model_copy(update={"command": f"/usr/bin/python3 -I {installed} nobody {DIRECTORY}"})
        for host in options.hosts
    )
    other = options.model_copy(update={"hosts": hosts, "run_as": "daemon"})
    async with process(SshExecutor(other, "ssh")) as executor:
        with pytest.raises(ExecutorError, match="commands may not run as daemon here"):
            await executor.reserve(order(host_pod("a")))
    async with process(SshExecutor(options.model_copy(update={"hosts": hosts}), "ssh")) as executor:
        await executor.reserve(order(host_pod("a", "echo done")))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: units[0].state is EXITED)
        (unit,) = executor.units(GANG)
        assert await log_of(executor, unit) == b"done\n"
        await executor.release((unit,))


def _supervisor(host: TestHost) -> int:
    """The process that holds the lock of the host's only unit."""
    (unit,) = host.root.glob("var/lib/podgang-test/*/*/units/pod-*")
    (found,) = (
        pid
        for pid in host.processes("python3")
        if any(
            number.readlink().as_posix().endswith(f"{unit.name}/supervisor")
            for number in Path(f"/proc/{pid}/fd").iterdir()
        )
    )
    return found
