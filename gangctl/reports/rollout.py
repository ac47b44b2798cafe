"""`rollout`: how far an update is, and the patches that restart a set or bring back a revision.

It owns the reading of a set's update progress and of its ControllerRevisions, in which core stores
every version of the templates. It must not write. A patch touches only what belongs to a pod
template: sizes, minimums and constraints stay.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from gangctl.reports.view import Grid, Line, Verdict, View, age
from gangctl.snapshot import condition
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import Metadata

RESTARTED = "kubectl.kubernetes.io/restartedAt"
_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
Operation = Mapping[str, object]


class NoRevisionError(LookupError):
    """There is no revision to go back to."""


class ListedRevision(msgspec.Struct, frozen=True):
    """A ControllerRevision of a set."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    revision: int = 0
    data: dict[str, Any] = {}

    @property
    def set_hash(self) -> str:
        """Return the hash of all its templates, by which the set's status names it."""
        try:
            given = json.loads(
                self.metadata.annotations.get(names.ANNOTATION_TEMPLATE_HASHES, "{}")
            )
        except ValueError:
            return ""
        return str(given.get("", "")) if isinstance(given, dict) else ""


class RevisionRow(msgspec.Struct, frozen=True, rename="camel"):
    """One stored version of the templates."""

    number: int
    name: str
    age: str
    current: bool
    images: Mapping[str, tuple[str, ...]]
    """Images of the containers, by clique."""


class RolloutReport(msgspec.Struct, frozen=True, rename="camel"):
    """The update of a set."""

    namespace: str
    name: str
    verdict: Verdict
    replicas: int
    updated: int
    message: str
    revisions: tuple[RevisionRow, ...]


class ChangeReport(msgspec.Struct, frozen=True, rename="camel"):
    """What `restart` or `undo` changed."""

    namespace: str
    name: str
    action: str
    revision: int | None
    cliques: tuple[str, ...]
    """Cliques whose template changed."""
    message: str
    next_command: str


def rollout_report(
    item: LooseObject, revisions: Sequence[ListedRevision], now: datetime
) -> RolloutReport:
    """Return how far the update of a set is."""
    verdict, message = _progress(item)
    current = current_revision(item, revisions)
    rows = tuple(
        RevisionRow(
            found.revision,
            found.metadata.name,
            age(found.metadata.creation_timestamp, now),
            found is current,
            {name: _images(part) for name, part in _templates(found.data).items()},
        )
        for found in sorted(revisions, key=lambda found: -found.revision)
    )
    return RolloutReport(
        item.metadata.namespace,
        item.metadata.name,
        verdict,
        int(item.spec.get("replicas", 1)),
        int(item.status.get("updatedReplicas", 0)),
        message,
        rows,
    )


def _progress(item: LooseObject) -> tuple[Verdict, str]:
    wanted = int(item.spec.get("replicas", 1))
    updated = int(item.status.get("updatedReplicas", 0))
    if item.metadata.generation > int(item.status.get("observedGeneration") or 0):
        return Verdict.WAITING, "the operator has not seen the latest change yet"
    updating = condition(item, names.CONDITION_UPDATING)
    if updating.get("status") == "True":
        exceeded = updating.get("reason") == _DEADLINE_EXCEEDED
        verdict = Verdict.MANUAL_ACTION if exceeded else Verdict.WAITING
        return verdict, updating.get("message", "")
    if updated >= wanted:
        return Verdict.FINE, f"{updated}/{wanted} replicas updated and available"
    ready = condition(item, names.CONDITION_READY).get("message", "")
    cause = f": {ready}" if ready else ""
    return Verdict.WAITING, f"{updated}/{wanted} replicas updated and available{cause}"


def current_revision(
    item: LooseObject, revisions: Sequence[ListedRevision]
) -> ListedRevision | None:
    """Return the revision that the set has, or is being updated to."""
    digest = item.status.get("currentGenerationHash")
    newest = sorted(revisions, key=lambda found: -found.revision)
    return next((found for found in newest if digest and found.set_hash == digest), None)


