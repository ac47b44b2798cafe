"""One HTTP/1.1 connection: a request, and its answer as a whole or as a stream.

Bytes are received into one buffer that is reused, because the kernel would have to clear the
pages of a new buffer for every read. httptools parses the bytes and copies the body out once. An
exchange waits for the last part of a body, a stream for the next part. A stream whose reader is
busy stops receiving, so that the server waits and memory does not grow. Requests are never
pipelined: bytes without a request end the connection. Interim answers (1xx) are skipped. All
bytes outside of a body (heads, interim answers, chunk extensions, trailers) are bounded by
`OVERHEAD_LIMIT`.
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
_NO_BUFFER = memoryview(bytearray())


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The answer of the server."""

    status: int
    body: bytes
    retry_after: str | None = None
    location: str | None = None
    """Where a redirect points."""


class Connection(asyncio.BufferedProtocol):
    """One connection; the parser calls the methods whose names begin with `on_`."""

    def __init__(self, buffer: int, largest: int, on_lost: Callable[["Connection"], None]) -> None:
        self._buffer = memoryview(bytearray(buffer))
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
        """Tell whether nothing has arrived since the last answer, processed by the loop or not.

        Bytes that wait in the socket belong to no request. The next request would read them as its
        answer.
        """
        assert self._transport is not None
        if self._quiet is None:
            self._quiet = select.poll()
            self._quiet.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not self._quiet.poll(0)

    async def exchange(self, data: bytes) -> Answer:
        """Send a request and return its answer."""
        self._send(data)
        while self._answer is None:
            if self._error is not None:
                raise self._error
            await self._news()
        return self._answer

    async def begin(self, data: bytes) -> None:
        """Send a request and wait for the head of its answer; `parts` reads the body."""
        self._is_stream = True
        self._send(data)
        while not self._status:
            if self._error is not None:
                raise self._error
            await self._news()

    async def parts(self, deadline: float) -> list[bytes]:
        """Wait for more of the body and return its parts; no part means that it has ended."""
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
        """The value of the header Retry-After, as the server sent it."""
        return self._retry_after

    @property
    def location(self) -> str | None:
        """Where a redirect points."""
        return self._location

    def close(self) -> None:
        """Close the connection with a TLS shutdown."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it at once: a TLS shutdown with a dead server takes half a minute."""
        self._disarm()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; asyncio calls this once."""
        # Transports of other event loops have the same methods but another base class.
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes; the parser has copied its old content."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse the received bytes, then resume the reader once."""
        if self._has_ended or self._parser is None:
            # No request is open: later answers would be assigned to the wrong requests.
            self.abort()
            return
        size = self._size
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(ConnectionLost(f"the answer is not HTTP: {error}"))
            self.abort()
        # The parser limits neither the size of a header nor that of chunk extensions.
        self._overhead = self._overhead + nbytes if self._size == size else 0
        if self._overhead > OVERHEAD_LIMIT:
            self._refuse(f"more than {OVERHEAD_LIMIT} bytes that are not body")
        if self._parts and self._is_stream:
            self._wake()
            if self._size > self._largest and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Raise the error in the waiting reader, and call the owner of the connection."""
        self._transport = None
        self._disarm()
        if not self._has_ended:
            # Without a status the head is incomplete, and the end of the body is not known.
            if self._ends_with_connection and self._status and exc is None:
                self._finish()
            self._end(ConnectionLost(str(exc) if exc else _CLOSED))
        # The parser refers to this object. The garbage collector finds such cycles too late for an
        # object with a buffer, and never those that existed at `gc.freeze`.
        self._parser, self._buffer = None, _NO_BUFFER
        self._on_lost(self)

    def on_message_begin(self) -> None:
        """Begin an answer; without a length header its body ends with the connection."""
        if self._has_ended:
            # The exception ends the parsing, so these bytes cannot become part of the last answer.
            raise ConnectionLost("an answer without a request")
        self._ends_with_connection = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep Retry-After and Location, and note the headers that define the end of the body."""
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
        """Collect a part of the body; the body of an exchange has a size limit."""
        self._size += len(body)
        if self._size > self._largest and not self._is_stream:
            self._refuse(f"more than {self._largest} bytes")
            return
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Finish the answer; after an interim answer, wait for the next."""
        assert self._parser is not None
        if not self._status:
            return
        if self._transport is not None and self._transport.get_write_buffer_size():
            # The server answered before it had read the whole request. It may read the rest as
            # another request, and answer that.
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
        """End the wait at its deadline, or set the alarm again: moving it per event is too slow."""
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
