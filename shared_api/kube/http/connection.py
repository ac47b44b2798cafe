"""One HTTP/1.1 connection: a request, and its answer as a whole or as it comes.

Bytes are received into a buffer that is used again and again, since the kernel would have to
clear the pages of a new one for every read; httptools parses, and copies the body out of it
once. Both ways of reading are the same collecting of parts: an exchange waits for the last
one, a stream for the next. A stream whose reader is busy stops receiving, so that the server
waits and our memory does not grow. Nothing is pipelined: bytes that nobody asked for end the
connection. Interim answers (1xx) are skipped. Everything that is not body (heads, interim
answers, chunk extensions, trailers) is bounded by `OVERHEAD_LIMIT`.
"""

import asyncio
import select
from collections.abc import Callable
from typing import cast

import httptools
import msgspec

from shared_api.kube.errors import BadResponse, ConnectionLost

OVERHEAD_LIMIT = 64 * 1024
"""Bytes that may arrive in a row without a byte of a body; the API server's heads have about 1 KiB."""

_CLOSED = "the server closed the connection"
_READ_HEADERS = frozenset((b"retry-after", b"location", b"content-length", b"transfer-encoding"))
_NO_ROOM = memoryview(bytearray())


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What the server answered."""

    status: int
    body: bytes
    retry_after: str | None = None
    location: str | None = None
    """Where a redirect points."""


class Connection(asyncio.BufferedProtocol):
    """One connection; the parser calls the methods whose names begin with `on_`."""

    def __init__(self, room: int, largest: int, on_lost: Callable[["Connection"], None]) -> None:
        self._buffer = memoryview(bytearray(room))
        self._largest = largest
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._is_stream = False
        self._is_paused = False
        self._waiting: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._overhead = 0
        self._quiet: select.poll | None = None
        self._status = 0
        self._answer: Answer | None = None
        self._has_ended = True
        self._error: Exception | None = None
        self._retry_after: str | None = None
        self._location: str | None = None
        self._ends_with_connection = False

    @property
    def is_lost(self) -> bool:
        """Tell whether the connection has ended for good."""
        return self._transport is None

    @property
    def is_open(self) -> bool:
        """Tell whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_quiet(self) -> bool:
        """Return whether nothing has arrived since the last answer, seen by the loop or not.

        Bytes or an end that wait in the socket came before the next request. Sent over this
        connection, that request would take them for its own answer.
        """
        assert self._transport is not None
        if self._quiet is None:
            self._quiet = select.poll()
            self._quiet.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not self._quiet.poll(0)

    async def exchange(self, data: bytes) -> Answer:
        """Send a request; the answer is the one of that request."""
        self._send(data)
        while self._answer is None:
            if self._error is not None:
                raise self._error
            await self._news()
        return self._answer

    async def begin(self, data: bytes) -> None:
        """Send a request whose answer is read by `parts`, and wait for the head of that answer."""
        self._is_stream = True
        self._send(data)
        while not self._status:
            if self._error is not None:
                raise self._error
            await self._news()

    async def parts(self, deadline: float) -> list[bytes]:
        """What has come of a body, after waiting for it; nothing is the end of it."""
        while not self._parts and not self._has_ended:
            await self._news(deadline)
        parts, self._parts, self._size = self._parts, [], 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        if not parts and self._error is not None:
            raise self._error
        return parts

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self._status

    @property
    def retry_after(self) -> str | None:
        """When the server wants to be asked again, in its own words."""
        return self._retry_after

    @property
    def location(self) -> str | None:
        """Where a redirect points."""
        return self._location

    def close(self) -> None:
        """End it politely."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it at once: a TLS good-bye to a server that is gone takes half a minute."""
        self._disarm()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport over."""
        # Other loops' transports are like asyncio's without being derived from them.
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go; the parser has copied what was there."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what was received, then wake the reader once for all of it."""
        if self._has_ended or self._parser is None:
            # Nobody asked: whatever this server is, it is out of step.
            self.abort()
            return
        size = self._size
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(ConnectionLost(f"the answer is no HTTP: {error}"))
            self.abort()
        # The parser keeps a header until it ends and skips chunk extensions, both of any size.
        self._overhead = self._overhead + nbytes if self._size == size else 0
        if self._overhead > OVERHEAD_LIMIT:
            self._refuse(f"more than {OVERHEAD_LIMIT} bytes that are not body")
        if self._parts and self._is_stream:
            self._wake()
            if self._size > self._largest and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits, and the owner."""
        self._transport = None
        self._disarm()
        if not self._has_ended:
            # Without a status the head is not whole, and where its body ends is not known.
            if self._ends_with_connection and self._status and exc is None:
                self._finish()
            self._end(ConnectionLost(str(exc) if exc else _CLOSED))
        # The parser holds on to us. The collector looks for such circles too seldom for something
        # with a buffer, and never among what was there when it was told to leave that alone.
        self._parser, self._buffer = None, _NO_ROOM
        self._on_lost(self)

    def on_message_begin(self) -> None:
        """Until a header says otherwise, a body lasts as long as the connection."""
        if self._has_ended:
            # What was raised here ends the parsing, so that it cannot get into the last answer.
            raise ConnectionLost("an answer that nobody asked for")
        self._ends_with_connection = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the two headers that we read, and what tells where the body ends."""
        name = name.lower()
        if name not in _READ_HEADERS:
            return
        if name == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif name == b"location":
            self._location = value.decode("latin-1")
        else:
            self._ends_with_connection = False

    def on_headers_complete(self) -> None:
        """Let a stream begin, unless the answer is interim."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status == 101:
            self._refuse("101 Switching Protocols, which no request of ours asked for")
        elif status < 100:
            self._refuse(f"status {status}")
        elif status < 200:
            self._retry_after = self._location = None
            return
        self._status = status
        if self._is_stream:
            self._wake()

    def on_body(self, body: bytes) -> None:
        """Collect the body; that of an exchange within limits."""
        self._size += len(body)
        if self._size > self._largest and not self._is_stream:
            self._refuse(f"more than {self._largest} bytes")
            return
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Finish the answer; an interim one is followed by another."""
        assert self._parser is not None
        if not self._status:
            return
        if self._transport is not None and self._transport.get_write_buffer_size():
            # It answered before it had read all. It may take the rest for another request, and
            # answer that.
            self.abort()
        elif not self._parser.should_keep_alive():
            self.close()
        self._finish()

    def _send(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionLost(_CLOSED, sent=False)
        self._parts, self._size, self._overhead = [], 0, 0
        self._retry_after = self._location = None
        self._status, self._answer, self._error = 0, None, None
        self._has_ended = self._ends_with_connection = False
        self._transport.write(data)

    def _finish(self) -> None:
        if not self._has_ended and not self._is_stream:
            self._answer = Answer(
                self._status, b"".join(self._parts), self._retry_after, self._location
            )
        self._end(None)

    def _refuse(self, what: str) -> None:
        self._end(BadResponse(f"an answer of {what}"))
        self.abort()

    def _end(self, error: Exception | None) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _news(self, deadline: float | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        if deadline is not None:
            self._deadline = deadline
            if self._alarm is None:
                self._alarm = loop.call_at(deadline, self._ring)
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _ring(self) -> None:
        """Set the alarm anew: one that is moved for every event would cost as much as the event."""
        self._alarm = None
        if self._waiting is None or self._waiting.done():
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._deadline:
            self._waiting.set_exception(TimeoutError())
        else:
            self._alarm = loop.call_at(self._deadline, self._ring)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
