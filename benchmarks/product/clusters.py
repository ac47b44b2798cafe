"""A separate cluster with our CRDs for each run of the benchmark."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.workload import NAMESPACE
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.lifecycle import down, up

CRDS = Path(__file__).parents[2] / "crds"


@contextlib.contextmanager
def fresh_cluster(nodes: int, choice: BackendUnderTest) -> Iterator[Cluster]:
    """A running cluster with our kinds and the backend's scheduler, while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        options = ClusterOptions(nodes=nodes, schedulers=choice.schedulers, process_node=False)
        cluster = up(options, name="bench", directory=Path(directory) / "bench", leashed=True)
        try:
            cluster.install_crds(CRDS)
            cluster.kubectl("create", "namespace", NAMESPACE)
            account = ("serviceaccount/default", "--namespace", NAMESPACE)
            cluster.kubectl("wait", "--for=create", *account, "--timeout=30s")
            yield cluster
        finally:
            down(cluster)
