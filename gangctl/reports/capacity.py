"""Which pods fit where: free capacity of nodes, and how many pods of a gang they take.

It owns the arithmetic that `why`, `fit` and `topology` share. Schedulers decide by more than it
knows: it counts requests, node selectors and taints, not affinity, quotas or preemption. So its
result is an estimate, and reports name what the scheduler itself reports first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from gangctl.snapshot import ListedNode, ListedPod, PlannedPod, Snapshot, Toleration
from shared_api import names
from shared_api.kube.pod_resources import NoQuantityError, Sums
from shared_api.kube.quantities import parsed

_NOTHING = Fraction(0)
_EVICTS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Demand:
    """Pods of one clique that have to be scheduled."""

    clique: str
    count: int
    pod: PlannedPod
    requests: Sums


@dataclass(frozen=True)
class Capacity:
    """The nodes of a cluster with what is free on each."""

    nodes: Mapping[str, ListedNode]
    free: Mapping[str, Sums]
    users: Mapping[str, Sequence[ListedPod]]
    """Live pods by node."""


class Packing(msgspec.Struct, frozen=True, rename="camel"):
    """How many pods fit into one topology domain, or into the whole cluster."""

    fitting: Mapping[str, int]
    """Pods that fit, by clique."""
    wanted: Mapping[str, int]
    domain: str = ""
    """Value of the topology label; empty for the whole cluster."""

    @property
    def total(self) -> int:
        """Return the number of pods that fit."""
        return sum(self.fitting.values())

    @property
    def is_complete(self) -> bool:
        """Return whether all pods fit."""
        return all(self.fitting.get(name, 0) >= count for name, count in self.wanted.items())


def capacity_of(snapshot: Snapshot) -> Capacity:
    """Return what is free on each node."""
    nodes = {node.metadata.name: node for node in snapshot.nodes}
    free = {
        name: {resource: parsed(text) or _NOTHING for resource, text in offered.items()}
        for name, offered in ((n, node.status.allocatable) for n, node in nodes.items())
    }
    users: dict[str, list[ListedPod]] = defaultdict(list)
    for pod in snapshot.pods:
        left = free.get(pod.spec.node_name)
        if left is None or not pod.is_live:
            continue
        users[pod.spec.node_name].append(pod)
        for resource, number in requests_or_nothing(pod.spec).items():
            left[resource] = left.get(resource, _NOTHING) - number
    return Capacity(nodes, free, users)


def requests_or_nothing(pod: PlannedPod) -> Sums:
    """Return what a pod requests; nothing if a quantity cannot be read."""
    try:
        return pod.requests()
    except NoQuantityError:
        return {}


def eligible(pod: PlannedPod, nodes: Iterable[ListedNode]) -> list[str]:
    """Return the nodes that the selector and the tolerations of a pod admit."""
    return [
        node.metadata.name
        for node in nodes
        if not node.spec.unschedulable
        and all(node.metadata.labels.get(k) == v for k, v in pod.node_selector.items())
        and all(
            taint.effect not in _EVICTS
            or any(_tolerates(t, taint.key, taint.value, taint.effect) for t in pod.tolerations)
            for taint in node.spec.taints
        )
    ]


def _tolerates(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    if toleration.effect not in ("", effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", key)
    return (toleration.key, toleration.value) == (key, value)


def pack(demands: Sequence[Demand], capacity: Capacity, within: str | None = None) -> Packing:
    """Return how many pods fit; with a label key, in the domain that takes the most."""
    if within is None:
        return _pack(demands, capacity, capacity.nodes.values())
    domains: dict[str, list[ListedNode]] = defaultdict(list)
    for node in capacity.nodes.values():
        if within in node.metadata.labels:
            domains[node.metadata.labels[within]].append(node)
    found = [_pack(demands, capacity, nodes, name) for name, nodes in sorted(domains.items())]
    nothing = Packing({}, _wanted(demands))
    return max(found, key=lambda packing: (packing.is_complete, packing.total), default=nothing)


def _wanted(demands: Sequence[Demand]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for demand in demands:
        counts[demand.clique] += demand.count
    return dict(counts)


def _pack(
    demands: Sequence[Demand], capacity: Capacity, nodes: Iterable[ListedNode], domain: str = ""
) -> Packing:
    """First fit, largest pods first."""
    among = list(nodes)
    free = {node.metadata.name: dict(capacity.free[node.metadata.name]) for node in among}
    fitting: Counter[str] = Counter()
    for demand in sorted(demands, key=_size, reverse=True):
        left = demand.count
        for name in eligible(demand.pod, among):
            taken = min(left, _times(demand.requests, free[name]))
            for resource, number in demand.requests.items():
                free[name][resource] = free[name].get(resource, _NOTHING) - taken * number
            fitting[demand.clique] += taken
            left -= taken
            if not left:
                break
    return Packing({d.clique: fitting[d.clique] for d in demands}, _wanted(demands), domain)


def _size(demand: Demand) -> tuple[Fraction, ...]:
    order = sorted(demand.requests, key=lambda name: ("/" not in name, name))
    return tuple(demand.requests[name] for name in order)


def _times(requests: Sums, free: Sums) -> int:
    """Return how many pods with these requests fit into what is free."""
    counts = [
        max(0, int(free.get(name, _NOTHING) // number))
        for name, number in requests.items()
        if number
    ]
    return min(counts, default=10**6)


def scarce(demands: Sequence[Demand], capacity: Capacity) -> str:
    """Return the resource of which the largest part of the need is missing; empty if none is."""
    needed, offered = _sums(demands), free_for(demands, capacity)
    missing = {name: 1 - offered.get(name, _NOTHING) / n for name, n in needed.items() if n}
    # Extended resources are what gangs compete for: at a draw they are named.
    ranked = sorted(missing, key=lambda name: (missing[name], "/" in name, name))
    return ranked[-1] if ranked else ""


def free_for(demands: Sequence[Demand], capacity: Capacity) -> Sums:
    """Return what is free in all on the nodes that admit any of these pods."""
    admitted = {name for d in demands for name in eligible(d.pod, capacity.nodes.values())}
    found: Sums = {}
    for name in admitted:
        for resource, number in capacity.free[name].items():
            found[resource] = found.get(resource, _NOTHING) + max(number, _NOTHING)
    return found


def _sums(demands: Sequence[Demand]) -> Sums:
    found: Sums = {}
    for demand in demands:
        for resource, number in demand.requests.items():
            found[resource] = found.get(resource, _NOTHING) + demand.count * number
    return found


def user_of(pod: ListedPod) -> str:
    """Return who uses a pod's capacity: its set, its controller, or the pod itself."""
    labels = pod.metadata.labels
    if names.LABEL_PODGANG in labels:
        name = labels.get(names.LABEL_PART_OF, labels[names.LABEL_PODGANG])
    else:
        owners = [owner.name for owner in pod.metadata.owner_references if owner.controller]
        name = owners[0] if owners else pod.metadata.name
    return f"{pod.metadata.namespace}/{name}"
