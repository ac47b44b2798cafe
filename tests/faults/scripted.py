"""An HTTP server that answers by script, wrongly if told so; for faults, never for proofs.

It speaks just enough HTTP/1.1 to be broken on purpose: it can stop in the middle of a
chunk, never answer, or send what is no HTTP at all. The real API server is the proof that
something works.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Received:
    """One request, as it came in."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def query(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(urlsplit(self.target).query).items()}


Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class ScriptedServer:
    """Gives the replies in order, and the last one again and again."""

    replies: list[Reply]
    received: list[Received] = field(default_factory=list)
    url: str = ""
    _server: asyncio.Server | None = None
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Hang up on everybody and listen no more."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            while received := await _read_request(reader):
                self.received.append(received)
                reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                await reply(writer)
                await writer.drain()
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode().rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, target, headers, body)


def answer(code: int, body: object, **headers: str) -> Reply:
    """A whole answer; bytes go as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def reply(writer: asyncio.StreamWriter) -> None:
        _head(writer, code, **{"Content-Length": str(len(data)), **headers})
        writer.write(data)

    return reply


def failure(
    code: int, reason: str, *, retry_after: int | None = None, message: str = "no"
) -> Reply:
    """A failure as the API server words it."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(code, status, **headers)


def stream(*events: object, then: Reply | None = None) -> Reply:
    """A watch stream: one line for each event, then its end, or what `then` does."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        _head(writer, 200, **{"Transfer-Encoding": "chunked"})
        for event in events:
            data = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        if then is None:
            writer.write(b"0\r\n\r\n")
        else:
            await then(writer)

    return reply


def raw(data: bytes) -> Reply:
    """These bytes, and the end of the connection."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return reply


async def silence(writer: asyncio.StreamWriter) -> None:
    """Nothing, for ever: a connection whose other end is gone without a word."""
    await asyncio.Event().wait()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """End the connection without an answer."""
    writer.transport.abort()


async def cut(writer: asyncio.StreamWriter) -> None:
    """End the connection in the middle of a chunk."""
    writer.write(b'40\r\n{"type":"ADDED","obj')
    await writer.drain()
    writer.close()


def dribble(data: bytes, pause: float) -> Reply:
    """A body that comes one byte at a time."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        _head(writer, 200, **{"Content-Length": str(len(data))})
        for byte in data:
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(pause)

    return reply


def _head(writer: asyncio.StreamWriter, code: int, **headers: str) -> None:
    lines = [f"HTTP/1.1 {code} Scripted", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
