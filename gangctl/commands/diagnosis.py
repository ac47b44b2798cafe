"""Verbs for administrators: doctor checks the installation, bundle collects a bug report."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from gangctl.bundling import Bundle, BundleReport, collect
from gangctl.commands.session import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    fail,
    finish,
    wait_for,
)
from gangctl.examining import examine
from gangctl.reading import CommandTarget, Part, connected, read
from gangctl.rendering import OutputFormat, encoded, plain
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.doctor import DoctorReport, doctor_report, doctor_view
from gangctl.reports.status import status_report, status_view
from gangctl.reports.view import Line, Verdict, View
from gangctl.snapshot import Snapshot
from shared_api.kube.client import Client

_DOCTOR = frozenset({Part.BACKENDS, Part.BINDINGS, Part.CAPACITY, Part.VERSIONS})


def doctor(
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Check the installation, with a remedy for each finding.

    CRDs, feature gates, controllers and their Leases, images, backends, node labels of each
    topology binding, and your own rights.
    """
    target = CommandTarget(kubeconfig, context, namespace)

    async def work() -> DoctorReport:
        async with connected(target) as client:
            return (await _examined(client, target))[1]

    report = wait_for(target, work())
    finish(report, output, lambda: doctor_view(report), report.verdict)


def bundle(
    file: Annotated[
        Path | None,
        typer.Option("--file", help="File to write. Defaults to gang-bundle-TIME.tar.gz."),
    ] = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Write a tar.gz for a bug report: objects, events, logs of the controllers, and reports.

    It has no Secrets, no ConfigMaps, no values of environment variables and no logs of workloads.
    Command lines, labels and annotations of pods are in it: look at it before you publish it.
    """
    target = CommandTarget(kubeconfig, context, namespace, all_namespaces)
    moment = target.clock.utc()
    name = f"gang-bundle-{moment:%Y%m%d-%H%M%S}"
    path = file or Path(f"{name}.tar.gz")
    if path.exists():
        fail(f"{path} exists. Name another file with --file.")

    async def work() -> Bundle:
        found = Bundle(name, moment)
        async with connected(target) as client:
            snapshot, report = await _examined(client, target)
            found.unread.update(snapshot.unread)
            _add_reports(found, snapshot, report)
            await collect(client, target, found)
        return found

    collected = wait_for(target, work())
    try:
        written = collected.write(path)
    except OSError as error:
        fail(f"Cannot write {path}: {error}")
    finish(written, output, lambda: bundle_view(written), Verdict.FINE)


async def _examined(client: Client, target: CommandTarget) -> tuple[Snapshot, DoctorReport]:
    async with asyncio.TaskGroup() as group:
        snapshot = group.create_task(read(client, target, _DOCTOR, needs_sets=False))
        facts = group.create_task(examine(client, target.home))
    return snapshot.result(), doctor_report(snapshot.result(), facts.result())


def _add_reports(found: Bundle, snapshot: Snapshot, report: DoctorReport) -> None:
    views: dict[str, View] = {
        "doctor": doctor_view(report),
        "status": status_view(status_report(snapshot), all_namespaces=True),
        "backends": backends_view(backends_report(snapshot)),
    }
    for name, view in views.items():
        found.add(f"{name}.txt", plain(view))
    found.add("doctor.json", encoded(report, OutputFormat.JSON))


def bundle_view(report: BundleReport) -> View:
    """Return what was written, and what could not be read."""
    counts = ", ".join(f"{count} {kind}" for kind, count in report.objects.items() if count)
    lines = [
        Line(
            f"Wrote {report.file} ({report.bytes // 1024 + 1} KiB): {counts or 'no objects'};"
            f" {len(report.logs)} logs."
        ),
        Line(
            "It has no Secrets and no values of environment variables. Look at it before you publish it."
        ),
    ]
    missing = [Line(f"Not read: {what}: {why}") for what, why in report.unread.items()]
    return [*lines, *missing]
