"""What the operator's tests stand on: a cluster that knows our kinds, and a client to it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core_operator.caches import SETS
from local_cluster.cluster import Cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.kit import Onlooker, clique, pcs

CRDS = Path(__file__).parents[2] / "crds"


@pytest.fixture(scope="session")
def core_cluster(cluster: Cluster) -> Cluster:
    """The default cluster with our CRDs."""
    cluster.kubectl("apply", "--server-side", "-f", str(CRDS))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))
    _until_collected(cluster)
    return cluster


def _until_collected(cluster: Cluster) -> None:
    """Wait until the garbage collector knows our kinds: it looks for new ones twice a minute."""
    owner = pcs("probe", clique("a"), replicas=0)
    cluster.kubectl("create", "-f", "-", input=json.dumps(owner))
    stored = cluster.kubectl("get", "pcs", "probe", "-o", "jsonpath={.metadata.uid}").stdout
    reference = {"apiVersion": SETS.api_version, "kind": SETS.kind, "name": "probe", "uid": stored}
    metadata = {"name": "probe", "ownerReferences": [reference]}
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    cluster.kubectl("create", "-f", "-", input=json.dumps(child))
    cluster.kubectl("delete", "pcs", "probe")
    cluster.kubectl("wait", "--for=delete", "configmap/probe", "--timeout=90s")


@pytest.fixture
async def client(core_cluster: Cluster) -> AsyncIterator[Client]:
    """A person's client."""
    async with Client(from_kubeconfig(core_cluster.kubeconfig)) as opened:
        yield opened


@pytest.fixture
async def person(client: Client, namespace: str) -> AsyncIterator[Onlooker]:
    """Somebody who watches the test's namespace."""
    async with Onlooker(client, namespace).watching() as onlooker:
        yield onlooker
