"""One process per cluster that owns all the others: starts, restarts and, above all, ends them.

Run as `python -m local_cluster.supervisor DIRECTORY`. It holds a lock on the directory while
it runs, so that no process number in a file is needed. It receives commands on a Unix socket,
one JSON object a line. Invariant: no process of the cluster outlives the supervisor (each has
asked the kernel to be killed with it), and a leashed supervisor does not outlive the process that holds
the other end of its standard input.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from local_cluster.components import API_SERVER, ETCD, Component

LOCK = "lock"
SOCKET = "control.sock"
_STOP_GRACE = 5.0
_FIRST_BACKOFF, _LONGEST_BACKOFF = 0.5, 30.0
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel (Linux) to kill this process when its parent ends, however it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass(slots=True)
class _Running:
    component: Component
    process: asyncio.subprocess.Process
    restarts: int = 0


class Supervisor:
    """The processes of one cluster and the orders that concern them."""

    def __init__(self, directory: Path) -> None:
        self._logs = directory / "logs"
        self._logs.mkdir(exist_ok=True)
        self._running: dict[str, _Running] = {}
        self._wanted: dict[str, Component] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self.ended = asyncio.Event()

    async def run(self, socket: Path, *, leashed: bool) -> None:
        """Serve commands until a command, a signal or the leash stops it."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.ended.set)
        if leashed:
            loop.add_reader(sys.stdin.fileno(), self._leash_pulled)
        server = await asyncio.start_unix_server(self._serve, path=socket)
        async with server, asyncio.TaskGroup() as self._tasks:
            print(json.dumps({"listening": str(socket)}), flush=True)
            await self.ended.wait()
            await self._stop_all()

    def _leash_pulled(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.ended.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async for line in reader:
                try:
                    answer = await self._obey(json.loads(line))
                except (OSError, ValueError, KeyError) as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _obey(self, order: dict[str, Any]) -> dict[str, Any]:
        match order["do"]:
            case "start":
                component = Component(**order["component"])
                await self._start(component)
                return {"pid": self._running[component.name].process.pid}
            case "stop":
                await self._stop(order["name"])
                return {}
            case "resume":
                await self._start(self._wanted[order["name"]])
                return {}
            case "status":
                return {"components": {name: self._describe(name) for name in self._wanted}}
            case "down":
                self.ended.set()
                return {}
            case unknown:
                raise ValueError(f"unknown order {unknown!r}")

    def _describe(self, name: str) -> dict[str, Any]:
        running = self._running.get(name)
        if running is None:
            return {"running": False}
        code = running.process.returncode
        return {
            "running": code is None,
            "pid": running.process.pid,
            "exit": code,
            "restarts": running.restarts,
        }

    async def _start(self, component: Component) -> None:
        assert self._tasks is not None
        self._wanted[component.name] = component
        running = _Running(component, await self._spawn(component))
        self._running[component.name] = running
        self._keepers[component.name] = self._tasks.create_task(self._keep(running))

    async def _keep(self, running: _Running) -> None:
        """Start the component again whenever it ends by itself, more slowly each time."""
        backoff = _FIRST_BACKOFF
        while True:
            await running.process.wait()
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, _LONGEST_BACKOFF)
            running.restarts += 1
            running.process = await self._spawn(running.component)

    async def _spawn(self, component: Component) -> asyncio.subprocess.Process:
        with self._log(component.name) as log:
            return await asyncio.create_subprocess_exec(
                *component.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, **component.environment},
                preexec_fn=die_with_parent,
            )

    def _log(self, name: str) -> IO[bytes]:
        return (self._logs / f"{name}.log").open("ab")

    async def _stop(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is None:
            return
        keeper = self._keepers.pop(name)
        keeper.cancel()
        await asyncio.wait([keeper])
        process = running.process
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_STOP_GRACE):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _stop_all(self) -> None:
        """End everything; etcd last, or the API server would wait for it forever."""
        async with asyncio.TaskGroup() as stops:
            for name in [name for name in self._running if name not in (API_SERVER, ETCD)]:
                stops.create_task(self._stop(name))
        await self._stop(API_SERVER)
        await self._stop(ETCD)


def hold_lock(directory: Path, *, wait: bool = False) -> IO[bytes] | None:
    """Lock the directory for this process, or return None if another process holds the lock."""
    lock = (directory / LOCK).open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        lock.close()
        return None
    return lock


def main() -> int:
    """Run the supervisor of the cluster in the directory that the first argument names."""
    directory = Path(sys.argv[1])
    leashed = "--leashed" in sys.argv[2:]
    lock = hold_lock(directory)
    if lock is None:
        print(json.dumps({"error": "the cluster is already running"}), flush=True)
        return 1
    with lock:
        socket = directory / SOCKET
        socket.unlink(missing_ok=True)
        asyncio.run(Supervisor(directory).run(socket, leashed=leashed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
