"""The processes that are measured: started, asked, and ended with the block that started them.

An operator that does not come up, or dies, is an error with the end of its log. What a
process used is the kernel's word; what the operator wrote is its own metrics' word.
"""

import asyncio
import contextlib
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import yaml

from benchmarks.product.measures import Writes, cpu_ticks, is_at_rest, peak_mebibytes, writes

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05
_QUIET_SECONDS = 1.5
"""Longer than the longest delay with which statuses are written."""


class Core:
    """A running operator."""

    def __init__(self, process: Process, pages: str, session: aiohttp.ClientSession) -> None:
        self._process = process
        self._pages = pages
        self._session = session

    async def page(self) -> str:
        """Its metrics."""
        async with self._session.get(f"{self._pages}/metrics") as response:
            return await response.text()

    async def writes(self) -> Writes:
        """What it has written so far."""
        return writes(await self.page())

    def cpu_seconds(self) -> float:
        """CPU that it has used so far."""
        return cpu_of(self._process.pid)

    def peak_memory(self) -> float:
        """The most memory that it has had, in MiB."""
        return peak_mebibytes(Path(f"/proc/{self._process.pid}/status").read_text())

    async def is_ready(self) -> bool:
        """Tell whether its caches are filled."""
        if self._process.returncode is not None:
            raise RuntimeError("the operator has ended")
        try:
            async with self._session.get(f"{self._pages}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def until_settled(self, seconds: float = 60) -> None:
        """Wait until it has had nothing to do, and written nothing, for a while."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(seconds):
            since, seen = loop.time(), await self.writes()
            while loop.time() - since < _QUIET_SECONDS:
                await asyncio.sleep(_QUIET_SECONDS / 3)  # rest is no event
                page = await self.page()
                if not is_at_rest(page) or writes(page) != seen:
                    since, seen = loop.time(), writes(page)


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return cpu_ticks(stat) / os.sysconf("SC_CLK_TCK")


@contextlib.asynccontextmanager
async def operator(
    kubeconfig: Path, directory: Path, *, recording: Path | None = None
) -> AsyncIterator[Core]:
    """The core operator, ready to work; with a file, its writes are recorded there."""
    port = _free_port()
    settings = directory / "core.yaml"
    chosen = {
        "server": {"host": "127.0.0.1", "port": port},
        "leaderElection": {"enabled": False},
        "logging": {"level": "WARNING"},
    }
    settings.write_text(yaml.safe_dump(chosen))
    module = ["core_operator"]
    if recording is not None:
        module = ["benchmarks.product.recorder", str(recording)]
    log = directory / "core.log"
    deadline = aiohttp.ClientTimeout(total=10)
    async with (
        aiohttp.ClientSession(timeout=deadline) as session,
        program([*module, "--config", str(settings)], kubeconfig, log) as process,
    ):
        core = Core(process, f"http://127.0.0.1:{port}", session)
        async with asyncio.timeout(_START_SECONDS):
            # A server that does not listen yet sends no event.
            while not await core.is_ready():  # noqa: ASYNC110
                await asyncio.sleep(_POLL_SECONDS)
        yield core


@contextlib.asynccontextmanager
async def program(module: list[str], kubeconfig: Path, log: Path) -> AsyncIterator[Process]:
    """A Python program of ours with a pipe to and from it."""
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *module,
            stdin=PIPE,
            stdout=PIPE,
            stderr=errors,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        )
    try:
        yield process
    except Exception as error:
        error.add_note(f"{module[0]} said: {_end_of(log)}")
        raise
    finally:
        await _end(process)


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
    if process.stdin is not None:
        process.stdin.close()


async def says(process: Process, seconds: float = _START_SECONDS) -> str:
    """The next line of a program."""
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        line = await process.stdout.readline()
    if not line:
        raise RuntimeError("the program has ended")
    return line.decode().strip()


async def tell(process: Process, line: str) -> None:
    """Send a program a line."""
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")
    async with asyncio.timeout(5):
        await process.stdin.drain()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
