"""Runs several programs as one: they start together and stop together.

If a program exits, the supervisor stops the others and exits with its code. The kubelet then
restarts the container, with back-off and a restart count; a restart in here would hide a crash
loop. No program outlives the supervisor, even if that is killed: the kernel kills them.
"""

import asyncio
import contextlib
import ctypes
import signal
import sys
from collections.abc import Mapping, Sequence

import structlog

from all_in_one.children import Child

log = structlog.stdlib.get_logger(__name__)

GRACE_SECONDS = 12.0
"""Longer than the ten seconds that a program needs, shorter than the pod's grace period."""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

Processes = Mapping[str, asyncio.subprocess.Process]


async def supervise(
    children: Sequence[Child], stopping: asyncio.Event, grace: float = GRACE_SECONDS
) -> int:
    """Run until `stopping` is set or a program exits; return the exit code."""
    processes: dict[str, asyncio.subprocess.Process] = {}
    ended: str | None = None
    try:
        for child in children:
            processes[child.name] = await _started(child)
        ended = await _first_to_end(processes, stopping)
        if ended is not None:
            log.error("a program exited", program=ended, code=processes[ended].returncode)
    finally:
        await _stop(processes, grace)
    if ended is None:
        return max(map(_code, processes.values()), default=0)
    # A program must never exit by itself, so exit code 0 is a failure too.
    return _code(processes[ended]) or 1


async def _started(child: Child) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *child.argv,
        stdin=asyncio.subprocess.DEVNULL,
        # Only the supervisor sends signals: a second SIGTERM would interrupt an orderly exit.
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    log.info("a program was started", program=child.name, pid=process.pid)
    return process


def _die_with_parent() -> None:
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


async def _first_to_end(processes: Processes, stopping: asyncio.Event) -> str | None:
    """Return the program that exited, or None after `stopping`."""
    async with asyncio.TaskGroup() as group:
        waits = {group.create_task(process.wait()): name for name, process in processes.items()}
        stop = group.create_task(stopping.wait())
        done, _ = await asyncio.wait({stop, *waits}, return_when=asyncio.FIRST_COMPLETED)
        for task in (stop, *waits):
            task.cancel()
    return None if stop in done else next(waits[task] for task in waits if task in done)


async def _stop(processes: Processes, grace: float) -> None:
    for process in processes.values():
        _send(process, signal.SIGTERM)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                for process in processes.values():
                    await process.wait()
    finally:
        # Also if cancelled: no process may remain.
        for name, process in processes.items():
            if process.returncode is None:
                log.error("a program does not stop", program=name)
                _send(process, signal.SIGKILL)
                await process.wait()


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)


def _code(process: asyncio.subprocess.Process) -> int:
    """Return the exit code as a shell shows it."""
    code = process.returncode or 0
    return code if code >= 0 else 128 - code
