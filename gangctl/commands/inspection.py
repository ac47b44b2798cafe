"""Verbs that only read: status, why, tree and backends.

Each verb names the lists that it needs, calls its report and prints it.
"""

from typing import Annotated

import typer

from gangctl.commands.completion import complete_target
from gangctl.commands.session import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    SetName,
    fail,
    finish,
    not_found,
    read_once,
    show,
    until_interrupted,
    warn_of_unread,
)
from gangctl.reading import CommandTarget, Part, connected
from gangctl.rendering import OutputFormat
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.doctor import ASK_FOR_VIEW
from gangctl.reports.status import StatusReport, status_report, status_view
from gangctl.reports.tree import tree_report, tree_view
from gangctl.reports.view import View
from gangctl.reports.why import why_report, why_view
from gangctl.snapshot import BACKENDS, Snapshot

_WHY = frozenset({Part.CLIQUES, Part.BACKENDS, Part.CAPACITY, Part.VERSIONS})
_TREE = frozenset({Part.BACKENDS, Part.SCHEDULER_OBJECTS})


def status(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show changes as they happen, until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, typer.Option(help="Least seconds between two tables with --watch.", min=0.1)
    ] = 1.0,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show all sets, and why they wait.

    For each set: available replicas, ready pods, GPUs, backend, queue, how long it has been
    waiting, and why.
    """
    target = CommandTarget(kubeconfig, context, namespace, all_namespaces)
    if watch:
        until_interrupted(target, _watch(target, interval, output))
        return
    report = status_report(read_once(target, frozenset()))
    finish(report, output, lambda: _status_view(target, report), report.verdict)


def why(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a PodCliqueSet, a PodGang or a pod.", autocompletion=complete_target
        ),
    ],
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show why a gang waits.

    The stages of the gang, its needs in numbers, what would unblock it, which workloads use what
    it needs, and the next command.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    snapshot = read_once(target, _WHY)
    warn_of_unread(snapshot)
    report = why_report(snapshot, target.home, name)
    if report is None:
        not_found(target, name, "PodCliqueSet, PodGang or pod")
    finish(report, output, lambda: why_view(report), report.verdict)


def tree(
    name: SetName,
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the objects of a set.

    Its gangs, cliques and pods, and the objects of the scheduler, each with its state.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    snapshot = read_once(target, _TREE)
    warn_of_unread(snapshot)
    report = tree_report(snapshot, target.home, name)
    if report is None:
        not_found(target, name, "PodCliqueSet")
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
    target = CommandTarget(kubeconfig, context, all_namespaces=True)
    snapshot = read_once(target, frozenset({Part.BACKENDS, Part.VERSIONS}), needs_sets=False)
    if snapshot.may_not_list(BACKENDS):
        fail(f"{snapshot.unread[BACKENDS.plural]}. {ASK_FOR_VIEW}")
    report = backends_report(snapshot)
    finish(report, output, lambda: backends_view(report), report.verdict)


def _status_view(target: CommandTarget, report: StatusReport) -> View:
    everywhere = target.all_namespaces
    return status_view(report, all_namespaces=everywhere, namespace=target.home)


async def _watch(target: CommandTarget, interval: float, output: OutputFormat) -> None:
    """Print the table after each change: in place on a terminal, elsewhere below the last one."""
    # Imported here: watches and the terminal library take half of the start time of a verb.
    from gangctl.terminal import Console, Live, renderable
    from gangctl.watching import follow

    console = Console()
    last: StatusReport | None = None
    with Live(console=console, auto_refresh=False) as live:

        def changed(snapshot: Snapshot) -> None:
            nonlocal last
            report = status_report(snapshot)
            if console.is_terminal and output is OutputFormat.TEXT:
                table = _status_view(target, report)
                live.update(renderable(table, console.width), refresh=True)
            elif last is None or (report.sets, report.unread) != (last.sets, last.unread):
                show(report, output, lambda: _status_view(target, report))
            last = report

        async with connected(target) as client:
            await follow(client, target, interval, changed)
