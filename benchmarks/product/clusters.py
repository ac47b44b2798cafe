"""A cluster of its own for each half of the benchmark, ready for our kinds.

The garbage collector learns of new kinds twice a minute; here it is started again once they
are installed, and then shown to collect a child of one of them.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.product.workload import NAMESPACE
from core_operator.caches import SETS
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.components import CONTROLLER_MANAGER
from local_cluster.lifecycle import down, up
from tests.core.kit import clique, pcs

CRDS = Path(__file__).parents[2] / "crds"


@contextlib.contextmanager
def fresh_cluster(nodes: int) -> Iterator[Cluster]:
    """A running cluster with our kinds, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        options = ClusterOptions(nodes=nodes, process_node=False)
        cluster = up(options, name="bench", directory=Path(directory) / "bench", leashed=True)
        try:
            cluster.kubectl("apply", "--server-side", "-f", str(CRDS))
            cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))
            cluster.restart(CONTROLLER_MANAGER)
            cluster.kubectl("create", "namespace", NAMESPACE)
            account = ("serviceaccount/default", "--namespace", NAMESPACE)
            cluster.kubectl("wait", "--for=create", *account, "--timeout=30s")
            _until_collected(cluster)
            yield cluster
        finally:
            down(cluster)


def _until_collected(cluster: Cluster) -> None:
    owner = pcs("probe", clique("a"), replicas=0)
    cluster.kubectl("create", "-f", "-", input=json.dumps(owner))
    uid = cluster.kubectl("get", "pcs", "probe", "-o", "jsonpath={.metadata.uid}").stdout
    reference = {"apiVersion": SETS.api_version, "kind": SETS.kind, "name": "probe", "uid": uid}
    metadata = {"name": "probe", "ownerReferences": [reference]}
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    cluster.kubectl("create", "-f", "-", input=json.dumps(child))
    cluster.kubectl("delete", "pcs", "probe")
    cluster.kubectl("wait", "--for=delete", "configmap/probe", "--timeout=90s")
