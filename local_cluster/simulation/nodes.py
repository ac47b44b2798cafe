"""The manifests of the simulated nodes: their capacity and topology."""

from typing import Any

ZONE = "topology.kubernetes.io/zone"
BLOCK = "local-cluster/block"
RACK = "local-cluster/rack"
HOSTNAME = "kubernetes.io/hostname"

SIMULATED = {"kwok.x-k8s.io/node": "fake"}
_RESOURCES = {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110"}
_NODES_PER_RACK = 2
_RACKS_PER_BLOCK = 2
_BLOCKS_PER_ZONE = 2


def simulated_node(index: int, **resources: str) -> dict[str, Any]:
    """Return node `index`: two nodes a rack, two racks a block, two blocks a zone."""
    rack = index // _NODES_PER_RACK
    block = rack // _RACKS_PER_BLOCK
    zone = block // _BLOCKS_PER_ZONE
    name = f"node-{index}"
    capacity = {**_RESOURCES, **resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": dict(SIMULATED),
            "labels": {
                HOSTNAME: name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                ZONE: f"zone-{zone}",
                BLOCK: f"block-{block}",
                RACK: f"rack-{rack}",
            },
        },
        "status": {"capacity": capacity, "allocatable": dict(capacity)},
    }
