"""Operating-system processes of containers: started on a leash, stopped politely, then not.

It owns the pipe whose closing kills the whole process tree (see leash.py) and translates
return codes to those that Kubernetes shows. It knows nothing of pods.
"""

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

LEASH = Path(__file__).with_name("leash.py")
LEASH_SECONDS = 5.0
OUTPUT_LIMIT = 2048


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that a process is started with."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path


class Process:
    """One running command. Use as an async context manager, or call `stop` yourself."""

    def __init__(self, process: asyncio.subprocess.Process, control: int) -> None:
        self._process = process
        self._control: int | None = control

    @classmethod
    async def start(cls, launch: Launch, *, output: int, lock: Path | None = None) -> Self:
        """Start the command with its output going to a file descriptor."""
        reader, writer = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(LEASH), str(lock or ""), *launch.argv),
                cwd=launch.cwd,
                env=launch.env,
                stdin=reader,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                # Ctrl-C in a terminal is for the process node, which then stops its pods.
                start_new_session=True,
            )
        except BaseException:
            os.close(writer)
            raise
        finally:
            os.close(reader)
        return cls(process, writer)

    @property
    def pid(self) -> int:
        """The process that stands for the container: the leash, not the command."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its end has not been seen yet."""
        return self._process.returncode is None

    async def read(self) -> bytes:
        """All that it prints, when it was started with a pipe."""
        return b"" if self._process.stdout is None else await self._process.stdout.read()

    @property
    def exit_code(self) -> int:
        """The exit code as a container runtime shows it; that of SIGKILL if it is not known."""
        code = self._process.returncode
        if code is None:
            return 128 + signal.SIGKILL
        return code if code >= 0 else 128 - code

    async def wait(self) -> int:
        """Wait for the end and return the exit code."""
        await self._process.wait()
        self.drop()
        return self.exit_code

    def drop(self) -> None:
        """Kill it with all its descendants, without waiting."""
        if self._control is not None:
            os.close(self._control)
            self._control = None

    async def stop(self, grace: float) -> int:
        """SIGTERM, up to `grace` seconds, SIGKILL; a cancelled stop kills at once.

        In either case the process is gone afterwards.
        """
        try:
            if self.running and grace > 0:
                with contextlib.suppress(ProcessLookupError):
                    self._process.send_signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(grace):
                        await self.wait()
        finally:
            self.drop()
            code = await self._collect()
        return code

    async def _collect(self) -> int:
        try:
            async with asyncio.timeout(LEASH_SECONDS):
                return await self.wait()
        except TimeoutError:
            # The kernel kills the command when its leash dies.
            self._process.kill()
            return await self.wait()


async def run_to_end(launch: Launch, seconds: float) -> tuple[int, str]:
    """Run a short command; return its exit code and the beginning of its output."""
    process = await Process.start(launch, output=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(seconds):
            # Read to the end: a command whose output is not read would block.
            output = await process.read()
            return await process.wait(), output[:OUTPUT_LIMIT].decode(errors="replace").strip()
    finally:
        await process.stop(0)
