"""Connects to an API server behind a proxy, with aiohttp instead of `pool`.

This is the only module of the client that imports aiohttp, which supports proxies. It has the
interface of `pool` and needs more CPU time per request. Transport errors are raised as KubeErrors.
It must not read the environment, and it never follows a redirect with our credentials.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import aiohttp
from yarl import URL

from shared_api.kube.access import Access
from shared_api.kube.errors import BadResponse, ConnectionLost
from shared_api.kube.http.connection import Answer
from shared_api.kube.http.pool import ConnectionLimits, guard


class Proxied:
    """Connections to one server."""

    def __init__(self, access: Access, user_agent: str, limits: ConnectionLimits) -> None:
        self._access = access
        self._limits = limits
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                keepalive_timeout=limits.keep_alive,
                socket_factory=_open_socket,
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect),
            headers={
                "User-Agent": user_agent,
                # The network inside a cluster is faster than gzip on a busy API server.
                "Accept-Encoding": "identity",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
        )

    async def exchange(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None
    ) -> Answer:
        """Send one request and wait for its answer."""
        with _translated():
            async with await self._request(method, target, headers, body) as response:
                content = await self._read(response)
                found = response.headers
                return Answer(
                    response.status, content, found.get("Retry-After"), found.get("Location")
                )

    async def stream(self, target: str, headers: dict[str, str]) -> "ProxiedStream":
        """Send one request whose answer is read as it arrives."""
        with _translated():
            return ProxiedStream(await self._request("GET", target, headers, None))

    def forget(self) -> None:
        """Do nothing: the proxy decides which connections it keeps."""

    async def close(self) -> None:
        """Drop all connections."""
        await self._session.close()

    async def _request(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        response = await self._session.request(
            method,
            URL(self._access.server + target, encoded=True),
            data=body,
            headers=headers,
            allow_redirects=False,
            # A new TLS context gets new connections; those of the old context stay open.
            ssl=self._access.trusted() or True,
            proxy=self._access.proxy,
            server_hostname=self._access.server_name,
        )
        if response.status < 200:
            response.close()
            raise BadResponse(
                f"an answer of the status {response.status}, which is not a final one"
            )
        return response

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        limit = self._limits.body
        parts, size = [], 0
        while part := await response.content.readany():
            parts.append(part)
            size += len(part)
            if size > limit:
                response.close()
                raise BadResponse(f"an answer of more than {limit} bytes")
        return b"".join(parts)


class ProxiedStream:
    """One answer, read as it arrives."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self._response.status

    @property
    def retry_after(self) -> str | None:
        """The value of the header Retry-After, as the server sent it."""
        return self._response.headers.get("Retry-After")

    @property
    def location(self) -> str | None:
        """Where a redirect points."""
        return self._response.headers.get("Location")

    async def parts(self, deadline: float) -> list[bytes]:
        """Wait for more of the body and return its parts; no part means that it has ended."""
        with _translated():
            async with asyncio.timeout_at(deadline):
                part = await self._response.content.readany()
        return [part] if part else []

    def abort(self) -> None:
        """End it at once: a TLS shutdown with a dead server takes half a minute."""
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except aiohttp.ClientError as error:
        raise ConnectionLost(
            str(error) or type(error).__name__,
            # Nothing was sent if there was no connection.
            sent=not isinstance(
                error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError
            ),
        ) from error


def _open_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    try:
        guard(opened)
    except BaseException:
        opened.close()
        raise
    return opened
