"""Verbs that change a set: rollout status, restart and undo, and scale.

Each verb reads, lets a pure report decide, and writes with the user's own rights. `rollout status -w`
follows the set by a watch and ends when the update does.
"""

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gangctl.commands.completion import complete_clique, complete_group
from gangctl.commands.session import (
    Context,
    Kubeconfig,
    Namespace,
    Output,
    SetName,
    fail,
    finish,
    not_found,
    wait_for,
)
from gangctl.lookup import follow_set, read_revisions, read_set
from gangctl.reading import CommandTarget, Part, connected, read
from gangctl.rendering import OutputFormat
from gangctl.reports import rollout as reports
from gangctl.reports.rollout import ChangeReport, RolloutReport, change_view, rollout_view
from gangctl.reports.scaling import ScaleError, ScaleReport, scale_plan, scale_view
from gangctl.reports.view import Verdict
from gangctl.snapshot import CLIQUES, GROUPS, SETS
from gangctl.writing import patch_set
from gangctl.writing import scale as set_replicas
from shared_api.kube.codec import LooseObject

rollout = typer.Typer(
    no_args_is_help=True, help="Follow an update, restart a set, or bring back a revision."
)
_SCALED = {resource.kind: resource for resource in (SETS, CLIQUES, GROUPS)}
_SCALING = frozenset({Part.CLIQUES, Part.GROUPS, Part.AUTOSCALERS})


@rollout.command("status")
def rollout_status(
    name: SetName,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Wait until the update ends or needs a remedy.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait with --watch; 0 waits forever.", min=0)
    ] = 0,
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show how far an update is, and the stored revisions.

    Exit code 0 means that all replicas are updated and available, 2 that the update exceeded its
    progress deadline.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    report = wait_for(target, _followed(target, name, timeout) if watch else _rollout(target, name))
    if report is None:
        not_found(target, name, "PodCliqueSet")
    finish(report, output, lambda: rollout_view(report), report.verdict)


@rollout.command("restart")
def rollout_restart(
    name: SetName,
    cliques: Annotated[
        list[str] | None,
        typer.Option(
            "--clique",
            "-c",
            help="Restart only this clique; may be repeated.",
            autocompletion=complete_clique,
        ),
    ] = None,
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Replace all pods of a set, as its update strategy permits.

    Sets the annotation kubectl.kubernetes.io/restartedAt in the templates. Keep it when you apply
    the set again from a file: removing it is another change of the templates.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    report = wait_for(target, _restart(target, name, cliques or ()))
    finish(report, output, lambda: change_view(report), Verdict.FINE)


@rollout.command("undo")
def rollout_undo(
    name: SetName,
    to_revision: Annotated[
        int | None,
        typer.Option(
            help="Revision to bring back, as `rollout status` lists them."
            " Defaults to the one before the current one."
        ),
    ] = None,
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Bring back an earlier version of the pod templates.

    Sizes, minimums and topology constraints stay as they are.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    report = wait_for(target, _undo(target, name, to_revision))
    finish(report, output, lambda: change_view(report), Verdict.FINE)


def scale(
    name: SetName,
    replicas: Annotated[int, typer.Option(help="Wanted number of replicas.", min=0)],
    clique: Annotated[
        str | None,
        typer.Option(
            "--clique",
            "-c",
            help="Scale the pods of this clique instead of the set.",
            autocompletion=complete_clique,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Scale this scaling group instead of the set.",
            autocompletion=complete_group,
        ),
    ] = None,
    replica: Annotated[
        int | None,
        typer.Option(help="With --clique or --group: only in this replica of the set.", min=0),
    ] = None,
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Scale a set, or one of its cliques or scaling groups in every replica of the set."""
    target = CommandTarget(kubeconfig, context, namespace)

    async def work() -> ScaleReport:
        async with connected(target) as client:
            snapshot = await read(client, target, _SCALING)
            items = [i for i in snapshot.sets if i.metadata.name == name]
            if not items:
                not_found(target, name, "PodCliqueSet")
            report = scale_plan(
                snapshot, items[0], replicas, clique=clique, group=group, replica=replica
            )
            for one in report.objects:
                key = report.namespace, one.name
                await set_replicas(client, _SCALED[one.kind], key, one.after)
            return report

    try:
        report = wait_for(target, work())
    except ScaleError as error:
        fail(f"{error}.")
    finish(report, output, lambda: scale_view(report), Verdict.FINE)


async def _rollout(target: CommandTarget, name: str) -> RolloutReport | None:
    async with connected(target) as client:
        item = await read_set(client, target, name)
        if item is None:
            return None
        revisions = await read_revisions(client, target, name)
    return reports.rollout_report(item, revisions, target.clock.utc())


async def _followed(target: CommandTarget, name: str, seconds: float) -> RolloutReport | None:
    """Print each change to the progress until it ends, and return the last report."""
    last = ""

    def is_done(item: LooseObject | None) -> bool:
        nonlocal last
        if item is None:
            return True
        report = reports.rollout_report(item, (), target.clock.utc())
        if report.verdict is Verdict.WAITING and report.message != last:
            last = report.message
            sys.stderr.write(f"{name}: {last}\n")
        return report.verdict is not Verdict.WAITING

    # A watch tries again forever: what prevents the first answer is an error.
    found = await _rollout(target, name)
    if found is None or found.verdict is not Verdict.WAITING:
        return found
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds or None), connected(target) as client:
            await follow_set(client, target, name, is_done)
    return await _rollout(target, name)


async def _restart(target: CommandTarget, name: str, cliques: Sequence[str]) -> ChangeReport:
    async with connected(target) as client:
        item = await read_set(client, target, name)
        if item is None:
            not_found(target, name, "PodCliqueSet")
        known = [clique["name"] for clique in reports.cliques_of(item)]
        if unknown := sorted(set(cliques) - set(known)):
            fail(f"No clique {', '.join(unknown)} in {name}. Cliques: {', '.join(known)}.")
        await patch_set(client, item, reports.restart_patch(item, cliques, target.clock.utc()))
    chosen = tuple(cliques) or tuple(known)
    message = f"restarted {', '.join(chosen)}"
    return _changed(target, name, "restart", None, chosen, message)


async def _undo(target: CommandTarget, name: str, number: int | None) -> ChangeReport:
    async with connected(target) as client:
        item = await read_set(client, target, name)
        if item is None:
            not_found(target, name, "PodCliqueSet")
        revisions = await read_revisions(client, target, name)
        try:
            revision = reports.wanted_revision(item, revisions, number)
            operations, cliques = reports.undo_patch(item, revision)
        except reports.NoRevisionError as error:
            fail(f"{name}: {error}.")
        message = f"has the templates of revision {revision.revision} already"
        if operations:
            await patch_set(client, item, operations)
            message = f"brought back revision {revision.revision} of {', '.join(cliques)}"
    return _changed(target, name, "undo", revision.revision, tuple(cliques), message)


def _changed(
    target: CommandTarget,
    name: str,
    action: str,
    revision: int | None,
    cliques: tuple[str, ...],
    message: str,
) -> ChangeReport:
    follow = f"kubectl gang rollout status {name} -n {target.home} -w" if cliques else ""
    return ChangeReport(target.home, name, action, revision, cliques, message, follow)
