"""The verbs against objects of Grove's own operator on a real API server without SchedulerBackends."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gangctl.snapshot import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.lifecycle import down, up
from local_cluster.simulation.nodes import simulated_node
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import NODES, PODS, SERVICE_ACCOUNTS, Resource
from tests.gangctl.grove import grove_objects
from tests.gangctl.program import Program

pytestmark = pytest.mark.cluster

CRDS = Path(__file__).parents[2] / "crds"
GROVES = ("podcliquesets", "podcliques", "podcliquescalinggroups", "podgangs")
KINDS = {resource.kind: resource for resource in (SETS, CLIQUES, GANGS, PODS)}


@pytest.fixture
def bare(short_path: Path) -> Iterator[Cluster]:
    """An API server with Grove's kinds and no kind of this product."""
    options = ClusterOptions(parts="api")
    cluster = up(options, name="grove", directory=short_path / "grove", leashed=True)
    try:
        files = [str(file) for file in CRDS.glob("*.yaml") if any(n in file.name for n in GROVES)]
        assert len(files) == len(GROVES)
        for file in files:
            cluster.kubectl("apply", "--server-side", "-f", file)
            cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", file)
        yield cluster
    finally:
        down(cluster)


@pytest.fixture
async def client(bare: Cluster) -> AsyncIterator[Client]:
    async with Client(from_kubeconfig(bare.kubeconfig)) as opened:
        yield opened


async def store(client: Client, resource: Resource, manifest: dict[str, object]) -> None:
    """Store an object with its status, as its operator left it."""
    status = manifest.pop("status", None)
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    for field in ("uid", "creationTimestamp", "generation"):
        metadata.pop(field, None)
    await client.create(resource, manifest, field_manager="grove", into=PartialObject)
    if status is not None:
        await client.patch(
            resource,
            metadata["name"],
            metadata.get("namespace"),
            patch=Patch({"status": status}),
            field_manager="grove",
            subresource="status",
        )


async def test_sets_of_grove_are_explained_without_records(bare: Cluster, client: Client) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "default"},
    }
    await client.create(SERVICE_ACCOUNTS, account, field_manager="t", into=PartialObject)
    await store(client, NODES, simulated_node(0))
    # No controller removes the taint that the API server adds to a new node.
    bare.kubectl("taint", "node", "node-0", "node.kubernetes.io/not-ready-")
    for kind, resource in KINDS.items():
        for manifest in grove_objects(kind):
            await store(client, resource, manifest)
    gang = Program(bare.kubeconfig, "default")
    status = await gang.run("status")
    why = await gang.run("why", "w")
    tree = await gang.run("tree", "w")
    backends = await gang.run("backends")
    topology = await gang.run("topology", "local-cluster/rack")
    doctor = await gang.run("doctor")
    assert status.code == 1, status.err
    assert "gang w-0: 1/2 pods scheduled: 0/1 nodes are available" in status.out
    assert why.code == 1, why.err
    assert "  ✓ pods 2/2  ✓ released  ✗ scheduled 1/2\n" in why.out
    assert "Needs 8 nvidia.com/gpu (1 pod x 8). 0 free on 1 node; 0 of 1 pods fit." in why.out
    assert tree.code == 1, tree.err
    assert "Pod w-0-a-7k2xq  Ready on node-0" in tree.out
    assert backends.code == 0, backends.err
    assert "Grove's own operator manages the gangs of this cluster" in backends.out
    assert topology.code == 0, topology.err
    assert "rack-0" in topology.out
    assert doctor.code == 2, doctor.err
    assert "is served without SchedulerBackend, ClusterTopologyBinding" in doctor.out
