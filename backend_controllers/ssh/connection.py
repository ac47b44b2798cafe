"""The connection to the agent of one host: the only module that talks to a host over SSH.

The key of the host must be known, and only the mounted key is shown. Every call has a deadline. A call
without an answer may have been carried out (Ambiguous); one that was never sent was not (Transient).
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import asyncssh

from backend_controllers.contract.remote.executor import ExecutorError, LogOptions, Outcome
from backend_controllers.ssh.options import SshHost, SshOptions
from backend_controllers.ssh.program import bootstrap, program

_CONNECT_SECONDS = 10.0
_CALL_SECONDS = 15.0
_CLOSE_SECONDS = 2.0
_KEEPALIVE_SECONDS = 5.0
_LONGEST_LINE = 1024 * 1024
_PIECE = 65536

Json = dict[str, object]
_Process = asyncssh.SSHClientProcess[bytes]


class AgentConnection:
    """One host; a context manager."""

    def __init__(self, host: SshHost, options: SshOptions, backend: str) -> None:
        self._host = host
        self._place = {
            "directory": options.directory,
            "cluster": options.cluster,
            "backend": backend,
        }
        self._ssh: asyncssh.SSHClientConnection | None = None
        self._agent: _Process | None = None
        self._calls: dict[int, asyncio.Future[None]] = {}
        self._number = 0

    async def __aenter__(self) -> "AgentConnection":
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                self._ssh = await asyncssh.connect(
                    self._host.address,
                    self._host.port,
                    username=self._host.user,
                    known_hosts=self._host.known_hosts_file,
                    client_keys=[self._host.key_file],
                    # Only what is mounted into this process counts: no agent or file of a user.
                    agent_path=None,
                    config=None,
                    preferred_auth="publickey",
                    keepalive_interval=_KEEPALIVE_SECONDS,
                )
                self._agent = await self._started(self._ssh, {"call": "serve"})
        except BaseException as error:
            await self._close()
            if isinstance(error, (TimeoutError, OSError, asyncssh.Error, ValueError)):
                raise self._unreachable(error) from error
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._close()

    async def messages(self) -> AsyncIterator[Json]:
        """Yield what the agent reports on its own; raise ExecutorError when the connection ends."""
        agent, rest = self._agent, b""
        assert agent is not None
        while True:
            try:
                piece = await agent.stdout.read(_PIECE)
                problem = b"" if piece else await agent.stderr.read(_PIECE)
            except (OSError, asyncssh.Error) as error:
                raise self._unreachable(error) from error
            if not piece:
                raise self._unreachable(problem.decode(errors="replace")[-300:] or "it ended")
            if len(rest) > _LONGEST_LINE:
                raise self._unreachable("a line is too long")
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                message = _decoded(line)
                if "id" in message:
                    self._answered(message)
                else:
                    yield message

    async def call(self, name: str, seconds: float = _CALL_SECONDS, **fields: object) -> None:
        """Let the agent do something, and wait until it is done."""
        if self._agent is None:
            message = f"host {self._host.name} is not connected"
            raise ExecutorError(Outcome.TRANSIENT, message)
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        try:
            line = json.dumps({"id": number, "call": name, **fields})
            async with asyncio.timeout(seconds):
                self._agent.stdin.write(line.encode() + b"\n")
                await answer
        except TimeoutError as error:
            message = f"host {self._host.name} did not answer in {seconds:g} s"
            raise ExecutorError(Outcome.AMBIGUOUS, message) from error
        except (OSError, asyncssh.Error) as error:
            raise ExecutorError(Outcome.AMBIGUOUS, str(self._unreachable(error))) from error
        finally:
            self._calls.pop(number, None)

    async def logs(self, unit: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the log of a unit in pieces; a session of its own reads it."""
        if options.timestamps or options.since_seconds is not None:
            message = f"host {self._host.name} keeps no times of lines; leave out --timestamps and --since"
            raise ExecutorError(Outcome.INVALID, message)
        if self._ssh is None:
            message = f"host {self._host.name} is not connected"
            raise ExecutorError(Outcome.TRANSIENT, message)
        wanted = {"call": "logs", "unit": unit, "follow": options.follow, "tail": options.tail}
        try:
            reading = await self._started(self._ssh, wanted)
            try:
                while piece := await reading.stdout.read(_PIECE):
                    yield piece
            finally:
                reading.close()
        except (OSError, asyncssh.Error) as error:
            raise self._unreachable(error) from error

    async def _started(self, ssh: asyncssh.SSHClientConnection, wanted: Json) -> _Process:
        """Start an agent. `wanted` is its first line."""
        source = program().encode()
        command = self._host.command or bootstrap(source)
        process = await ssh.create_process(command, encoding=None)
        if self._host.command is None:
            process.stdin.write(source)
        process.stdin.write(json.dumps({**wanted, **self._place}).encode() + b"\n")
        return process

    def _answered(self, message: Json) -> None:
        answer = self._calls.get(number) if isinstance(number := message["id"], int) else None
        if answer is None or answer.done():
            return
        if error := message.get("error"):
            text = f"host {self._host.name}: {error}"
            answer.set_exception(ExecutorError(Outcome.INVALID, text))
        else:
            answer.set_result(None)

    async def _close(self) -> None:
        ssh, self._ssh, self._agent = self._ssh, None, None
        for answer in self._calls.values():
            if not answer.done():
                text = f"host {self._host.name}: the connection was lost"
                answer.set_exception(ExecutorError(Outcome.AMBIGUOUS, text))
        if ssh is not None:
            # Over a link that is cut, its last words can never be sent.
            ssh.abort()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await ssh.wait_closed()

    def _unreachable(self, problem: object) -> ExecutorError:
        text = str(problem).strip() or type(problem).__name__
        return ExecutorError(Outcome.TRANSIENT, f"host {self._host.name}: {text}")


def _decoded(line: bytes) -> Json:
    """Return one message; a line that is none is nothing."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
