"""Serves the pages of a process: /livez, /readyz and /metrics.

Liveness only shows that the event loop runs, because a restart repairs nothing that the runtime
does not repair by itself. Readiness has one line per check, in the format of the API server's
pages. Checks are plain functions that return a problem or None; they run when the page is read.
Metrics are rendered at most once a second, one family at a time, so that scrapes never keep the
loop from renewing the Lease.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from shared_api.runtime.serving.listener import (
    Handler,
    Listener,
    ListenerLimits,
    Response,
    ServedRequest,
)
from shared_api.runtime.serving.reviews import ALLOWED, UNAUTHENTICATED
from shared_api.runtime.serving.secure_metrics import SecureMetrics

Check: TypeAlias = Callable[[], str | None]
"""What is wrong, or None."""

_FRESH_SECONDS = 1.0
"""How long rendered metrics are served again."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 means any free one."""

    host: str = "0.0.0.0"  # noqa: S104 - probes and scrapes come from outside the pod
    port: int = 8080
    secure: SecureMetrics | None = None
    """With it, /metrics is on a port of its own: probes of the kubelet have no token."""


class Server:
    """The pages of one process; use as an async context manager."""

    def __init__(
        self,
        address: Address,
        registry: CollectorRegistry,
        *,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        limits: ListenerLimits | None = None,
    ) -> None:
        pages = {"/livez": _page(live), "/readyz": _page(ready)}
        metrics, secure = _Metrics(registry).page, address.secure
        if secure is None:
            pages["/metrics"] = metrics
        self._listeners = [Listener(address.host, address.port, _routed(pages), limits=limits)]
        if secure is not None:
            guarded = _routed({"/metrics": _guarded(metrics, secure)})
            tls = secure.certificate.context
            self._listeners.append(
                Listener(address.host, secure.port, guarded, tls=tls, limits=limits)
            )
        self.port = self.metrics_port = 0
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        ports = [listener.bind() for listener in self._listeners]
        self.port, self.metrics_port = ports[0], ports[-1]
        await self._group.__aenter__()
        self._tasks = [self._group.create_task(listener.run()) for listener in self._listeners]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A probe that hangs must not hold up the exit.
        for task in self._tasks:
            task.cancel()
        if not isinstance(error, asyncio.CancelledError):
            # A group would wrap the error of the block into an ExceptionGroup.
            kind = error = trace = None
        await self._group.__aexit__(kind, error, trace)


class _Metrics:
    """The metrics of a registry as text, rendered at most once a second."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._rendering = asyncio.Lock()
        self._text = b""
        self._until = 0.0

    async def page(self, _: ServedRequest) -> Response:
        now = asyncio.get_running_loop().time
        async with self._rendering:
            if now() >= self._until:
                self._text = await self._rendered()
                self._until = now() + _FRESH_SECONDS
        return Response(200, self._text, CONTENT_TYPE_PLAIN_0_0_4)

    async def _rendered(self) -> bytes:
        """Render the registry; other tasks run after each family.

        A page of 6,000 samples takes 45 ms, its largest family 15 ms. It is not done in a thread:
        values are read from structures of the loop, and a thread holds the same interpreter lock.
        """
        parts = []
        for family in self._registry.collect():
            parts.append(generate_latest(_Only(family)))
            await asyncio.sleep(0)
        return b"".join(parts)


class _Only(Collector):
    """A registry of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return [self._family]


def _routed(pages: Mapping[str, Handler]) -> Handler:
    async def answer(request: ServedRequest) -> Response:
        page = pages.get(request.path)
        return Response(404) if page is None else await page(request)

    return answer


def _guarded(page: Handler, secure: SecureMetrics) -> Handler:
    async def answer(request: ServedRequest) -> Response:
        authorization = request.headers.get("authorization", "")
        status = await secure.reviews.status(authorization, request.path)
        if status == ALLOWED:
            return await page(request)
        asked = {"WWW-Authenticate": "Bearer"} if status == UNAUTHENTICATED else {}
        return Response(status, headers=asked)

    return answer


def _page(checks: Mapping[str, Check]) -> Handler:
    async def page(request: ServedRequest) -> Response:
        found = {name: check() for name, check in checks.items()}
        healthy = all(problem is None for problem in found.values())
        lines = [_line(name, problem) for name, problem in sorted(found.items())]
        # As with the API server's pages: all lines when asked for or when something is wrong.
        if healthy and "verbose" not in request.query:
            return Response(200, b"ok")
        lines.append("ok" if healthy else "failed")
        return Response(200 if healthy else 503, ("\n".join(lines) + "\n").encode())

    return page


def _line(name: str, problem: str | None) -> str:
    return f"[+] {name} ok" if problem is None else f"[-] {name} {problem}"
