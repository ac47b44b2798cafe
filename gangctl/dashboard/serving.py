"""Runs the dashboard: watches, documents and the server, until it is cancelled.

It owns their wiring and decides nothing. The page is served before the watches are filled, so that it can
show what is still being read.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gangctl.dashboard.files import page
from gangctl.dashboard.refreshing import Refresher
from gangctl.dashboard.server import DashboardServer
from gangctl.dashboard.store import DocumentStore
from gangctl.dashboard.watching import Caches, Watches, scope_of
from gangctl.reading import CommandTarget, connected


async def serve(
    target: CommandTarget, port: int, announce: Callable[[str], Awaitable[None]]
) -> None:
    """Serve the page on 127.0.0.1; `announce` is called once with its address."""
    async with connected(target) as client:
        scope = await scope_of(client, target)
        caches, store = Caches(), DocumentStore()
        watches = Watches(client, caches, scope)
        refresher = Refresher(
            caches,
            store,
            target.clock.utc,
            context=target.shown_context,
            scope=scope or "",
            before_round=watches.refresh_unread,
        )
        server = DashboardServer(caches, store, refresher, target.clock.utc, page())
        async with server.serving(port) as url, asyncio.TaskGroup() as group:
            group.create_task(watches.run())
            group.create_task(refresher.run())
            await announce(url)
