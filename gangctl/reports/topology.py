"""`topology`: capacity by topology domain: what gangs use, what other pods use, and what is free.

It owns the choice of the level and of the resource, and the sums per domain. Free capacity of nodes
that are cordoned is not counted as free. Nodes without the label of the level are a row of their
own: no gang that requires the level can use them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from gangctl.reports.capacity import Capacity, capacity_of, requests_or_nothing
from gangctl.reports.view import Grid, Line, Verdict, View
from gangctl.snapshot import Snapshot
from shared_api import names
from shared_api.capacity.nodes import ListedNode
from shared_api.capacity.supply import amount
from shared_api.kube.quantities import parsed

_NOTHING = Fraction(0)
_HOSTNAME = "kubernetes.io/hostname"
_WIDTH = 24


class UnknownLevelError(LookupError):
    """No binding has the level, and no node has it as a label."""


class UnknownResourceError(LookupError):
    """No node has the resource."""


class DomainRow(msgspec.Struct, frozen=True, rename="camel"):
    """One topology domain."""

    name: str
    """Value of the label; empty for nodes without it."""
    nodes: int
    cordoned: int
    total: str
    ours: str
    """Used by pods of gangs."""
    others: str
    """Used by other pods."""
    free: str
    shares: tuple[float, float, float]
    """Parts of the total: gangs, other pods, free."""


class TopologyReport(msgspec.Struct, frozen=True, rename="camel"):
    """All domains of one level."""

    verdict: Verdict
    level: str
    key: str
    """Key of the node label."""
    resource: str
    levels: tuple[str, ...]
    """All levels of the bindings, from the broadest to the narrowest."""
    domains: tuple[DomainRow, ...]


def topology_report(
    snapshot: Snapshot, level: str | None = None, resource: str | None = None
) -> TopologyReport:
    """Return the capacity of every domain of a level; raise if there is none.

    An unknown level is an UnknownLevelError, a resource that no node has an
    UnknownResourceError.
    """
    known = levels_of(snapshot)
    name, key = _chosen(snapshot, known, level)
    capacity = capacity_of(snapshot)
    shown = resource or _resource(snapshot.nodes)
    _ensure_exists(snapshot.nodes, resource)
    domains: dict[str, list[ListedNode]] = defaultdict(list)
    for node in snapshot.nodes:
        domains[node.metadata.labels.get(key, "")].append(node)
    # Nodes without the label come last.
    ordered = sorted(domains, key=lambda domain: (not domain, domain))
    rows = tuple(_row(domain, domains[domain], capacity, shown) for domain in ordered)
    verdict = Verdict.MANUAL_ACTION if rows and all(not row.name for row in rows) else Verdict.FINE
    return TopologyReport(verdict, name, key, shown, tuple(known), rows)


def _ensure_exists(nodes: Sequence[ListedNode], resource: str | None) -> None:
    known = {name for node in nodes for name in node.status.allocatable}
    if resource is not None and resource not in known:
        raise UnknownResourceError(
            f"No node has the resource {resource}. Resources: {', '.join(sorted(known)) or 'none'}."
        )


def levels_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the label keys of all levels; of two bindings the first by name wins."""
    found: dict[str, str] = {}
    for binding in sorted(snapshot.bindings, key=lambda item: item.metadata.name):
        for entry in binding.spec.get("levels") or ():
            found.setdefault(str(entry["domain"]), str(entry["key"]))
    return found


def _chosen(snapshot: Snapshot, known: Mapping[str, str], level: str | None) -> tuple[str, str]:
    if level is None:
        return _telling(snapshot.nodes, known)
    if level in known:
        return level, known[level]
    if any(level in node.metadata.labels for node in snapshot.nodes):
        return level, level
    listed = f"Levels: {', '.join(known)}." if known else "No ClusterTopologyBinding exists."
    raise UnknownLevelError(
        f"No level {level}, and no node has a label {level}. {listed}"
        " Name a level or the key of a node label."
    )


def _telling(nodes: Sequence[ListedNode], known: Mapping[str, str]) -> tuple[str, str]:
    """Return the narrowest level whose domains have several nodes; else single nodes."""
    for name, key in reversed(list(known.items())):
        values = [node.metadata.labels[key] for node in nodes if key in node.metadata.labels]
        if len(set(values)) < len(values):
            return name, key
    return "host", _HOSTNAME


def _resource(nodes: Sequence[ListedNode]) -> str:
    """Return the GPU resource that most nodes have; cpu if there is none."""
    counts: dict[str, int] = defaultdict(int)
    for node in nodes:
        for name in node.status.allocatable:
            if name.endswith("/gpu"):
                counts[name] += 1
    return max(counts, key=lambda name: (counts[name], name), default="cpu")


def _row(name: str, nodes: Sequence[ListedNode], capacity: Capacity, resource: str) -> DomainRow:
    total = ours = others = free = _NOTHING
    for node in nodes:
        host = node.metadata.name
        total += parsed(node.status.allocatable.get(resource, "0")) or _NOTHING
        for pod in capacity.users.get(host, ()):
            used = requests_or_nothing(pod.spec).get(resource, _NOTHING)
            if names.LABEL_PODGANG in pod.metadata.labels:
                ours += used
            else:
                others += used
        if not node.spec.unschedulable:
            free += max(capacity.free[host].get(resource, _NOTHING), _NOTHING)
    shares = [float(part / total) if total else 0.0 for part in (ours, others, free)]
    return DomainRow(
        name,
        len(nodes),
        sum(node.spec.unschedulable for node in nodes),
        amount(resource, total),
        amount(resource, ours),
        amount(resource, others),
        amount(resource, free),
        (shares[0], shares[1], shares[2]),
    )


def topology_view(report: TopologyReport) -> View:
    """Return a table with a bar per domain, and the other levels."""
    if not report.domains:
        return [Line("No nodes found.")]
    headings = (report.level.upper(), "NODES", "TOTAL", "GANGS", "OTHERS", "FREE", report.resource)
    rows = [
        (
            row.name or "(no label)",
            f"{row.nodes}" + (f" ({row.cordoned} cordoned)" if row.cordoned else ""),
            row.total,
            row.ours,
            row.others,
            row.free,
            _bar(row.shares),
        )
        for row in report.domains
    ]
    marks = [None if row.name else Verdict.WAITING for row in report.domains]
    blocks: list[Line | Grid] = [Grid(headings, rows, marks)]
    unlabelled = next((row for row in report.domains if not row.name), None)
    if unlabelled is not None:
        have = "node has" if unlabelled.nodes == 1 else "nodes have"
        text = f"{unlabelled.nodes} {have} no label {report.key}: gangs that require"
        blocks.append(
            Line(
                f"{text} {report.level} cannot use them. Label them, or exclude them.",
                Verdict.WAITING,
            )
        )
    blocks.append(Line("█ gangs  ▓ other pods  · free"))
    others = [level for level in report.levels if level != report.level]
    if others:
        blocks.append(Line(f"Other levels: {', '.join(others)}."))
    return blocks


def _bar(shares: tuple[float, float, float]) -> str:
    """Return a bar; whatever is used has at least one cell."""
    ours, others = (max(1, round(share * _WIDTH)) if share else 0 for share in shares[:2])
    free = min(round(shares[2] * _WIDTH), max(0, _WIDTH - ours - others))
    return f"{'█' * ours}{'▓' * others}{'·' * free}"
