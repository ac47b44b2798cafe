"""Sends one request and returns one answer: deadlines, limits and credentials.

Requests go over `pool`, or over `aiohttp_fallback` where the configuration names a proxy. Every
wait for the network has a deadline, so slots become free and a burst only queues. Every answer has
a size limit. Errors of the network are raised as `KubeError`. A request is sent once, and a second
time only after a 401 with new credentials; `retry` decides about repeating it. This module must
not read the environment.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Self, TypeAlias

import msgspec

from shared_api.kube.access import Access
from shared_api.kube.errors import ConnectionLost, KubeError, Timeout, from_response
from shared_api.kube.http.connection import Answer, Connection
from shared_api.kube.http.lines import Line, Lines
from shared_api.kube.http.pool import ConnectionLimits, Wire
from shared_api.kube.http.slots import Slots, Urgency

if TYPE_CHECKING:
    from shared_api.kube.http.aiohttp_fallback import Proxied, ProxiedStream

__all__ = ["JSON_TYPE", "ApiRequest", "ConnectionLimits", "Line", "Observer", "Transport"]

Observer = Callable[[str, str, int, float], None]
"""Called for each attempt: verb, resource, HTTP code (0 without an answer) and seconds."""

JSON_TYPE = "application/json"
ERROR_BODY_LIMIT = 64 * 1024


class ApiRequest(msgspec.Struct, frozen=True, gc=False):
    """A request without credentials."""

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
    """Sending it twice has the same effect as sending it once."""


Stream: TypeAlias = "Connection | ProxiedStream"


class Transport:
    """A pool of connections to one API server."""

    def __init__(
        self, access: Access, limits: ConnectionLimits, observe: Observer | None, user_agent: str
    ) -> None:
        self._access = access
        self._limits = limits
        self._observe = observe
        self._user_agent = user_agent
        self._slots = Slots(limits.in_flight)
        self._opened: Wire | Proxied | None = None

    async def __aenter__(self) -> Self:
        await self._access.open()
        self._opened = self._way_to_server()(self._access, self._user_agent, self._limits)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def send(self, request: ApiRequest, urgency: Urgency = Urgency.GO_ON) -> bytes:
        """Make one attempt; return the body of a success, raise anything else."""
        started = _now()
        code = 0
        try:
            await self._slots.acquire(urgency)
            try:
                async with asyncio.timeout(self._limits.attempt):
                    answer = await self._ask(request)
            finally:
                self._slots.release()
            code = answer.status
            if code < 300:
                return answer.body
            raise from_response(code, answer.body, answer.retry_after, answer.location)
        except TimeoutError as error:
            raise Timeout(f"no answer in {self._limits.attempt:g} s") from error
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        finally:
            self._report(request, code, started)

    async def batches(
        self, request: ApiRequest, inactivity: float, on_open: Callable[[], None]
    ) -> AsyncGenerator[list[Line], None]:
        """Open a stream and yield its lines, as many at a time as have arrived.

        Each line must arrive whole within `inactivity` seconds.
        """
        stream = await self._start_stream(request)
        on_open()
        lines = Lines(self._limits.line)
        try:
            deadline = _now() + inactivity
            while parts := await _next(stream, deadline, inactivity):
                if whole := lines.cut(parts):
                    yield whole
                    # From now: the time that the consumer needed does not count.
                    deadline = _now() + inactivity
            if lines.is_inside_one:
                raise ConnectionLost("the stream ended in the middle of a line")
        finally:
            stream.abort()

    async def chunks(self, request: ApiRequest, inactivity: float) -> AsyncGenerator[bytes, None]:
        """Open a stream and yield its bytes as they arrive, until it ends."""
        stream = await self._start_stream(request)
        try:
            while parts := await _next(stream, _now() + inactivity, inactivity):
                yield b"".join(parts)
        finally:
            stream.abort()

    async def _ask(self, request: ApiRequest) -> Answer:
        authorization = await self._access.current()
        answer = await self._attempt(request, authorization)
        if answer.status == 401 and await self._access.renew(authorization):
            self._way.forget()
            answer = await self._attempt(request, self._access.authorization)
        return answer

    async def _attempt(self, request: ApiRequest, authorization: str | None) -> Answer:
        headers = _headers(request, authorization)
        return await self._way.exchange(request.method, request.target, headers, request.body)

    async def _start_stream(self, request: ApiRequest) -> Stream:
        started = _now()
        code = 0
        try:
            async with asyncio.timeout(self._limits.attempt):
                stream = await self._open(request)
                code = stream.status
                if code >= 300:
                    raise await _failure(stream, started + self._limits.attempt)
                return stream
        except TimeoutError as error:
            raise Timeout(f"no answer in {self._limits.attempt:g} s") from error
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        finally:
            self._report(request, code, started)

    async def _open(self, request: ApiRequest) -> Stream:
        authorization = await self._access.current()
        stream = await self._begin(request, authorization)
        if stream.status != 401:
            return stream
        try:
            is_renewed = await self._access.renew(authorization)
        except BaseException:
            stream.abort()
            raise
        if not is_renewed:
            return stream
        stream.abort()
        self._way.forget()
        return await self._begin(request, self._access.authorization)

    async def _begin(self, request: ApiRequest, authorization: str | None) -> Stream:
        return await self._way.stream(request.target, _headers(request, authorization))

    def _way_to_server(self) -> "type[Wire | Proxied]":
        if self._access.proxy is None:
            return Wire
        # Imported here: aiohttp takes a fifth of the start time, and only proxies need it.
        from shared_api.kube.http.aiohttp_fallback import Proxied

        return Proxied

    @property
    def _way(self) -> "Wire | Proxied":
        if self._opened is None:
            raise RuntimeError("use the client as an async context manager")
        return self._opened

    def _report(self, request: ApiRequest, code: int, started: float) -> None:
        if self._observe is not None:
            self._observe(request.verb, request.resource, code, _now() - started)


async def _next(stream: Stream, deadline: float, inactivity: float) -> list[bytes]:
    try:
        return await stream.parts(deadline)
    except TimeoutError as error:
        raise Timeout(f"the stream was silent for {inactivity:g} s") from error
    except OSError as error:
        raise ConnectionLost(f"the stream broke: {error}") from error


async def _failure(stream: Stream, deadline: float) -> KubeError:
    """Return the error of a refused stream, from the first bytes of its body."""
    body = b""
    try:
        while len(body) < ERROR_BODY_LIMIT and (parts := await stream.parts(deadline)):
            body += b"".join(parts)
    finally:
        stream.abort()
    refusal = body[:ERROR_BODY_LIMIT]
    return from_response(stream.status, refusal, stream.retry_after, stream.location)


def _headers(request: ApiRequest, authorization: str | None) -> dict[str, str]:
    headers = {"Accept": request.accept}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    if authorization:
        headers["Authorization"] = authorization
    return headers


def _now() -> float:
    return asyncio.get_running_loop().time()
