"""Free capacity of nodes, and who uses the rest.

The user may read all pods, so what is free is known here. `shared_api.capacity` has the arithmetic
that is independent of that.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gangctl.snapshot import ListedPod, Snapshot
from shared_api import names
from shared_api.capacity.nodes import requests_or_nothing
from shared_api.capacity.supply import NOTHING, Demand, Supply, allocatable

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
    for pod in snapshot.pods:
        left = free.get(pod.spec.node_name)
        if left is None or not pod.is_live:
            continue
        users[pod.spec.node_name].append(pod)
        for resource, number in requests_or_nothing(pod.spec).items():
            left[resource] = left.get(resource, NOTHING) - number
    return Capacity(nodes, free, users)


def user_of(pod: ListedPod) -> str:
    """Return who uses a pod's capacity: its set, its controller, or the pod itself."""
    labels = pod.metadata.labels
    if names.LABEL_PODGANG in labels:
        name = labels.get(names.LABEL_PART_OF, labels[names.LABEL_PODGANG])
    else:
        owners = [owner.name for owner in pod.metadata.owner_references if owner.controller]
        name = owners[0] if owners else pod.metadata.name
    return f"{pod.metadata.namespace}/{name}"
