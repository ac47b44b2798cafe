"""Processes on a leash: how they end, and that nothing is left of them. Real processes."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from local_cluster.process_node.processes import Launch, Process, run_to_end

SECONDS = 20.0
# Says that it is there, ignores SIGTERM, and stays.
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a child subreaper")


def python(code: str, cwd: Path) -> Launch:
    return Launch((sys.executable, "-c", code), {"PATH": os.environ["PATH"]}, cwd)


class Output:
    """The output of a process tree; its end is the end of the last process."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        self._stream = asyncio.StreamReader()
        self._transport: asyncio.ReadTransport | None = None

    async def line(self) -> str:
        return (await self._connected()).decode().strip()

    async def ended(self) -> None:
        while await self._connected():
            pass

    async def _connected(self) -> bytes:
        if self._transport is None:
            os.close(self.writer)
            protocol = asyncio.StreamReaderProtocol(self._stream)
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: protocol, os.fdopen(self._reader, "rb")
            )
        async with asyncio.timeout(SECONDS):
            return await self._stream.readline()

    def close(self) -> None:
        if self._transport is None:
            os.close(self.writer)
            os.close(self._reader)
        else:
            self._transport.close()


@pytest.fixture
async def output() -> AsyncIterator[Output]:
    opened = Output()
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 15)", 143),
    ],
)
async def test_exit_codes_are_those_of_a_container(
    code: str, expected: int, tmp_path: Path
) -> None:
    exit_code, _ = await run_to_end(python(code, tmp_path), SECONDS)
    assert exit_code == expected


async def test_a_command_that_does_not_exist_reports_it(tmp_path: Path) -> None:
    launch = Launch(("no-such-program",), {"PATH": os.environ["PATH"]}, tmp_path)
    code, text = await run_to_end(launch, SECONDS)
    assert code == 127
    assert text == "cannot run 'no-such-program': No such file or directory"


async def test_a_process_has_default_signals_and_no_input(tmp_path: Path) -> None:
    code = (
        "import signal, sys; print(signal.getsignal(signal.SIGTERM).name, repr(sys.stdin.read()), "
        "signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    )
    _, text = await run_to_end(python(code, tmp_path), SECONDS)
    assert text == "SIG_DFL '' set()"


async def test_a_broken_pipe_kills_as_it_does_in_a_shell(tmp_path: Path) -> None:
    launch = Launch(("sh", "-c", "kill -PIPE $$; echo alive"), {"PATH": os.defpath}, tmp_path)
    assert await run_to_end(launch, SECONDS) == (141, "")


async def test_sigterm_comes_first_and_is_enough_for_a_polite_process(
    tmp_path: Path, output: Output
) -> None:
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7)); "
        "print('up', flush=True); time.sleep(600)"
    )
    process = await Process.start(python(code, tmp_path), output=output.writer)
    assert await output.line() == "up"
    assert await process.stop(SECONDS) == 7


async def test_sigkill_follows_when_the_grace_is_over(tmp_path: Path, output: Output) -> None:
    process = await Process.start(python(STUBBORN, tmp_path), output=output.writer)
    assert await output.line() == "up"
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await process.stop(0.3) == 137
    assert loop.time() - began >= 0.3


async def test_no_grace_is_sigkill_at_once(tmp_path: Path, output: Output) -> None:
    process = await Process.start(python(STUBBORN, tmp_path), output=output.writer)
    assert await output.line() == "up"
    assert await process.stop(0) == 137


async def test_a_cancelled_stop_kills(tmp_path: Path, output: Output) -> None:
    process = await Process.start(python(STUBBORN, tmp_path), output=output.writer)
    assert await output.line() == "up"
    async with asyncio.TaskGroup() as group:
        stopping = group.create_task(process.stop(600))
        await asyncio.sleep(0)
        stopping.cancel()
    await output.ended()
    assert await process.wait() == 137


