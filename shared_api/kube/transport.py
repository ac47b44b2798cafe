"""One request, one answer: deadlines, limits and credentials.

Short requests go over `wire`; streams, and everything behind a proxy, through aiohttp, of
which this is the client's only importer. Every wait for the network has a
deadline, so slots become free and a burst of requests only queues; every answer has a size
limit; nothing is looked up in the environment. Transport errors leave as members of our own
tree. It sends once, twice only after a 401 with new credentials; whether to repeat a
request is decided in `retry`.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from typing import Self, TypeAlias

import aiohttp
import msgspec
from yarl import URL

from shared_api.kube.access import Access
from shared_api.kube.errors import (
    ApiError,
    BadResponse,
    ConnectionLost,
    KubeError,
    Timeout,
    from_response,
)
from shared_api.kube.wire import Answer, Limits, Wire, guard

__all__ = ["JSON_TYPE", "Limits", "Line", "Observer", "Request", "Transport"]

Observer = Callable[[str, str, int, float], None]
"""Told of each attempt: verb, resource, HTTP code (0 without an answer) and seconds."""

Line: TypeAlias = bytes | memoryview
"""A line of a stream; a view is good for as long as nobody needs its chunk back."""

JSON_TYPE = "application/json"
ERROR_BODY_LIMIT = 64 * 1024


class Request(msgspec.Struct, frozen=True, gc=False):
    """What goes over the wire, without credentials."""

    method: str
    target: str
    """Path and query, encoded."""
    verb: str
    """The Kubernetes verb, for metrics."""
    resource: str
    body: bytes | None = None
    content_type: str = JSON_TYPE
    accept: str = JSON_TYPE
    repeatable: bool = True
    """Doing it twice is the same as doing it once."""


class Transport:
    """A pool of connections to one API server."""

    def __init__(
        self, access: Access, limits: Limits, observe: Observer | None, user_agent: str
    ) -> None:
        self._access = access
        self._limits = limits
        self._observe = observe
        self._user_agent = user_agent
        self._slots = asyncio.Semaphore(limits.in_flight)
        self._wire: Wire | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        await self._access.open()
        if self._access.proxy is None:
            self._wire = Wire(self._access, self._user_agent, self._limits)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                ssl=self._access.tls or True,
                keepalive_timeout=self._limits.keep_alive,
                socket_factory=_open_socket,
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect),
            headers={
                "User-Agent": self._user_agent,
                # The network inside a cluster is faster than gzip on a busy API server.
                "Accept-Encoding": "identity",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._wire is not None:
            await self._wire.close()
        if self._session is not None:
            await self._session.close()

    async def send(self, request: Request) -> bytes:
        """Make one attempt; return the body of a success, raise anything else."""
        started = _now()
        code = 0
        try:
            async with self._slots, asyncio.timeout(self._limits.attempt):
                answer = await self._ask(request)
                code = answer.status
                if code < 300:
                    return answer.body
                raise from_response(code, answer.body, answer.retry_after)
        except aiohttp.ClientError as error:
            raise _lost(error) from error
        except TimeoutError as error:
            raise Timeout(f"no answer in {self._limits.attempt:g} s") from error
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        finally:
            self._tell(request, code, started)

    async def batches(
        self, request: Request, inactivity: float, on_open: Callable[[], None]
    ) -> AsyncGenerator[list[Line], None]:
        """Open a stream and yield its lines, as many at a time as have come.

        Each line must come whole within `inactivity`.
        """
        response = await self._start_stream(request)
        on_open()
        try:
            rest = b""
            deadline = _now() + inactivity
            while chunk := await self._chunk(response, deadline, inactivity):
                lines, rest = _cut(rest, chunk)
                if len(rest) > self._limits.line:
                    raise BadResponse(f"a line of more than {self._limits.line} bytes")
                if lines:
                    yield lines
                    # From now: the time that the consumer spent inside the yield is its own.
                    deadline = _now() + inactivity
            if rest:
                raise ConnectionLost("the stream ended in the middle of a line")
        finally:
            _abandon(response)

    async def _ask(self, request: Request) -> Answer:
        authorization = await self._access.current()
        answer = await self._attempt(request, authorization)
        if answer.status == 401 and await self._access.renew(authorization):
            if self._wire is not None:
                self._wire.forget()
            answer = await self._attempt(request, self._access.authorization)
        return answer

    async def _attempt(self, request: Request, authorization: str | None) -> Answer:
        if self._wire is not None:
            headers = _headers(request, authorization)
            return await self._wire.exchange(request.method, request.target, headers, request.body)
        async with await self._exchange(request, authorization) as response:
            body = await self._read(response)
            return Answer(response.status, body, response.headers.get("Retry-After"))

    async def _start_stream(self, request: Request) -> aiohttp.ClientResponse:
        started = _now()
        code = 0
        try:
            async with asyncio.timeout(self._limits.attempt):
                response = await self._open(request)
                code = response.status
                if code >= 300:
                    async with response:
                        raise await _failure(response)
                return response
        except aiohttp.ClientError as error:
            raise _lost(error) from error
        except TimeoutError as error:
            raise Timeout(f"no answer in {self._limits.attempt:g} s") from error
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        finally:
            self._tell(request, code, started)

    async def _chunk(
        self, response: aiohttp.ClientResponse, deadline: float, inactivity: float
    ) -> bytes:
        try:
            async with asyncio.timeout_at(deadline):
                return await response.content.readany()
        except TimeoutError as error:
            raise Timeout(f"the stream was silent for {inactivity:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionLost(f"the stream broke: {error}") from error

    async def _open(self, request: Request) -> aiohttp.ClientResponse:
        authorization = await self._access.current()
        response = await self._exchange(request, authorization)
        if response.status == 401 and await self._access.renew(authorization):
            response.close()
            response = await self._exchange(request, self._access.authorization)
        return response

    async def _exchange(
        self, request: Request, authorization: str | None
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("use the client as an async context manager")
        return await self._session.request(
            request.method,
            URL(self._access.server + request.target, encoded=True),
            data=request.body,
            headers=_headers(request, authorization),
            allow_redirects=False,
            proxy=self._access.proxy,
            server_hostname=self._access.server_name,
        )

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        limit = self._limits.body
        if response.content_length is not None and response.content_length <= limit:
            return await response.read()
        body = await _read_at_most(response, limit + 1)
        if len(body) > limit:
            response.close()
            raise BadResponse(f"an answer of more than {limit} bytes")
        return body

    def _tell(self, request: Request, code: int, started: float) -> None:
        if self._observe is not None:
            self._observe(request.verb, request.resource, code, _now() - started)


def _headers(request: Request, authorization: str | None) -> dict[str, str]:
    headers = {"Accept": request.accept}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    if authorization:
        headers["Authorization"] = authorization
    return headers


def _cut(rest: bytes, chunk: bytes) -> tuple[list[Line], bytes]:
    """The whole lines of a chunk that follows a rest, and the new rest.

    Only what crosses chunks is copied: events are large, and copies would cost more than
    finding their ends.
    """
    end = chunk.find(b"\n")
    if end < 0:
        return [], rest + chunk
    first = rest + chunk[:end]
    lines: list[Line] = [first] if first else []
    view = memoryview(chunk)
    begin = end + 1
    while (end := chunk.find(b"\n", begin)) >= 0:
        if end > begin:
            lines.append(view[begin:end])
        begin = end + 1
    return lines, chunk[begin:]


async def _failure(response: aiohttp.ClientResponse) -> KubeError:
    body = await _read_at_most(response, ERROR_BODY_LIMIT)
    error: ApiError = from_response(response.status, body, response.headers.get("Retry-After"))
    return error


async def _read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    parts = []
    left = limit
    while left > 0 and (part := await response.content.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _abandon(response: aiohttp.ClientResponse) -> None:
    """Drop a connection at once: a TLS good-bye to a server that is gone takes half a minute."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _lost(error: aiohttp.ClientError) -> ConnectionLost:
    # Nothing was sent if the connection could not even be made.
    return ConnectionLost(
        str(error) or type(error).__name__,
        sent=not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError),
    )


def _open_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    guard(opened)
    return opened


def _now() -> float:
    return asyncio.get_running_loop().time()