def wanted_revision(
    item: LooseObject, revisions: Sequence[ListedRevision], number: int | None
) -> ListedRevision:
    """Return the revision to go back to: the named one, else the one before the current one."""
    listed = ", ".join(str(found.revision) for found in sorted(revisions, key=_number)) or "none"
    if number is not None:
        for found in revisions:
            if found.revision == number:
                return found
        raise NoRevisionError(f"There is no revision {number}. Stored revisions: {listed}")
    current = current_revision(item, revisions)
    earlier = [found for found in revisions if current and found.revision < current.revision]
    if not earlier:
        raise NoRevisionError(
            "There is no revision before the current one. Name one with --to-revision;"
            f" stored revisions: {listed}"
        )
    return max(earlier, key=_number)


def _number(found: ListedRevision) -> int:
    return found.revision


def restart_patch(item: LooseObject, cliques: Sequence[str], moment: datetime) -> list[Operation]:
    """Return the patch that marks these cliques as restarted, which changes their templates."""
    stamp = moment.isoformat(timespec="seconds")
    found: list[Operation] = []
    for index, clique in enumerate(cliques_of(item)):
        if cliques and clique["name"] not in cliques:
            continue
        annotations = {**(clique.get("annotations") or {}), RESTARTED: stamp}
        found.append(_set(f"/spec/template/cliques/{index}/annotations", annotations))
    return found


def undo_patch(item: LooseObject, revision: ListedRevision) -> tuple[list[Operation], list[str]]:
    """Return the patch that brings back a revision, and the cliques that it changes."""
    stored = _templates(revision.data)
    present = [clique["name"] for clique in cliques_of(item)]
    if missing := sorted(set(present) ^ set(stored)):
        raise NoRevisionError(
            f"Revision {revision.revision} has other cliques than the set: {', '.join(missing)}"
        )
    operations: list[Operation] = []
    changed: list[str] = []
    for index, clique in enumerate(cliques_of(item)):
        found = list(_clique_operations(f"/spec/template/cliques/{index}", clique, stored))
        operations += found
        if found:
            changed.append(clique["name"])
    template = item.spec.get("template") or {}
    priority, path = revision.data.get("priorityClassName"), "/spec/template/priorityClassName"
    if priority != template.get("priorityClassName"):
        operations.append(_set(path, priority) if priority else {"op": "remove", "path": path})
        changed = present
    return operations, changed


def _clique_operations(
    path: str, clique: Mapping[str, Any], stored: Mapping[str, Mapping[str, Any]]
) -> list[Operation]:
    wanted = stored[clique["name"]]
    found: list[Operation] = []
    if clique["spec"]["podSpec"] != wanted.get("podSpec"):
        found.append(_set(f"{path}/spec/podSpec", wanted.get("podSpec")))
    for field in ("labels", "annotations"):
        present = clique.get(field) or {}
        # Keys of the product are no part of a stored template.
        kept = {k: v for k, v in present.items() if k.startswith(names.RESERVED_PREFIX)}
        if {**kept, **(wanted.get(field) or {})} != present:
            found.append(_set(f"{path}/{field}", {**kept, **(wanted.get(field) or {})}))
    return found


def _set(path: str, value: object) -> Operation:
    return {"op": "add", "path": path, "value": value}


def cliques_of(item: LooseObject) -> list[dict[str, Any]]:
    """Return the cliques in the template of a set."""
    return list((item.spec.get("template") or {}).get("cliques") or ())


def _templates(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = data.get("cliques")
    return dict(found) if isinstance(found, dict) else {}


def _images(template: Mapping[str, Any]) -> tuple[str, ...]:
    containers = (template.get("podSpec") or {}).get("containers") or ()
    return tuple(str(container.get("image", "")) for container in containers)


def rollout_view(report: RolloutReport) -> View:
    """Return the progress, and the stored revisions."""
    head = Line(f"{report.name}: {report.message}", report.verdict)
    rows = [
        (
            f"{row.number}{' (current)' if row.current else ''}",
            row.age or "-",
            ", ".join(f"{clique}={','.join(images)}" for clique, images in row.images.items()),
        )
        for row in report.revisions
    ]
    return [head, *([Grid(("REVISION", "AGE", "IMAGES"), rows)] if rows else [])]


def change_view(report: ChangeReport) -> View:
    """Return what was changed, and how to follow it."""
    lines = [Line(f"{report.name}: {report.message}")]
    if report.next_command:
        lines.append(Line(f"Next: {report.next_command}"))
    return lines
