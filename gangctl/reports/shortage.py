"""Why a gang does not fit, in numbers: need, free capacity, pods that fit, and who uses the rest.

It owns the sentences about capacity. It must not claim numbers of lists that were not read: then
the free capacity is "unknown".
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from gangctl.reports.capacity import (
    Capacity,
    Demand,
    eligible,
    free_for,
    pack,
    requests_or_nothing,
    scarce,
    user_of,
)
from gangctl.reports.view import amount
from gangctl.snapshot import Snapshot, template_of
from shared_api import names
from shared_api.kube.codec import LooseObject

_USERS = 3


class CapacityUser(msgspec.Struct, frozen=True, rename="camel"):
    """A workload that uses what the gang needs."""

    name: str
    amount: str
    priority: int


class Shortage(msgspec.Struct, frozen=True, rename="camel"):
    """Need and supply of the resource that is short."""

    resource: str
    needed: str
    parts: tuple[str, ...]
    """Pods times request, per clique."""
    free: str
    """Unknown if nodes or pods could not be read."""
    nodes: int
    fitting: int | None
    wanted: int
    by_clique: Mapping[str, str]
    """Fitting of wanted pods, per clique that does not fit."""
    level: str
    """Node label that all pods must share; empty if none is required."""
    domain: str
    missing: tuple[str, ...]
    lower_to: Mapping[str, int]
    """minAvailable with which the gang would fit, per clique."""
    in_the_way: tuple[CapacityUser, ...]


def demands_of(snapshot: Snapshot, gang: LooseObject) -> list[Demand]:
    """Return the members of a gang that are not bound, by clique."""
    found = []
    for group in gang.spec.get("podgroups") or ():
        clique = snapshot.clique_by_name.get((gang.metadata.namespace, group["name"]))
        if clique is None:
            continue
        pod = template_of(clique.spec.get("podSpec") or {})
        bound = sum(
            bool(one.spec.node_name)
            and one.metadata.labels.get(names.LABEL_PODCLIQUE) == group["name"]
            for one in snapshot.pods_of_gang.get((gang.metadata.namespace, gang.metadata.name), ())
            if one.is_live
        )
        count = int(group.get("minReplicas", 0)) - bound
        if count > 0:
            found.append(Demand(group["name"], count, pod, requests_or_nothing(pod)))
    return found


def required_level(gang: LooseObject) -> str | None:
    """Return the node label whose value all pods of the gang must share."""
    constraint = gang.spec.get("topologyConstraint") or {}
    required = (constraint.get("packConstraint") or {}).get("required")
    return str(required) if required else None


def shortage_of(
    snapshot: Snapshot, gang: LooseObject, demands: Sequence[Demand], capacity: Capacity | None
) -> Shortage | None:
    """Return need and supply of what is short; None if the gang has no pod to schedule."""
    del snapshot
    return shortage(demands, capacity, required_level(gang)) if demands else None


def shortage(demands: Sequence[Demand], capacity: Capacity | None, level: str | None) -> Shortage:
    """Return need and supply of the resource that is short."""
    wanted = sum(demand.count for demand in demands)
    if capacity is None:
        resource = _most_telling(demands)
        return Shortage(
            resource,
            *_need(demands, resource),
            "unknown",
            0,
            None,
            wanted,
            {},
            level or "",
            "",
            (),
            {},
            (),
        )
    resource = scarce(demands, capacity)
    packing = pack(demands, capacity, level)
    short = {
        clique: f"{packing.fitting.get(clique, 0)}/{count}"
        for clique, count in packing.wanted.items()
        if packing.fitting.get(clique, 0) < count
    }
    nodes = {name for d in demands for name in eligible(d.pod, capacity.nodes.values())}
    return Shortage(
        resource,
        *_need(demands, resource),
        amount(resource, free_for(demands, capacity).get(resource, Fraction(0))),
        len(nodes),
        packing.total,
        wanted,
        short,
        level or "",
        packing.domain,
        tuple(
            f"{d.count - packing.fitting.get(d.clique, 0)} more pods of {d.clique}"
            f" ({amount(resource, d.requests.get(resource, Fraction(0)))} {resource} each)"
            for d in demands
            if d.clique in short
        ),
        {clique: fits for clique, fits in packing.fitting.items() if clique in short and fits},
        () if packing.is_complete else _users(nodes, capacity, resource),
    )


def _most_telling(demands: Sequence[Demand]) -> str:
    found = {name for demand in demands for name in demand.requests}
    return max(found, key=lambda name: ("/" in name, name == "cpu", name))


def _need(demands: Sequence[Demand], resource: str) -> tuple[str, tuple[str, ...]]:
    total, parts = Fraction(0), []
    for demand in demands:
        each = demand.requests.get(resource, Fraction(0))
        if each:
            total += demand.count * each
            parts.append(f"{demand.count} pods x {amount(resource, each)}")
    return amount(resource, total), tuple(parts)


def _users(nodes: set[str], capacity: Capacity, resource: str) -> tuple[CapacityUser, ...]:
    used: dict[str, Fraction] = defaultdict(Fraction)
    priorities: dict[str, int] = {}
    for node in nodes:
        for pod in capacity.users.get(node, ()):
            number = requests_or_nothing(pod.spec).get(resource, Fraction(0))
            if number:
                used[user_of(pod)] += number
                priorities[user_of(pod)] = pod.spec.priority
    largest = sorted(used, key=lambda name: (-used[name], name))[:_USERS]
    return tuple(
        CapacityUser(name, amount(resource, used[name]), priorities[name]) for name in largest
    )


def shortage_sentences(found: Shortage) -> list[str]:
    """Return the numbers, the remedy and the users, one sentence per line."""
    parts = f" ({', '.join(found.parts)})" if found.parts else ""
    need = f"Needs {found.needed} {found.resource}{parts}."
    if found.fitting is None:
        return [f"{need} Free: unknown, because nodes or pods of other namespaces cannot be read."]
    where = f" in {found.level}={found.domain}" if found.level and found.domain else ""
    supply = f"{found.free} free on {found.nodes} nodes; {found.fitting} of {found.wanted} pods fit"
    lines = [f"{need} {supply}{where}."]
    if found.by_clique:
        remedy = f"Would run with capacity for {' and '.join(found.missing)}"
        lower = [f"minAvailable <= {count} in {name}" for name, count in found.lower_to.items()]
        # Lowering one clique helps only if no other clique is short.
        if len(found.by_clique) == len(lower):
            remedy += f", or with {' and '.join(lower)}"
        lines.append(f"{remedy}.")
    if found.in_the_way:
        users = ", ".join(
            f"{user.name} ({user.amount} {found.resource}, priority {user.priority})"
            for user in found.in_the_way
        )
        lines.append(f"In the way: {users}.")
    return lines
