"""Verbs about capacity: topology, and fit, which asks what would happen before it happens."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from gangctl.commands.completion import complete_level
from gangctl.commands.session import (
    Context,
    Kubeconfig,
    Namespace,
    Output,
    fail,
    finish,
    read_once,
    wait_for,
)
from gangctl.reading import CommandTarget, Part, connected, read
from gangctl.rendering import OutputFormat
from gangctl.reports.fit import FitReport, fit_report, fit_view
from gangctl.reports.topology import (
    UnknownLevelError,
    UnknownResourceError,
    topology_report,
    topology_view,
)
from gangctl.snapshot import SETS
from gangctl.writing import dry_run
from shared_api.kube.resources import NODES, PODS

_CAPACITY = frozenset({Part.CAPACITY, Part.BINDINGS})
_FIT = _CAPACITY | {Part.BACKENDS}


def topology(
    level: Annotated[
        str | None,
        typer.Argument(
            help="Level of a ClusterTopologyBinding, or key of a node label."
            " Defaults to the narrowest level with several nodes per domain.",
            autocompletion=complete_level,
        ),
    ] = None,
    resource: Annotated[
        str | None, typer.Option(help="Resource to show. Defaults to GPUs, else cpu.")
    ] = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the capacity of each topology domain.

    For each domain: how much gangs use, how much other pods use, and how much is free.
    """
    target = CommandTarget(kubeconfig, context, all_namespaces=True)
    snapshot = read_once(target, _CAPACITY, needs_sets=False)
    if not snapshot.capacity_is_known:
        causes = (snapshot.unread.get(kind.plural) for kind in (NODES, PODS))
        fail(f"Capacity is unknown: {'; '.join(filter(None, causes))}")
    try:
        report = topology_report(snapshot, level, resource)
    except (UnknownLevelError, UnknownResourceError) as error:
        fail(str(error))
    finish(report, output, lambda: topology_view(report), report.verdict)


def fit(
    file: Annotated[
        str, typer.Option("--filename", "-f", help="File with PodCliqueSets; - reads from stdin.")
    ],
    default_backend: Annotated[
        str, typer.Option(help="Backend of sets that name none, as in core's settings.")
    ] = "default",
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what would happen to a set, before you apply it.

    Whether the API server accepts it, which backend gets it, which capabilities are missing,
    whether its gangs fit now, and where.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    manifests = _sets_of(file, target.home)
    report = wait_for(target, _fit(target, manifests, default_backend))
    finish(report, output, lambda: fit_view(report), report.verdict)


async def _fit(
    target: CommandTarget, manifests: list[Mapping[str, Any]], default: str
) -> FitReport:
    everywhere = CommandTarget(target.kubeconfig, target.context, all_namespaces=True)
    async with connected(target) as client:
        admissions = [await dry_run(client, manifest) for manifest in manifests]
        snapshot = await read(client, everywhere, _FIT, needs_sets=False)
    return fit_report(snapshot, admissions, default)


def _sets_of(file: str, namespace: str) -> list[Mapping[str, Any]]:
    """Return the PodCliqueSets of a file, each with its namespace."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        listed = [item for item in yaml.safe_load_all(text) if isinstance(item, dict)]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        fail(f"Cannot read {file}: {error}")
    found = [item for item in listed if item.get("kind") == SETS.kind]
    if not found:
        fail(f"{file} has no {SETS.kind}.")
    if any(not (item.get("metadata") or {}).get("name") for item in found):
        fail(f"A {SETS.kind} in {file} has no metadata.name.")
    return [{**i, "metadata": {"namespace": namespace, **i["metadata"]}} for i in found]
