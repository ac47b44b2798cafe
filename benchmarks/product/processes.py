"""The measured processes: started, queried and stopped with the block that started them.

A controller that does not start, or exits, is an error with the end of its log. CPU and memory come
from the kernel, writes from the process's metrics. Rendering metrics costs the process CPU, so they
are requested only before and after a measurement. The kernel is asked first whether it is idle.
"""

import asyncio
import contextlib
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import yaml

from benchmarks.product.measures import Writes, cpu_ticks, is_at_rest, peak_mebibytes, writes

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05
_SAMPLE_SECONDS = 0.5
_RESTING_CPU = 0.02
"""CPU seconds that a process with nothing to do may use between two looks."""
_QUIET = 1.0
"""Seconds; longer than what was written takes to come back as an event."""


class ControllerProcess:
    """A running controller."""

    def __init__(self, process: Process, pages: str, session: aiohttp.ClientSession) -> None:
        self._process = process
        self._pages = pages
        self._session = session

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

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
        """Return whether its caches are synced."""
        if self._process.returncode is not None:
            raise RuntimeError("the controller has ended")
        try:
            async with self._session.get(f"{self._pages}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def until_settled(self, seconds: float = 120) -> float:
        """Wait until it is idle: it wrote nothing for a while, and has nothing delayed.

        Return the CPU seconds that it had used by then, without those for its metrics.
        """
        asked = 0.0
        async with asyncio.timeout(seconds):
            while True:
                await self._until_quiet(_SAMPLE_SECONDS)
                before = self.cpu_seconds()
                seen = await self.writes()
                asked += self.cpu_seconds() - before
                await self._until_quiet(_QUIET)
                used = self.cpu_seconds()
                page = await self.page()
                if is_at_rest(page) and writes(page) == seen:
                    return used - asked
                asked += self.cpu_seconds() - used

    async def _until_quiet(self, quiet: float) -> None:
        loop = asyncio.get_running_loop()
        since, used = loop.time(), self.cpu_seconds()
        while loop.time() - since < quiet:
            await asyncio.sleep(_SAMPLE_SECONDS)  # no event announces rest
            before, used = used, self.cpu_seconds()
            if used - before > _RESTING_CPU:
                since = loop.time()

    async def until_page(self, condition: Callable[[str], bool], seconds: float = 120) -> float:
        """Wait until its metrics show something; the loop's time then."""
        async with asyncio.timeout(seconds):
            # A metric is not announced.
            while not condition(await self.page()):  # noqa: ASYNC110
                await asyncio.sleep(_SAMPLE_SECONDS / 2)
        return asyncio.get_running_loop().time()


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return cpu_ticks(stat) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """Where controllers run: their cluster, and the directory of their files."""

    kubeconfig: Path
    directory: Path

    @contextlib.asynccontextmanager
    async def controller(
        self, package: str, *arguments: str, recording: Path | None = None
    ) -> AsyncIterator[ControllerProcess]:
        """A controller, ready to work; with a file, its writes are recorded there."""
        port = _free_port()
        settings = self.directory / f"{package}.yaml"
        # A backend without a Lease is never available.
        alone = package == "core_operator"
        election = {"enabled": False} if alone else {"namespace": "default"}
        chosen = {
            "server": {"host": "127.0.0.1", "port": port},
            "leaderElection": election,
            "logging": {"level": "WARNING"},
        }
        settings.write_text(yaml.safe_dump(chosen))
        module = [package]
        if recording is not None:
            module = ["benchmarks.product.recorder", str(recording), package]
        module += ["--config", str(settings), *arguments]
        deadline = aiohttp.ClientTimeout(total=30)
        async with (
            aiohttp.ClientSession(timeout=deadline) as session,
            self.program(module, f"{package}.log") as process,
        ):
            controller = ControllerProcess(process, f"http://127.0.0.1:{port}", session)
            async with asyncio.timeout(_START_SECONDS):
                # A server that does not listen yet sends no event.
                while not await controller.is_ready():  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_SECONDS)
            yield controller

    @contextlib.asynccontextmanager
    async def program(self, module: list[str], log: str) -> AsyncIterator[Process]:
        """A Python program of ours with a pipe to and from it."""
        file = self.directory / log
        with file.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *module,
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            )
        try:
            yield process
        except Exception as error:
            error.add_note(f"end of the log of {module[0]}: {_end_of(file)}")
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


async def read_line(process: Process, seconds: float = _START_SECONDS) -> str:
    """Return the next line of a program's output."""
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        line = await process.stdout.readline()
    if not line:
        raise RuntimeError("the program has ended")
    return line.decode().strip()


async def send_line(process: Process, line: str) -> None:
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
