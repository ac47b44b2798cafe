"""Three pages over HTTP: /livez, /readyz and /metrics.

Liveness says that the event loop turns, and no more: a restart mends nothing that the
runtime does not mend by itself. Readiness names what is wrong, one line per check, in the
form of the API server's own pages. Checks are plain functions that return a problem or
None; they are asked when somebody looks.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

Check: TypeAlias = Callable[[], str | None]
"""What is wrong, or None."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 means any free one."""

    host: str = "0.0.0.0"  # noqa: S104 - probes and scrapes come from outside the pod
    port: int = 8080


class Server:
    """The pages of one process; use as an async context manager."""

    def __init__(
        self,
        address: Address,
        registry: CollectorRegistry,
        *,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
    ) -> None:
        self._address = address
        app = web.Application()
        app.router.add_get("/livez", _page(live))
        app.router.add_get("/readyz", _page(ready))
        app.router.add_get("/metrics", make_aiohttp_handler(registry))
        # A probe that hangs must not hold up the exit.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        self.port = 0

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._address.host, self._address.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()


def _page(checks: Mapping[str, Check]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def page(request: web.Request) -> web.StreamResponse:
        found = {name: check() for name, check in checks.items()}
        healthy = all(problem is None for problem in found.values())
        lines = [_line(name, problem) for name, problem in sorted(found.items())]
        # As with the API server's pages: all lines when asked for or when something is wrong.
        if healthy and "verbose" not in request.query:
            return web.Response(text="ok")
        lines.append("ok" if healthy else "failed")
        return web.Response(text="\n".join(lines) + "\n", status=200 if healthy else 503)

    return page


def _line(name: str, problem: str | None) -> str:
    return f"[+] {name} ok" if problem is None else f"[-] {name} {problem}"
