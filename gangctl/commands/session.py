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
from gangctl.snapshot import Snapshot
from shared_api.kube.errors import KubeError

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


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; an error of the API ends the program with code 3."""
    try:
        return asyncio.run(work)
    except* KubeError as errors:
        fail(str(_first(errors)))


def until_interrupted(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that has no end; Ctrl-C ends it without an error."""
    with contextlib.suppress(KeyboardInterrupt):
        wait_for(work)


def read_once(target: CommandTarget, parts: frozenset[Part]) -> Snapshot:
    """Read what a verb needs."""

    async def once() -> Snapshot:
        async with connected(target) as client:
            return await read(client, target, parts)

    return wait_for(once())


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
        from gangctl.terminal import Console, renderable

        Console().print(renderable(view()))
    else:
        sys.stdout.write(plain(view()))
