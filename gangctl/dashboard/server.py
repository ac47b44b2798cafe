"""Serves the page on loopback: its files, the stream of changes, and the details of one gang.

It is the only module of the command line that serves HTTP. Every request passes `guard` first. The
number of streams is limited, and a stream has no queue: it sends what changed since its cursor. So
pages that are left open, or read slowly, cost next to nothing.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from aiohttp import web

from gangctl.dashboard import guard
from gangctl.dashboard.details import gang_details
from gangctl.dashboard.refreshing import Refresher
from gangctl.dashboard.store import Changes, DocumentStore
from gangctl.dashboard.watching import Caches

_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_STREAMS = 32
_HEARTBEAT = 15.0
"""Seconds; a comment shows both sides that the connection lives."""
_DEBOUNCE = 0.1
_HEADER_BYTES = 8 * 1024


class _Message(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    put: dict[str, msgspec.Raw] = {}
    deleted: tuple[str, ...] = ()
    reset: bool = False
    complete: bool = False
    now: str = ""


class DashboardServer:
    """One dashboard at one address."""

    def __init__(
        self,
        caches: Caches,
        store: DocumentStore,
        refresher: Refresher,
        now: Callable[[], datetime],
        files: Mapping[str, bytes],
    ) -> None:
        self._caches = caches
        self._store = store
        self._refresher = refresher
        self._now = now
        self._token = secrets.token_urlsafe(24)
        self._epoch = secrets.token_hex(4)
        self._port = 0
        self._streams = 0
        self._detailing = asyncio.Lock()
        self._files = files

    @property
    def url(self) -> str:
        """The address with the token."""
        return f"http://{guard.HOST}:{self._port}/{self._token}/"

    @contextlib.asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Listen on loopback, on a free port unless one is given; yield the address."""
        app = web.Application(middlewares=[self._guarded], client_max_size=1)
        app.router.add_get("/{token}/", self._index)
        app.router.add_get("/{token}/events", self._events)
        app.router.add_get("/{token}/gang", self._gang)
        app.router.add_get("/{token}/{name}", self._file)
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=0.1,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, guard.HOST, port)
            await site.start()
            self._port = runner.addresses[0][1]
            yield self.url
        finally:
            await runner.cleanup()

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], object]
    ) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        refused = guard.refusal(request.method, headers, self._port)
        if refused is not None:
            status, message = refused
            return _text(message, status)
        if not guard.has_token(request.path, self._token):
            return _text("Not found. Open the address that the command printed.", 404)
        try:
            response: web.StreamResponse = await handler(request)  # type: ignore[misc]
        except web.HTTPException as error:
            return _text(error.reason, error.status)
        return response

    async def _index(self, request: web.Request) -> web.Response:
        del request
        return self._answer("index.html")

    async def _file(self, request: web.Request) -> web.Response:
        return self._answer(request.match_info["name"])

    def _answer(self, name: str) -> web.Response:
        body = self._files.get(name)
        kind = _TYPES.get(Path(name).suffix)
        if body is None or kind is None:
            return _text("Not found.", 404)
        return web.Response(body=body, content_type=kind, charset="utf-8", headers=guard.HEADERS)

    async def _gang(self, request: web.Request) -> web.Response:
        namespace, name = request.query.get("namespace", ""), request.query.get("name", "")
        # One at a time: it reads the whole cluster, and the page asks again by itself.
        async with self._detailing:
            snapshot, levels = self._caches.everything(self._now()), self._refresher.levels
            found = await asyncio.to_thread(gang_details, snapshot, namespace, name, levels)
        if found is None:
            return _text("No such gang.", 404)
        body = msgspec.json.encode(found)
        return web.Response(body=body, content_type="application/json", headers=guard.HEADERS)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self._streams >= _STREAMS:
            return _text(f"More than {_STREAMS} pages are open. Close some.", 503)
        response = web.StreamResponse(
            headers={**guard.HEADERS, "Content-Type": "text/event-stream"}
        )
        await response.prepare(request)
        self._streams += 1
        try:
            await self._send_changes(response, request.headers.get("Last-Event-ID", ""))
        except (ConnectionError, asyncio.CancelledError):
            # The page was closed, or the command ends.
            pass
        finally:
            self._streams -= 1
        return response

    async def _send_changes(self, response: web.StreamResponse, last_id: str) -> None:
        epoch, _, text = last_id.partition("-")
        cursor = int(text) if epoch == self._epoch and text.isdecimal() else 0
        is_first = True
        while True:
            changes = self._store.since(cursor)
            cursor = changes.cursor
            if is_first or changes.put or changes.deleted:
                await response.write(self._encoded(changes))
            is_first = False
            if changes.is_complete:
                await self._wait(response, cursor)

    async def _wait(self, response: web.StreamResponse, cursor: int) -> None:
        """Wait for a change, and a little longer for those that follow it."""
        while self._store.revision <= cursor:
            try:
                await asyncio.wait_for(self._store.changed_since(cursor), _HEARTBEAT)
            except TimeoutError:
                await response.write(b": heartbeat\n\n")
        await asyncio.sleep(_DEBOUNCE)

    def _encoded(self, changes: Changes) -> bytes:
        message = _Message(
            dict(changes.put),
            changes.deleted,
            changes.is_reset,
            changes.is_complete,
            self._now().isoformat(timespec="seconds"),
        )
        # JSON has no line breaks, so one data line is enough.
        data = msgspec.json.encode(message)
        return b"id: %s-%d\ndata: %s\n\n" % (self._epoch.encode(), changes.cursor, data)


def _text(message: str, status: int) -> web.Response:
    return web.Response(text=f"{message}\n", status=status, headers=guard.HEADERS)
