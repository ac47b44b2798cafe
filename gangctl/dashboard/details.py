"""The details of one gang, made on request: its objects, the numbers, and where it nearly fits.

It owns the joining of the reports of `why` and `tree` with the shading. The numbers need the
capacity of the whole cluster, so they are made for the gang that is selected and not for all.
All functions are pure.
"""

import dataclasses
from collections.abc import Sequence

import msgspec

from gangctl.dashboard.shading import Shading, shading_of
from gangctl.reports.capacity import capacity_of
from gangctl.reports.shortage import shortage_sentences
from gangctl.reports.tree import TreeNode, tree_report
from gangctl.reports.view import Verdict
from gangctl.reports.why import gang_report
from gangctl.snapshot import Snapshot
from shared_api import names
from shared_api.kube.codec import LooseObject


class GangDetails(msgspec.Struct, frozen=True, rename="camel"):
    """What the page shows about the gang that is selected."""

    namespace: str
    name: str
    set: str
    sentences: tuple[str, ...]
    """Needs, free capacity, remedy and who is in the way."""
    next_command: str
    objects: tuple[TreeNode, ...]
    """The cliques with their pods, and the objects of the scheduler."""
    shading: Shading | None
    """None if the gang runs, or if nodes or pods are not known."""


def gang_details(
    snapshot: Snapshot, namespace: str, name: str, levels: Sequence[str]
) -> GangDetails | None:
    """Return the details of a gang; None if it does not exist."""
    found = [
        g for g in snapshot.gangs if (g.metadata.namespace, g.metadata.name) == (namespace, name)
    ]
    if not found:
        return None
    (gang,) = found
    of_set = gang.metadata.labels.get(names.LABEL_PART_OF, "")
    capacity = capacity_of(snapshot) if snapshot.capacity_is_known else None
    report = gang_report(snapshot, gang, capacity)
    shading = None
    if capacity is not None and report.verdict is not Verdict.FINE:
        shading = shading_of(snapshot, gang, capacity, levels)
    return GangDetails(
        namespace,
        name,
        of_set,
        tuple(shortage_sentences(report.shortage)) if report.shortage else (),
        report.next_command,
        _objects(snapshot, gang, of_set),
        shading,
    )


def _objects(snapshot: Snapshot, gang: LooseObject, of_set: str) -> tuple[TreeNode, ...]:
    namespace, name = gang.metadata.namespace, gang.metadata.name
    # The set may have thousands of other gangs.
    alone = dataclasses.replace(
        snapshot,
        sets=[
            s
            for s in snapshot.sets
            if (s.metadata.namespace, s.metadata.name) == (namespace, of_set)
        ],
        gangs=[gang],
        pods=snapshot.pods_of_gang.get((namespace, name), ()),
    )
    tree = tree_report(alone, namespace, of_set)
    return tree.root.children[0].children if tree else ()
