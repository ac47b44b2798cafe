"""Answers HTTP requests on one port, at a bounded cost.

It owns the listening socket and its connections, and knows no page. The event loop that it runs on
also renews the Lease, so everything has a limit: a connection carries one request and lives for
`Limits.seconds`, a request has `Limits.head` bytes, and `Limits.connections` are open at once. At
that limit the next connection closes the one that has sent no request for the longest time, or else
the oldest one. So neither idle sockets nor slow readers keep a probe out. A connection is counted
before its TLS handshake, since TLS allocates buffers of 256 KiB for each.
"""

import asyncio
import contextlib
import http
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httptools
import structlog

log = structlog.stdlib.get_logger(__name__)

_BACKLOG = 1024
_PAUSE_SECONDS = 0.1
"""Pause after a failed accept: without a free file descriptor the next one fails at once."""
_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """How much callers may use."""

    connections: int = 128
    seconds: float = 10.0
    """Time of one connection: TLS handshake, request, answer and close."""
    head: int = 16 * 1024
    """Bytes of a request line with all headers."""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A GET request. Header names are in lower case."""

    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; without a text it shows its status."""

    status: int
    text: bytes = b""
    type: str = _TEXT
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the answer as it is sent."""
        phrase = http.HTTPStatus(self.status).phrase
        text = self.text or f"{self.status} {phrase}\n".encode()
        lines = [
            f"HTTP/1.1 {self.status} {phrase}",
            f"Content-Type: {self.type}",
            f"Content-Length: {len(text)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
            "Connection: close",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + text


Handler: TypeAlias = Callable[[ServedRequest], Awaitable[Response]]


class Listener:
    """One listening port; `run` serves it until cancelled."""

    def __init__(
        self,
        host: str,
        port: int,
        handler: Handler,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        limits: ListenerLimits | None = None,
    ) -> None:
        self._where = host, port
        self._handler = handler
        self._tls = tls
        self._limits = limits or ListenerLimits()
        self._open: dict[asyncio.Task[None], None] = {}
        self._idle: dict[asyncio.Task[None], None] = {}
        """Connections without a request so far, oldest first."""
        self._socket: socket.socket | None = None

    def bind(self) -> int:
        """Open the port and return its number."""
        family, _, _, _, where = socket.getaddrinfo(
            *self._where, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        self._socket = socket.create_server(where[:2], family=family, backlog=_BACKLOG)
        self._socket.settimeout(0)
        port: int = self._socket.getsockname()[1]
        return port

    async def run(self) -> None:
        """Accept connections and answer them, until cancelled."""
        assert self._socket is not None, "bind comes first"
        with self._socket:
            async with asyncio.TaskGroup() as group:
                while True:
                    connection = await _accepted(self._socket)
                    self._close_one_at_the_limit()
                    task = group.create_task(self._serve(connection))
                    self._open[task] = self._idle[task] = None
                    task.add_done_callback(self._forget)

    def _close_one_at_the_limit(self) -> None:
        if len(self._open) >= self._limits.connections:
            oldest = next(iter(self._idle or self._open))
            self._forget(oldest)
            oldest.cancel()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task, None)
        self._idle.pop(task, None)

    async def _serve(self, connection: socket.socket) -> None:
        """Answer one request, unless the caller disconnects or is too slow."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                reader = asyncio.StreamReader(limit=self._limits.head)
                writer = await self._opened(connection, reader)
                try:
                    writer.write((await self._answer(reader)).encoded())
                    writer.close()
                    await writer.wait_closed()
                finally:
                    writer.transport.abort()
        except (OSError, asyncio.IncompleteReadError):
            return
        except Exception:
            # A defect that a request triggers must not end the process.
            log.exception("a connection failed")

    async def _opened(
        self, connection: socket.socket, reader: asyncio.StreamReader
    ) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(reader)
        tls: dict[str, Any] = {}
        if self._tls is not None:
            seconds = self._limits.seconds
            tls = {"ssl": self._tls(), "ssl_handshake_timeout": seconds}
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, **tls)
        return asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _answer(self, reader: asyncio.StreamReader) -> Response:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return Response(431)
        if (task := asyncio.current_task()) is not None:
            self._idle.pop(task, None)
        try:
            method, request = _parsed(head)
        except (httptools.HttpParserError, UnicodeDecodeError):
            return Response(400)
        if method != b"GET":
            return Response(405, headers={"Allow": "GET"})
        return await self._handler(request)


class _Head:
    """The URL and the headers that the parser finds."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[str, str] = {}

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")


def _parsed(head: bytes) -> tuple[bytes, ServedRequest]:
    found = _Head()
    parser = httptools.HttpRequestParser(found)
    # HTTP lets a server ignore an Upgrade header.
    with contextlib.suppress(httptools.HttpParserUpgrade):
        parser.feed_data(head)
    url = httptools.parse_url(found.url)
    path, query = (url.path or b"/").decode("ascii"), (url.query or b"").decode("ascii")
    return parser.get_method(), ServedRequest(path, query, found.headers)


async def _accepted(listening: socket.socket) -> socket.socket:
    """Return the next connection. Other tasks run between two of them, also in a flood."""
    while True:
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(listening)
        except OSError:
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return connection
