"""What callers may cost: connections, bytes and time."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from local_cluster.certificates import Authority
from shared_api.runtime.serving.listener import Listener, ListenerLimits, Response, ServedRequest

GET = b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"x" * 32 * 1024 * 1024
"""More than the buffers of a connection hold."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Site:
    """A listener, and the connections to it."""

    def __init__(self, port: int, tls: ssl.SSLContext | None) -> None:
        self._port = port
        self._tls = tls
        self._open: list[asyncio.StreamWriter] = []

    async def connect(self, *, tls: bool = True) -> Connection:
        context = self._tls if tls else None
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=context)
        self._open.append(writer)
        return reader, writer

    async def ask(self, request: bytes = GET) -> bytes:
        """Send something and read all that comes back."""
        reader, writer = await self.connect()
        writer.write(request)
        async with asyncio.timeout(10):
            return await reader.read()

    def close(self) -> None:
        for writer in self._open:
            writer.transport.abort()


async def hello(request: ServedRequest) -> Response:
    match request.path:
        case "/large":
            return Response(200, LARGE)
        case "/defect":
            raise ZeroDivisionError
        case path:
            return Response(200, f"{path} {request.query}".encode())


@contextlib.asynccontextmanager
async def listening(
    limits: ListenerLimits | None = None,
    tls: ssl.SSLContext | None = None,
    trusted: ssl.SSLContext | None = None,
) -> AsyncIterator[Site]:
    listener = Listener(
        "127.0.0.1", 0, hello, tls=None if tls is None else lambda: tls, limits=limits
    )
    site = Site(listener.bind(), trusted)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(listener.run())
        try:
            yield site
        finally:
            site.close()
            running.cancel()


async def closed(connection: Connection) -> bytes:
    """Wait until the other side has closed; what it had sent before."""
    async with asyncio.timeout(10):
        try:
            return await connection[0].read()
        except ConnectionResetError:
            return b""


async def test_a_request_is_answered_and_its_connection_closed() -> None:
    async with listening() as site:
        head, _, text = (await site.ask(b"GET /page?a=b HTTP/1.1\r\n\r\n")).partition(b"\r\n\r\n")
    assert head.splitlines()[0] == b"HTTP/1.1 200 OK"
    assert b"Connection: close" in head
    assert text == b"/page a=b"


async def test_an_upgrade_of_the_protocol_is_ignored() -> None:
    async with listening() as site:
        answer = await site.ask(b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /page HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"405 Method Not Allowed"),
        (b"nonsense\r\n\r\n", b"400 Bad Request"),
        (b"GET /\xff HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"CONNECT x:80 HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 20_000, b"431 Request Header Fields Too Large"),
    ],
)
async def test_what_is_no_small_get_request_is_refused(request_: bytes, status: bytes) -> None:
    async with listening() as site:
        assert (await site.ask(request_)).startswith(b"HTTP/1.1 " + status)
        assert (await site.ask()).startswith(b"HTTP/1.1 200")


async def test_a_page_that_fails_costs_its_own_connection_only() -> None:
    async with listening() as site:
        assert await site.ask(b"GET /defect HTTP/1.1\r\n\r\n") == b""
        assert (await site.ask()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"", b"GET /page HTT", GET.replace(b"page", b"large")])
async def test_a_connection_ends_in_time_however_slow_its_caller_is(sent: bytes) -> None:
    async with listening(ListenerLimits(seconds=0.2)) as site:
        connection = await site.connect()
        connection[1].write(sent)
        connection[1].transport.pause_reading()  # type: ignore[attr-defined]
        # A later connection is closed later.
        assert await closed(await site.connect()) == b""
        connection[1].transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await closed(connection)) < len(LARGE)


async def test_a_full_listener_closes_the_connection_that_is_idle_for_longest() -> None:
    async with listening(ListenerLimits(connections=3, seconds=60)) as site:
        reading = await site.connect()
        reading[1].write(GET.replace(b"page", b"large"))
        await reading[0].readexactly(1)
        idle = [await site.connect() for _ in range(3)]
        assert await closed(idle[0]) == b""
        assert (await site.ask()).startswith(b"HTTP/1.1 200"), "which closes the second"
        idle[2][1].write(GET)
        assert (await closed(idle[2])).startswith(b"HTTP/1.1 200")
        assert len(await closed(reading)) > len(LARGE)


async def test_slow_readers_make_room_too() -> None:
    async with listening(ListenerLimits(connections=2, seconds=60)) as site:
        slow = [await site.connect() for _ in range(2)]
        for reader, writer in slow:
            writer.write(GET.replace(b"page", b"large"))
            await reader.readexactly(1)
        assert (await site.ask()).startswith(b"HTTP/1.1 200")
        assert len(await closed(slow[0])) < len(LARGE)
        assert len(await closed(slow[1])) > len(LARGE)


async def test_connections_without_a_tls_handshake_count_and_make_room(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.server("server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    trusted = ssl.create_default_context(cafile=str(authority.pair.certificate))
    async with listening(ListenerLimits(connections=2, seconds=60), tls, trusted) as site:
        idle = [await site.connect(tls=False) for _ in range(3)]
        assert await closed(idle[0]) == b""
        assert (await site.ask()).startswith(b"HTTP/1.1 200")
        assert await closed(idle[1]) == b""
