"""Grove's scale shape as manifests: one set, many replicas of one clique of two pods."""

from dataclasses import dataclass

from local_cluster.api import Object
from tests.core.kit import clique, pcs

NAMESPACE = "bench"
PODS_PER_GANG = 2
TINY_REPLICAS = 5
"""Ten pods, as in Grove's own smallest scale test."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    replicas: int = 500
    nodes: int = 100
    tiny_rounds: int = 20
    scalings: tuple[int, ...] = (100, 50)
    """Each of these is halved and doubled again, in replicas."""

    @property
    def pods(self) -> int:
        """Pods of the big set."""
        return self.replicas * PODS_PER_GANG


QUICK = Sizes(replicas=50, nodes=20, tiny_rounds=3, scalings=(20,))


def workload(name: str, replicas: int) -> Object:
    """The set."""
    manifest = pcs(name, clique("expert-worker", PODS_PER_GANG, minAvailable=2), replicas=replicas)
    return {**manifest, "metadata": {"name": name, "namespace": NAMESPACE}}
