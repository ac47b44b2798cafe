"""What all verbs share: options, errors as messages, output, exit codes.

It owns the way from a verb to its exit code. No exception of the API reaches the user as a
traceback: the message names the server's answer, and the exit code is 3.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
import typer

from gangctl.commands.completion import complete_set
from gangctl.reading import CommandTarget, Part, connected, read
from gangctl.rendering import OutputFormat, encoded, plain
from gangctl.reports.view import Verdict, View
from gangctl.snapshot import CLIQUES, GANGS, Snapshot
from shared_api.kube.errors import KubeError, TransportError, Unauthorized
from shared_api.kube.resources import PODS

T = TypeVar("T")

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Namespace. Defaults to that of the context."),
]
SetName = Annotated[
    str, typer.Argument(help="Name of a PodCliqueSet.", autocompletion=complete_set)
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Objects of all namespaces.")
]
Output = Annotated[
    OutputFormat, typer.Option("--output", "-o", help="Text for people, or JSON or YAML.")
]
Kubeconfig = Annotated[
    str | None,
    typer.Option("--kubeconfig", help="Path of the kubeconfig. Defaults to $KUBECONFIG."),
]
Context = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig.")]


def wait_for(target: CommandTarget, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; an error of the API ends the program with code 3."""
    try:
        return asyncio.run(work)
    except* KubeError as errors:
        fail(_explained(target, _first(errors)))


def _explained(target: CommandTarget, error: BaseException) -> str:
    """Return an error with the cluster that it is about and what to do, if the user can do something."""
    if not isinstance(error, TransportError | Unauthorized):
        return str(error)
    server = " ".join(filter(None, ("The API server", target.server)))
    if target.shown_context:
        server += f" of context {target.shown_context}"
    if isinstance(error, Unauthorized):
        return f"{server} does not accept your credentials: {error}. Log in again."
    return (
        f"{server} cannot be reached: {error}. Start the cluster or the VPN, or name another context"
        " with --context: kubectl config get-contexts"
    )


def until_interrupted(target: CommandTarget, work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that has no end; Ctrl-C ends it without an error."""
    with contextlib.suppress(KeyboardInterrupt):
        wait_for(target, work)


def read_once(
    target: CommandTarget, parts: frozenset[Part], *, needs_sets: bool = True
) -> Snapshot:
    """Read what a verb needs."""

    async def once() -> Snapshot:
        async with connected(target) as client:
            return await read(client, target, parts, needs_sets=needs_sets)

    return wait_for(target, once())


def warn_of_unread(snapshot: Snapshot) -> None:
    """Print which parts of a set the user may not list: without them counts are too low."""
    for resource in (GANGS, CLIQUES, PODS):
        is_partial = resource is PODS and snapshot.pods
        if snapshot.may_not_list(resource) and not is_partial:
            sys.stderr.write(
                f"warning: what follows is without {resource.plural}:"
                f" {snapshot.unread[resource.plural]}\n"
            )


def not_found(target: CommandTarget, name: str, kinds: str) -> NoReturn:
    """Exit because no object has the name."""
    fail(
        f"No {kinds} {name} in namespace {target.home}."
        " List the sets of all namespaces: kubectl gang status -A"
    )


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def fail(message: str) -> NoReturn:
    """Print an error and exit with code 3."""
    sys.stderr.write(f"error: {message}\n")
    raise typer.Exit(Verdict.ERROR)


def finish(
    report: msgspec.Struct, output: OutputFormat, view: Callable[[], View], verdict: Verdict
) -> NoReturn:
    """Print a report and exit with the code of its verdict."""
    show(report, output, view)
    raise typer.Exit(verdict)


def show(report: msgspec.Struct, output: OutputFormat, view: Callable[[], View]) -> None:
    """Print a report: with colours on a terminal, plain elsewhere."""
    if output is not OutputFormat.TEXT:
        sys.stdout.write(encoded(report, output))
    elif sys.stdout.isatty():
        # Imported here: most programs that read the output do not need it.
        from gangctl import terminal

        terminal.show(view())
    else:
        sys.stdout.write(plain(view()))
