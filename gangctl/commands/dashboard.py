"""The verb `dashboard`: watches, documents and the server, until Ctrl-C."""

import asyncio
import sys
import webbrowser
from typing import Annotated

import msgspec
import typer

from gangctl.commands.session import (
    Context,
    Kubeconfig,
    Namespace,
    Output,
    fail,
    show,
    wait_for,
)
from gangctl.dashboard.refreshing import Refresher
from gangctl.dashboard.server import DashboardServer
from gangctl.dashboard.store import DocumentStore
from gangctl.dashboard.watching import Caches, Watches, scope_of
from gangctl.reading import Target, connected
from gangctl.rendering import OutputFormat
from gangctl.reports.view import Line, View


class Announcement(msgspec.Struct, frozen=True):
    """Where the page is."""

    url: str


def dashboard(
    namespace: Namespace = None,
    port: Annotated[
        int, typer.Option(help="Port on 127.0.0.1. Defaults to a free one.", min=0, max=65535)
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Serve a live page of all gangs on this machine.

    The page shows the fleet, the stages of each gang, capacity by rack, backends and what
    happened, and follows the cluster by watches with your own rights. Only you can open it: it
    listens on 127.0.0.1 and its address has a random token. It ends with Ctrl-C. Without -n it
    shows all namespaces, or that of the context if you may not list all.
    """
    try:
        target = Target(kubeconfig, context, namespace)
        wait_for(_serve(target, port, output, opens=browser))
    except KeyboardInterrupt:
        raise typer.Exit from None
    except OSError as error:
        fail(f"Cannot listen on 127.0.0.1:{port}: {error.strerror}. Choose another port: --port 0")


def announcement_view(found: Announcement) -> View:
    """Return the address and how to stop."""
    return [
        Line(f"Dashboard: {found.url}"),
        Line("It shows what you may read. Stop it with Ctrl-C."),
    ]


async def _serve(target: Target, port: int, output: OutputFormat, *, opens: bool) -> None:
    async with connected(target) as client:
        scope = await scope_of(client, target)
        caches, store = Caches(), DocumentStore()
        watches = Watches(client, caches, scope)
        refresher = Refresher(
            caches, store, target.clock.utc, context=target.shown_context, scope=scope or ""
        )
        refresher.before_round = watches.refresh_unread
        watches.on_lease = lambda: refresher.mark("backends")
        server = DashboardServer(caches, store, refresher, target.clock.utc)
        async with server.serving(port) as url, asyncio.TaskGroup() as group:
            group.create_task(watches.run())
            group.create_task(refresher.run())
            found = Announcement(url)
            show(found, output, lambda: announcement_view(found))
            sys.stdout.flush()
            if opens:
                await asyncio.to_thread(webbrowser.open, url)
