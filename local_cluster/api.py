"""A few verbs of the Kubernetes API for the local cluster's own needs.

It owns JSON over TLS with the certificates of a kubeconfig, and a watch that yields events
and ends when the server ends it. It has no cache, retries or typed objects, and does not use the
product's client: the tested code must not be the testing code.
"""

import asyncio
import base64
import contextlib
import json
import ssl
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

Object = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Api:
    """One connection pool to one API server; use as an async context manager."""

    def __init__(
        self, kubeconfig: Path, *, context: str | None = None, connections: int = 100
    ) -> None:
        self._server, self._ssl, self._token = _credentials(kubeconfig, context)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        self._session = aiohttp.ClientSession(
            base_url=self._server,
            connector=aiohttp.TCPConnector(ssl=self._ssl, limit=self._connections),
            timeout=aiohttp.ClientTimeout(total=30),
            headers=headers,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # lets aborted transports notify their protocols

    async def get(self, path: str, **params: str) -> Object:
        """Read an object, a list, or anything else that is JSON."""
        return await self._request("GET", path, params=params)

    async def text(self, path: str) -> str:
        """Read a path that is not JSON, such as /readyz."""
        async with self._open("GET", path) as response:
            body = await response.text()
            if response.status >= 400:
                raise ApiError(response.status, body.strip())
            return body

    async def create(self, path: str, body: Object, **params: str) -> Object:
        """POST an object to its collection (or to a subresource)."""
        return await self._request("POST", path, body=body, params=params)

    async def replace(self, path: str, body: Object, **params: str) -> Object:
        """PUT a whole object."""
        return await self._request("PUT", path, body=body, params=params)

    async def patch(
        self, path: str, body: object, *, content_type: str = MERGE_PATCH, **params: str
    ) -> Object:
        """PATCH an object; a merge patch by default."""
        return await self._request(
            "PATCH", path, body=body, params=params, headers={"Content-Type": content_type}
        )

    async def delete(self, path: str, body: Object | None = None, **params: str) -> Object:
        """DELETE an object or, with a selector, a collection."""
        return await self._request("DELETE", path, body=body, params=params)

    def current_and_following(self, path: str, **params: str) -> AsyncGenerator[Object]:
        """Watch a collection, its current objects first; a bookmark ends those."""
        return self.watch(
            path,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            **params,
        )

    async def watch(self, path: str, **params: str) -> AsyncGenerator[Object]:
        """Yield watch events. Close it (`contextlib.aclosing`), or its connection stays open."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=None, sock_connect=10)
        query = {"watch": "1", **params}
        async with self._open("GET", path, params=query, timeout=timeout) as response:
            if response.status >= 400:
                raise await _error(response)
            buffer = b""
            try:
                async for chunk in response.content.iter_any():
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    for line in lines:
                        yield json.loads(line)
            finally:
                # A watch has no end to read to: cut the connection, or closing it takes a TLS
                # shutdown that outlives the event loop.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()

    async def _request(
        self,
        verb: str,
        path: str,
        *,
        body: object = None,
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Object:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        async with self._open(verb, path, params=params, data=data, headers=headers) as response:
            if response.status >= 400:
                raise await _error(response)
            result: Object = await response.json()
            return result

    def _open(
        self, verb: str, path: str, **kwargs: Any
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("use Api as an async context manager")
        return self._session.request(verb, path, **kwargs)


async def wait_for_api(kubeconfig: Path, seconds: float) -> None:
    """Return once the API server is ready; raise TimeoutError if it never is."""
    async with asyncio.timeout(seconds), Api(kubeconfig) as api:
        while True:
            try:
                await api.text("/readyz")
            except (ApiError, aiohttp.ClientError):
                await asyncio.sleep(0.05)  # a server that does not listen yet sends no event
            else:
                return


async def _error(response: aiohttp.ClientResponse) -> ApiError:
    text = await response.text()
    with contextlib.suppress(ValueError):
        text = json.loads(text).get("message", text)
    return ApiError(response.status, text.strip())


def _credentials(kubeconfig: Path, context: str | None) -> tuple[str, ssl.SSLContext, str | None]:
    config = yaml.safe_load(kubeconfig.read_text())
    chosen = _named(config["contexts"], context or config["current-context"])["context"]
    cluster = _named(config["clusters"], chosen["cluster"])["cluster"]
    user = _named(config["users"], chosen["user"])["user"]
    authority = _material(kubeconfig, cluster, "certificate-authority")
    trust = ssl.create_default_context(cadata=authority.decode() if authority else None)
    certificate = _material(kubeconfig, user, "client-certificate")
    key = _material(kubeconfig, user, "client-key")
    if certificate and key:
        # The ssl module loads a client certificate from a file only.
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(certificate + b"\n" + key)
            pem.flush()
            trust.load_cert_chain(pem.name)
    return cluster["server"], trust, user.get("token")


def _named(entries: list[Object], name: str) -> Object:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise KeyError(name)


def _material(kubeconfig: Path, entry: Object, field: str) -> bytes | None:
    if inline := entry.get(f"{field}-data"):
        return base64.b64decode(inline)
    if file := entry.get(field):
        return Path(kubeconfig.parent, file).read_bytes()
    return None
