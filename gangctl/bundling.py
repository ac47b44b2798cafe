"""Collects a bug report into a tar.gz: objects, events, logs of the controllers, and reports.

It owns which kinds are collected. Secrets and ConfigMaps are never read, values of environment
variables are removed (`redaction`), and logs are those of the controllers only: users' logs may
contain anything. A kind that cannot be read is listed in the bundle and does not end it.
"""

import io
import tarfile
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from gangctl.following import LogLine, LogSelection, read_logs, streams_of
from gangctl.reading import CommandTarget, scheduler_kinds
from gangctl.reports.doctor import SYSTEM_NAMESPACE
from gangctl.reports.redaction import redacted
from gangctl.snapshot import BACKENDS, BINDINGS, CLIQUES, GANGS, GROUPS, SETS, ListedPod
from shared_api import names
from shared_api.kube.client import Client, Selector
from shared_api.kube.errors import KubeError
from shared_api.kube.resources import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    EVENTS,
    HPAS,
    LEASES,
    NODES,
    PODS,
    Resource,
)

_OURS = Selector(f"{names.LABEL_MANAGED_BY}={names.MANAGED_BY}")
_LOG_LINES = 5000
Object = dict[str, Any]
_Any: type[Object] = dict


class BundleReport(msgspec.Struct, frozen=True, rename="camel"):
    """What was written."""

    file: str
    bytes: int
    objects: Mapping[str, int]
    """Number of objects by kind."""
    logs: tuple[str, ...]
    unread: Mapping[str, str]
    """What could not be read, each with the reason."""


@dataclass
class Bundle:
    """The files of a bundle, in memory."""

    folder: str
    moment: datetime
    files: dict[str, bytes] = field(default_factory=dict)
    objects: dict[str, int] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        """Add a file."""
        self.files[name] = text.encode()

    def write(self, path: Path) -> BundleReport:
        """Write the archive; only its owner may read it."""
        path.touch(mode=0o600)
        with tarfile.open(path, "w:gz") as archive:
            for name, body in sorted(self.files.items()):
                entry = tarfile.TarInfo(f"{self.folder}/{name}")
                entry.size, entry.mtime = len(body), int(self.moment.timestamp())
                entry.mode = 0o600
                archive.addfile(entry, io.BytesIO(body))
        logs = tuple(sorted(name for name in self.files if name.startswith("logs/")))
        return BundleReport(str(path), path.stat().st_size, self.objects, logs, self.unread)


async def collect(client: Client, target: CommandTarget, bundle: Bundle) -> None:
    """Read all objects and logs into a bundle."""
    for resource, scope, selector in await _collections(client, target):
        name = f"objects/{resource.plural}{f'.{resource.group}' if resource.group else ''}.yaml"
        try:
            found = [item async for item in _items(client, resource, scope, selector)]
        except KubeError as error:
            bundle.unread[f"{resource} of {scope or 'all namespaces'}"] = str(error)
            continue
        kept = bundle.objects.get(resource.kind, 0) + len(found)
        bundle.objects[resource.kind] = kept
        text = yaml.safe_dump_all(found, sort_keys=False, allow_unicode=True)
        before = bundle.files.get(name, b"").decode()
        bundle.add(name, f"{before}---\n{text}" if before else text)
    await _logs(client, bundle)


async def _collections(
    client: Client, target: CommandTarget
) -> list[tuple[Resource, str | None, Selector]]:
    scope = target.scope
    own = [(kind, scope, Selector()) for kind in (SETS, CLIQUES, GROUPS, GANGS)]
    cluster = [(kind, None, Selector()) for kind in (BACKENDS, BINDINGS, NODES)]
    managed = [(kind, scope, _OURS) for kind in (PODS, CONTROLLER_REVISIONS, HPAS)]
    system = [(kind, SYSTEM_NAMESPACE, Selector()) for kind in (DEPLOYMENTS, PODS, LEASES, EVENTS)]
    events = [] if scope == SYSTEM_NAMESPACE else [(EVENTS, scope, Selector())]
    if scope is None:
        system = [entry for entry in system if entry[0] is not EVENTS]
    schedulers = [(kind, scope, Selector()) for kind in await scheduler_kinds(client)]
    return [*own, *cluster, *managed, *system, *events, *schedulers]


async def _items(
    client: Client, resource: Resource, scope: str | None, selector: Selector
) -> AsyncGenerator[Object, None]:
    place = scope if resource.namespaced else None
    async for page in client.pages(resource, place, into=_Any, selector=selector):
        for item in page.items:
            yield redacted({"apiVersion": resource.api_version, "kind": resource.kind, **item})


async def _logs(client: Client, bundle: Bundle) -> None:
    try:
        pages = client.pages(PODS, SYSTEM_NAMESPACE, into=ListedPod)
        pods = [pod async for page in pages for pod in page.items]
    except KubeError as error:
        bundle.unread["logs"] = str(error)
        return
    streams = [stream for pod in pods for stream in streams_of(pod, None)]
    for previous in (False, True):
        chosen = [stream for stream in streams if stream.run or not previous]
        sink = _Collected()
        await read_logs(client, chosen, LogSelection(tail=_LOG_LINES, previous=previous), sink)
        for (pod, container), lines in sink.lines.items():
            ending = "previous.log" if previous else "log"
            bundle.add(f"logs/{pod}/{container}.{ending}", "\n".join(lines) + "\n")
        for number, problem in enumerate(sink.problems):
            bundle.unread[f"log {number + 1}{' of an earlier run' if previous else ''}"] = problem


class _Collected:
    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], list[str]] = {}
        self.problems: list[str] = []

    def line(self, line: LogLine) -> None:
        self.lines.setdefault((line.pod, line.container), []).append(line.text)

    def problem(self, text: str) -> None:
        self.problems.append(text)
