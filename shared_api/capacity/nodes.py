"""Nodes and pods, as far as they decide whether a pod may be bound to a node.

It owns the projections and the test whether a node admits a pod. Schedulers decide by more than it
knows: it reads node selectors, taints and requests, not affinity, quotas or volumes.
"""

import functools
from collections.abc import Iterable, Mapping

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.kube.pod_resources import (
    ContainerResources,
    NoQuantityError,
    PodResources,
    Resources,
    Sums,
    requests_of,
)
from shared_api.kube.pods import SchedulingGate

_EVICTS = ("NoSchedule", "NoExecute")


class Toleration(msgspec.Struct, frozen=True):
    """A taint that a pod accepts."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PlannedPod(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a pod, as far as it decides where the pod fits."""

    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    containers: tuple[ContainerResources, ...] = ()
    init_containers: tuple[ContainerResources, ...] = ()
    resources: Resources = Resources()
    overhead: Mapping[str, str | int | float] = {}
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    priority: int = 0
    priority_class_name: str = ""

    def requests(self) -> Sums:
        """Return what the pod requests, by resource; one pod slot included.

        Pods with equal resources return the same object: callers must not change it.
        """
        asked = PodResources(self.containers, self.init_containers, self.resources, self.overhead)
        return _summed(msgspec.msgpack.encode(asked))


# Thousands of pods have equal resources, and sums of fractions are slow. Bytes can be a key.
@functools.lru_cache(maxsize=4096)
def _summed(encoded: bytes) -> Sums:
    return {**requests_of(msgspec.msgpack.decode(encoded, type=PodResources)), "pods": _ONE}


_ONE = next(iter(requests_of(PodResources(overhead={"pods": 1})).values()))


class Taint(msgspec.Struct, frozen=True):
    """What keeps pods off a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(msgspec.Struct, frozen=True):
    """Whether pods may be bound to the node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(msgspec.Struct, frozen=True):
    """What the node offers."""

    allocatable: Mapping[str, str] = {}


class ListedNode(msgspec.Struct, frozen=True):
    """A node of the cluster."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


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
