"""Grove's scale shape as manifests: one set, many replicas of one clique of two pods."""

from collections.abc import Mapping
from dataclasses import dataclass

from local_cluster.api import Object
from tests.core.kit import clique, pcs

NAMESPACE = "bench"
PODS_PER_GANG = 2
TINY_REPLICAS = 5
"""Ten pods, as in Grove's own smallest scale test."""
FULL = 500
"""Gangs of Grove's scale test; absolute targets are for this many."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    replicas: int = FULL
    nodes: int = 100
    tiny_rounds: int = 20
    scalings: tuple[int, ...] = (100, 50, 50, 50, 50, 50)
    """Sets that are halved and doubled again, in replicas; of equal ones the median counts."""
    singles: int = 100
    """Sets of one gang that are made one after the other."""
    turns: int = 3
    turn_replicas: int = 150
    """Sets that are deleted with and without the product, so many times each."""

    @property
    def pods(self) -> int:
        """Pods of the big set."""
        return self.replicas * PODS_PER_GANG


QUICK = Sizes(
    replicas=30, nodes=20, tiny_rounds=2, scalings=(10,), singles=5, turns=1, turn_replicas=10
)


def workload(name: str, replicas: int, annotations: Mapping[str, str]) -> Object:
    """The set."""
    manifest = pcs(name, clique("expert-worker", PODS_PER_GANG, minAvailable=2), replicas=replicas)
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": dict(annotations)}
    return {**manifest, "metadata": metadata}
