"""The verb `dashboard`: prints the address of the page and opens it, until Ctrl-C."""

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
from gangctl.reading import CommandTarget
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
    # Imported here: no other verb needs a web server.
    from gangctl.dashboard.serving import serve

    async def announce(url: str) -> None:
        found = Announcement(url)
        show(found, output, lambda: announcement_view(found))
        sys.stdout.flush()
        if browser:
            await asyncio.to_thread(webbrowser.open, url)

    target = CommandTarget(kubeconfig, context, namespace)
    try:
        wait_for(target, serve(target, port, announce))
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
