"""Verbs that only read: status, why, tree and backends.

Each verb names the lists that it needs, calls its report and prints it.
"""

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from gangctl.commands.session import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    fail,
    finish,
    show,
    wait_for,
)
from gangctl.reading import Part, Target, connected, read
from gangctl.rendering import OutputFormat, renderable
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.status import StatusReport, status_report, status_view
from gangctl.reports.tree import tree_report, tree_view
from gangctl.reports.why import why_report, why_view
from gangctl.snapshot import Snapshot

_WHY = frozenset({Part.CLIQUES, Part.BACKENDS, Part.CAPACITY})
_TREE = frozenset({Part.BACKENDS, Part.SCHEDULER_OBJECTS})


def status(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh the table until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, typer.Option(help="Seconds between two refreshes with --watch.", min=0.1)
    ] = 2.0,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show all sets, and why they wait.

    For each set: available replicas, ready pods, GPUs, backend, queue, how long it has been
    waiting, and why.
    """
    target = Target(kubeconfig, context, namespace, all_namespaces)
    if watch:
        wait_for(_watch(target, interval, output))
        return
    report = status_report(_read(target, frozenset()))
    finish(
        report, output, lambda: status_view(report, all_namespaces=all_namespaces), report.verdict
    )


def why(
    name: Annotated[str, typer.Argument(help="Name of a PodCliqueSet, a PodGang or a pod.")],
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show why a gang waits.

    The stages of the gang, its needs in numbers, what would unblock it, which workloads use what
    it needs, and the next command.
    """
    target = Target(kubeconfig, context, namespace)
    report = why_report(_read(target, _WHY), target.home, name)
    if report is None:
        fail(_not_found(target, name, "PodCliqueSet, PodGang or pod"))
    finish(report, output, lambda: why_view(report), report.verdict)


def tree(
    name: Annotated[str, typer.Argument(help="Name of a PodCliqueSet.")],
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the objects of a set.

    Its gangs, cliques and pods, and the objects of the scheduler, each with its state.
    """
    target = Target(kubeconfig, context, namespace)
    report = tree_report(_read(target, _TREE), target.home, name)
    if report is None:
        fail(_not_found(target, name, "PodCliqueSet"))
    finish(report, output, lambda: tree_view(report), report.verdict)


def backends(
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the schedulers' backends.

    For each backend: whether it is alive and ready, the leader, the API of the scheduler, the
    number of gangs, what is missing, and its capabilities.
    """
    target = Target(kubeconfig, context, all_namespaces=True)
    report = backends_report(_read(target, frozenset({Part.BACKENDS})))
    finish(report, output, lambda: backends_view(report), report.verdict)


def _not_found(target: Target, name: str, kinds: str) -> str:
    return (
        f"No {kinds} {name} in namespace {target.home}."
        " List the sets of all namespaces: kubectl gang status -A"
    )


def _read(target: Target, parts: frozenset[Part]) -> Snapshot:
    async def once() -> Snapshot:
        async with connected(target) as client:
            return await read(client, target, parts)

    return wait_for(once())


async def _watch(target: Target, interval: float, output: OutputFormat) -> None:
    """Print the table again and again: in place on a terminal, elsewhere when it has changed."""
    console = Console()
    last: StatusReport | None = None
    everywhere = target.all_namespaces
    async with connected(target) as client:
        with Live(console=console, auto_refresh=False, transient=False) as live:
            while True:
                report = status_report(await read(client, target, frozenset()))
                if console.is_terminal and output is OutputFormat.TEXT:
                    live.update(
                        renderable(status_view(report, all_namespaces=everywhere)), refresh=True
                    )
                elif last is None or report.sets != last.sets:
                    show(report, output, lambda r=report: status_view(r, all_namespaces=everywhere))  # type: ignore[misc]
                last = report
                await asyncio.sleep(interval)
