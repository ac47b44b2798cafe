"""HTTP/1.1 for short requests: connections that are kept, one exchange at a time on each.

A general client spends more on a small request than is in it: 0.35 ms of CPU where 0.15
will do, and an operator sends thousands. Parsing is httptools', sockets and TLS are
asyncio's; what is left is to write a head, to wait for the end of the answer, and to keep
the connection. It knows neither redirects nor cookies nor compression, for which the API
server has no use; behind a proxy the general client is used. It sets no deadline: whoever
is cancelled while waiting loses the connection, never gets another's answer.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import httptools
import msgspec

from shared_api.kube.access import Access
from shared_api.kube.errors import BadResponse, ConfigError, ConnectionLost


@dataclass(frozen=True, slots=True)
class Limits:
    """How much, how long, how many at once."""

    in_flight: int = 64
    """Requests at the same time; watches do not count."""
    attempt: float = 15.0
    """Seconds for one attempt, from the moment at which it has a slot."""
    connect: float = 5.0
    keep_alive: float = 30.0
    """Seconds that an idle connection is kept; the server's own limit is longer."""
    body: int = 128 * 1024 * 1024
    line: int = 16 * 1024 * 1024
    """Bytes of one watch event; etcd takes objects of 1.5 MiB."""


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What the server answered."""

    status: int
    body: bytes
    retry_after: str | None = None


class Wire:
    """Connections to one server."""

    def __init__(self, access: Access, user_agent: str, limits: Limits) -> None:
        url = urlsplit(access.server)
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._prefix = url.path
        self._constant = (
            f" HTTP/1.1\r\nHost: {url.netloc}\r\nUser-Agent: {user_agent}\r\n"
            # The network inside a cluster is faster than gzip on a busy API server.
            "Accept-Encoding: identity\r\n"
        )
        self._access = access
        self._limits = limits
        self._idle: list[tuple[float, _Connection]] = []
        self._open: set[_Connection] = set()
        self._all_closed = asyncio.Event()

    async def exchange(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None
    ) -> Answer:
        """Send one request and wait for its answer."""
        head = self._head(method, target, headers, body)
        connection = self._take() or await self._connect()
        try:
            answer = await connection.exchange(head if body is None else head + body)
        except BaseException:
            # An answer that still comes must not be taken for that of the next request.
            connection.abort()
            raise
        if connection.is_open:
            self._idle.append((_now(), connection))
        return answer

    def forget(self) -> None:
        """Have later requests use new connections, and with them new client certificates."""
        while self._idle:
            self._idle.pop()[1].close()

    async def close(self) -> None:
        """Drop all connections; what waits for an answer has lost its own."""
        self._idle.clear()
        self._all_closed.clear()
        for connection in self._open:
            connection.abort()
        if self._open:
            await self._all_closed.wait()

    def _lost(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        if not self._open:
            self._all_closed.set()

    def _head(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> bytes:
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if lines.count("\n") != len(headers):
            raise ConfigError("a header, such as the token, contains a line break")
        if body is not None:
            lines += f"Content-Length: {len(body)}\r\n"
        return f"{method} {self._prefix}{target}{self._constant}{lines}\r\n".encode("latin-1")

    def _take(self) -> "_Connection | None":
        """The connection that was used last; those that were idle for too long go."""
        while self._idle:
            since, connection = self._idle.pop()
            if connection.is_open and _now() - since < self._limits.keep_alive:
                return connection
            connection.close()
        return None

    async def _connect(self) -> "_Connection":
        access = self._access
        try:
            async with asyncio.timeout(self._limits.connect):
                transport, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(self._limits.body, self._lost),
                    self._host,
                    self._port,
                    ssl=access.tls,
                    server_hostname=access.server_name if access.tls is not None else None,
                )
        except OSError as error:  # TimeoutError is one
            raise ConnectionLost(str(error) or type(error).__name__, sent=False) from error
        if not connection.is_lost:
            self._open.add(connection)
        guard(transport.get_extra_info("socket"))
        return connection


class _Connection(asyncio.Protocol):
    """One connection; the parser calls the methods whose names begin with `on_`."""

    def __init__(self, largest: int, on_lost: Callable[["_Connection"], None]) -> None:
        self._largest = largest
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[Answer] | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._retry_after: str | None = None
        self._ends_with_connection = False

    @property
    def is_lost(self) -> bool:
        """Tell whether the connection has ended for good."""
        return self._transport is None

    @property
    def is_open(self) -> bool:
        """Tell whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, data: bytes) -> Answer:
        """Send a request; the answer is the one of that request."""
        if self._transport is None:
            raise ConnectionLost("the server closed the connection", sent=False)
        self._waiting = asyncio.get_running_loop().create_future()
        self._parts, self._size, self._retry_after = [], 0, None
        self._transport.write(data)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        # Not a polite end: a TLS good-bye to a server that is gone takes half a minute.
        self._waiting = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionLost(f"the answer is no HTTP: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._ends_with_connection and exc is None:
            self.on_message_complete()
        self._fail(ConnectionLost(str(exc) if exc else "the server closed the connection"))
        self._on_lost(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the one header that we read, and what tells where the body ends."""
        name = name.lower()
        if name == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif name in (b"content-length", b"transfer-encoding"):
            self._ends_with_connection = False

    def on_message_begin(self) -> None:
        """Until a header says otherwise, a body lasts as long as the connection."""
        self._ends_with_connection = True

    def on_body(self, body: bytes) -> None:
        """Collect the body, within limits."""
        self._size += len(body)
        if self._size > self._largest:
            self._fail(BadResponse(f"an answer of more than {self._largest} bytes"))
            self.abort()
            return
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Hand the answer over."""
        self._ends_with_connection = False
        status = self._parser.get_status_code()
        if not self._parser.should_keep_alive():
            self.close()
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            # Nobody asked: whatever this server is, it is out of step.
            self.abort()
        elif not waiting.done():
            waiting.set_result(Answer(status, b"".join(self._parts), self._retry_after))

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)


def guard(opened: socket.socket) -> None:
    """Have the kernel give up an idle or unanswered connection after half a minute."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 30_000),
    ):
        # Not every platform has every option.
        if hasattr(socket, option):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _now() -> float:
    return asyncio.get_running_loop().time()
