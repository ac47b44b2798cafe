"""Free capacity of nodes, and who uses the rest.

The user may read all pods, so what is free is known here. `shared_api.capacity` has the arithmetic
that is independent of that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gangctl.reports.view import gpus
from gangctl.snapshot import ListedPod, Snapshot
from shared_api import names
from shared_api.capacity.nodes import requests_or_nothing
from shared_api.capacity.supply import NOTHING, Demand, Supply, allocatable

if TYPE_CHECKING:
    from shared_api.kube.pod_resources import Sums

__all__ = ["Capacity", "Demand", "capacity_of", "requests_or_nothing", "user_of"]


@dataclass(frozen=True)
class Capacity(Supply):
    """The nodes of a cluster with what is free on each."""

    users: Mapping[str, Sequence[ListedPod]]
    """Live pods by node."""


def capacity_of(snapshot: Snapshot) -> Capacity:
    """Return what is free on each node."""
    nodes = {node.metadata.name: node for node in snapshot.nodes}
    free = {name: allocatable(node) for name, node in nodes.items()}
    users: dict[str, list[ListedPod]] = defaultdict(list)
    # Pods with equal requests share one object, and sums of fractions are slow.
    shared: dict[int, Sums] = {}
    counts: Counter[tuple[str, int]] = Counter()
    for pod in snapshot.pods:
        node = pod.spec.node_name
        if node not in free or not pod.uses_capacity:
            continue
        users[node].append(pod)
        requested = requests_or_nothing(pod.spec)
        shared[id(requested)] = requested
        counts[node, id(requested)] += 1
    for (node, which), count in counts.items():
        left = free[node]
        for resource, number in shared[which].items():
            left[resource] = left.get(resource, NOTHING) - count * number
    return Capacity(nodes, free, users)


def gpus_of(pods: Iterable[ListedPod]) -> Fraction:
    """Return the number of GPUs of all vendors that pods request."""
    shared: dict[int, Sums] = {}
    counts: Counter[int] = Counter()
    for pod in pods:
        requested = requests_or_nothing(pod.spec)
        shared[id(requested)] = requested
        counts[id(requested)] += 1
    return sum((count * gpus(shared[which]) for which, count in counts.items()), NOTHING)


def user_of(pod: ListedPod) -> str:
    """Return who uses a pod's capacity: its set, its controller, or the pod itself."""
    labels = pod.metadata.labels
    if names.LABEL_PODGANG in labels:
        name = labels.get(names.LABEL_PART_OF, labels[names.LABEL_PODGANG])
    else:
        owners = [owner.name for owner in pod.metadata.owner_references if owner.controller]
        name = owners[0] if owners else pod.metadata.name
    return f"{pod.metadata.namespace}/{name}"