def parent_of(child: str, then: str) -> str:
    """A process that starts another one and then does something."""
    return (
        "import subprocess, sys, time; "
        f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True); {then}"
    )


@needs_linux
async def test_descendants_in_other_sessions_are_killed_too(tmp_path: Path, output: Output) -> None:
    code = parent_of(STUBBORN, "time.sleep(600)")
    process = await Process.start(python(code, tmp_path), output=output.writer)
    assert await output.line() == "up"
    await process.stop(0.1)
    await output.ended()


@needs_linux
async def test_a_command_that_ends_takes_its_descendants_with_it(
    tmp_path: Path, output: Output
) -> None:
    code = parent_of(STUBBORN, "sys.exit(5)")
    process = await Process.start(python(code, tmp_path), output=output.writer)
    assert await process.wait() == 5
    await output.ended()


async def test_what_a_shell_started_may_finish_in_its_grace(tmp_path: Path, output: Output) -> None:
    # Not print(): it may not be entered again by the handler.
    polite = (
        "import os, signal, sys, time; "
        "signal.signal(15, lambda *_: (time.sleep(0.2), os.write(1, b'bye\\n'), sys.exit())); "
        "os.write(1, b'up\\n'); time.sleep(600)"
    )
    script = f'"{sys.executable}" -c "$CODE"; true'
    env = {"PATH": os.environ["PATH"], "CODE": polite}
    launch = Launch(("sh", "-c", script), env, tmp_path)
    process = await Process.start(launch, output=output.writer)
    assert await output.line() == "up"
    await process.stop(SECONDS)
    if sys.platform == "linux":
        assert await output.line() == "bye"


@needs_linux
async def test_nothing_survives_the_death_of_the_node(tmp_path: Path, output: Output) -> None:
    node = (
        "import asyncio, os, pathlib, sys\n"
        "from local_cluster.process_node.processes import Launch, Process\n"
        "async def main():\n"
        "    argv = (sys.executable, '-c', os.environ['CODE'])\n"
        "    launch = Launch(argv, dict(os.environ), pathlib.Path.cwd())\n"
        "    await (await Process.start(launch, output=1)).wait()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", node),
        env={**os.environ, "CODE": parent_of(STUBBORN, STUBBORN)},
        stdout=output.writer,
    )
    assert await output.line() == "up"
    assert await output.line() == "up"
    process.kill()
    await process.wait()
    await output.ended()


@needs_linux
async def test_the_command_dies_with_its_leash(tmp_path: Path, output: Output) -> None:
    process = await Process.start(python(STUBBORN, tmp_path), output=output.writer)
    assert await output.line() == "up"
    os.kill(process.pid, signal.SIGKILL)
    assert await process.wait() == 137
    await output.ended()


async def test_a_container_does_not_run_twice_at_the_same_time(tmp_path: Path) -> None:
    lock = tmp_path / "main.lock"
    first_output, second_output = Output(), Output()
    with contextlib.closing(first_output), contextlib.closing(second_output):
        start = python(STUBBORN, tmp_path)
        first = await Process.start(start, output=first_output.writer, lock=lock)
        assert await first_output.line() == "up"
        second = await Process.start(start, output=second_output.writer, lock=lock)
        async with asyncio.TaskGroup() as group:
            line = group.create_task(second_output.line())
            assert not (await asyncio.wait({line}, timeout=0.5))[0]
            first.drop()
        assert line.result() == "up"
        await second.stop(0)
        await first.wait()


async def test_a_process_that_waits_for_its_turn_can_be_stopped(tmp_path: Path) -> None:
    lock = tmp_path / "main.lock"
    output = Output()
    with contextlib.closing(output):
        first = await Process.start(python(STUBBORN, tmp_path), output=output.writer, lock=lock)
        assert await output.line() == "up"
        second = await Process.start(
            python("pass", tmp_path), output=asyncio.subprocess.DEVNULL, lock=lock
        )
        second.drop()
        assert await second.wait() == 137
        await first.stop(0)
