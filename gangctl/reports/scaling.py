"""`scale`: which objects have to be scaled so that a set, a clique or a scaling group has a size.

It owns the way from a name in the template to the live objects: a clique or a group exists once per
replica of the set, under the name of that replica. It must not write. A clique of a scaling group
has no size of its own that users change.
"""

from collections.abc import Iterator

import msgspec

from gangctl.reports.view import Grid, Line, View
from gangctl.snapshot import CLIQUES, GROUPS, SETS, Snapshot
from shared_api import names
from shared_api.kube.codec import LooseObject


class ScaleError(ValueError):
    """Nothing can be scaled by these names; the message names the remedy."""


class ScaledObject(msgspec.Struct, frozen=True, rename="camel"):
    """One object whose replicas are set."""

    kind: str
    name: str
    before: int
    after: int
    autoscaler: str = ""
    """HorizontalPodAutoscaler that sets the same field."""


class ScaleReport(msgspec.Struct, frozen=True, rename="camel"):
    """All objects that were scaled."""

    namespace: str
    set: str
    objects: tuple[ScaledObject, ...]


def scale_plan(
    snapshot: Snapshot,
    item: LooseObject,
    replicas: int,
    *,
    clique: str | None = None,
    group: str | None = None,
    replica: int | None = None,
) -> ScaleReport:
    """Return what to scale; raise ScaleError if there is no such object."""
    if clique is not None and group is not None:
        raise ScaleError("Name a clique or a scaling group, not both")
    if clique is None and group is None:
        if replica is not None:
            raise ScaleError("A replica can be named only with --clique or --group")
        found = [(SETS.kind, item, item.spec.get("replicas", 0))]
    else:
        found = list(_children(snapshot, item, clique, group, replica))
    autoscalers = snapshot.autoscalers
    scaled = tuple(
        ScaledObject(
            kind,
            one.metadata.name,
            int(before),
            replicas,
            autoscalers.get((one.metadata.namespace, kind, one.metadata.name), ""),
        )
        for kind, one, before in found
    )
    return ScaleReport(item.metadata.namespace, item.metadata.name, scaled)


def _children(
    snapshot: Snapshot,
    item: LooseObject,
    clique: str | None,
    group: str | None,
    replica: int | None,
) -> Iterator[tuple[str, LooseObject, int]]:
    name = clique or group or ""
    _ensure_known(item, clique, group)
    live = snapshot.cliques if clique is not None else snapshot.groups
    kind = (CLIQUES if clique is not None else GROUPS).kind
    own = item.metadata.namespace, item.metadata.name
    found = 0
    for one in sorted(live, key=lambda one: one.metadata.name):
        labels = one.metadata.labels
        if (one.metadata.namespace, labels.get(names.LABEL_PART_OF)) != own:
            continue
        index = labels.get(names.LABEL_PCS_REPLICA_INDEX, "")
        if one.metadata.name != f"{item.metadata.name}-{index}-{name}":
            continue
        if replica is None or index == str(replica):
            found += 1
            yield kind, one, one.spec.get("replicas", 0)
    if not found:
        where = f" in replica {replica}" if replica is not None else ""
        raise ScaleError(f"{item.metadata.name} has no {kind} for {name}{where} yet")


def _ensure_known(item: LooseObject, clique: str | None, group: str | None) -> None:
    template = item.spec.get("template") or {}
    groups = {one["name"]: one for one in template.get("podCliqueScalingGroups") or ()}
    cliques = [one["name"] for one in template.get("cliques") or ()]
    if group is not None and group not in groups:
        raise ScaleError(f"No scaling group {group}. Scaling groups: {', '.join(groups) or 'none'}")
    if clique is None:
        return
    if clique not in cliques:
        raise ScaleError(f"No clique {clique}. Cliques: {', '.join(cliques)}")
    for name, one in groups.items():
        if clique in one["cliqueNames"]:
            raise ScaleError(
                f"Clique {clique} belongs to scaling group {name} and is scaled with it:"
                f" use --group {name}"
            )


def scale_view(report: ScaleReport) -> View:
    """Return a row per object, and a warning for each autoscaler."""
    rows = [(f"{o.kind} {o.name}", str(o.before), str(o.after)) for o in report.objects]
    warnings = [
        Line(f"HorizontalPodAutoscaler {o.autoscaler} scales {o.name} too and may change it again.")
        for o in report.objects
        if o.autoscaler
    ]
    follow = f"Next: kubectl gang status -n {report.namespace}"
    return [Grid(("SCALED", "BEFORE", "NOW"), rows), *warnings, Line(follow)]
