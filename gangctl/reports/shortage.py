"""Why a gang does not fit, in numbers: need, free capacity, pods that fit, and who uses the rest.

It owns the sentences about capacity. It must not claim numbers of lists that were not read: then
the free capacity is "unknown".
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from gangctl.reports.capacity import Capacity, user_of
from gangctl.reports.packing import level_of, unit_of
from gangctl.snapshot import Snapshot, template_of
from shared_api import names
from shared_api.capacity.nodes import eligible, requests_or_nothing
from shared_api.capacity.packing import Packing, Unit, pack
from shared_api.capacity.supply import Demand, amount, free_for, need, plural, scarce
from shared_api.kube.codec import LooseObject

_USERS = 3


class CapacityUser(msgspec.Struct, frozen=True, rename="camel"):
    """A workload that uses what the gang needs."""

    name: str
    amount: str
    priority: int


class ResourceShortage(msgspec.Struct, frozen=True, rename="camel"):
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

    @property
    def explains(self) -> bool:
        """Return whether the numbers alone show why the gang waits."""
        return self.fitting is not None and self.fitting < self.wanted


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
            if one.uses_capacity
        )
        count = int(group.get("minReplicas", 0)) - bound
        if count > 0:
            found.append(Demand(group["name"], count, pod, requests_or_nothing(pod)))
    return found


def shortage_of(
    gang: LooseObject, demands: Sequence[Demand], capacity: Capacity | None
) -> ResourceShortage | None:
    """Return need and supply of what is short; None if the gang has no pod to schedule."""
    if not demands:
        return None
    return shortage(unit_of(gang, demands), demands, capacity, level_of(gang.spec) or "")


def shortage(
    unit: Unit, demands: Sequence[Demand], capacity: Capacity | None, level: str
) -> ResourceShortage:
    """Return need and supply of the resource that is short."""
    wanted = sum(demand.count for demand in demands)
    if capacity is None:
        resource = _most_telling(demands)
        return ResourceShortage(
            resource,
            *need(demands, resource),
            "unknown",
            0,
            None,
            wanted,
            {},
            level,
            "",
            (),
            {},
            (),
        )
    resource = scarce(demands, capacity)
    packing = pack(unit, capacity)
    short = {
        clique: f"{packing.fitting.get(clique, 0)}/{count}"
        for clique, count in packing.wanted.items()
        if packing.fitting.get(clique, 0) < count
    }
    nodes = {name for d in demands for name in eligible(d.pod, capacity.nodes.values())}
    return ResourceShortage(
        resource,
        *need(demands, resource),
        amount(resource, free_for(demands, capacity).get(resource, Fraction(0))),
        len(nodes),
        packing.total,
        wanted,
        short,
        level,
        packing.domain,
        _missing(demands, packing, resource),
        {clique: fits for clique, fits in packing.fitting.items() if clique in short and fits},
        () if packing.is_complete else _users(nodes, capacity, resource),
    )


def _missing(demands: Sequence[Demand], packing: Packing, resource: str) -> tuple[str, ...]:
    """Return the nodes that would be enough for the pods that do not fit, one for each pod."""
    counts: dict[str, int] = defaultdict(int)
    for demand in demands:
        each = amount(resource, demand.requests.get(resource, Fraction(0)))
        counts[each] += demand.count - packing.fitting.get(demand.clique, 0)
    return tuple(
        f"{count} more {plural('node', count)} with {each} free {unit(resource, each)}"
        for each, count in counts.items()
        if count > 0
    )


def unit(resource: str, number: str = "") -> str:
    """Return how people call a resource: GPUs of any vendor are GPUs."""
    if not resource.endswith("/gpu"):
        return resource
    return "GPU" if number == "1" else "GPUs"


def _most_telling(demands: Sequence[Demand]) -> str:
    found = {name for demand in demands for name in demand.requests}
    return max(found, key=lambda name: ("/" in name, name == "cpu", name))


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


def shortage_sentences(found: ResourceShortage) -> list[str]:
    """Return the numbers, the remedy and the users, one sentence per line."""
    parts = f" ({', '.join(found.parts)})" if found.parts else ""
    need = f"Needs {found.needed} {found.resource}{parts}."
    if found.fitting is None:
        return [f"{need} Free: unknown, because nodes or pods of other namespaces cannot be read."]
    where = f" in {found.level}={found.domain}" if found.level and found.domain else ""
    nodes = f"{found.nodes} {plural('node', found.nodes)}"
    supply = f"{found.free} free on {nodes}; {found.fitting} of {found.wanted} pods fit{where}"
    lines = [f"{need} {supply}{_which(found)}."]
    if found.by_clique:
        lines.append(f"{_remedy(found, where)}.")
    if found.in_the_way:
        users = ", ".join(
            f"{user.name} ({user.amount} {unit(found.resource, user.amount)},"
            f" priority {user.priority})"
            for user in found.in_the_way
        )
        lines.append(f"In the way: {users}.")
    return lines


def _which(found: ResourceShortage) -> str:
    """Name the cliques that do not fit, if the gang has others too."""
    if len(found.parts) < 2 or not found.by_clique:
        return ""
    return f" ({', '.join(f'{name}: {counts}' for name, counts in found.by_clique.items())})"


def _remedy(found: ResourceShortage, where: str) -> str:
    remedy = f"Would run with {' and '.join(found.missing)}{where}"
    # Lowering one clique helps only if no other clique is short.
    if len(found.by_clique) != len(found.lower_to):
        return remedy
    is_only = len(found.parts) == 1
    lower = [
        f"minAvailable <= {count}" if is_only else f"minAvailable of {name} <= {count}"
        for name, count in found.lower_to.items()
    ]
    return f"{remedy}, or {' and '.join(lower)}"
