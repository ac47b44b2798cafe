"""The objects of a large cluster: sets, cliques, gangs and pods as core writes them, and nodes.

They are written to a bare API server once; nothing runs them. Each pod has the size that a real one
has there, managed fields included, because the bytes are what is waited for.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from local_cluster.simulation.nodes import simulated_node
from shared_api import names
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Resource

SPACE = "bench"
_IN_FLIGHT = 48
_PODS_PER_GANG = 10
_GPU = "nvidia.com/gpu"
Manifest = dict[str, Any]

SETS = Resource(names.GROVE_GROUP, names.VERSION, "podcliquesets", "PodCliqueSet")
CLIQUES = Resource(names.GROVE_GROUP, names.VERSION, "podcliques", "PodClique")
GANGS = Resource(names.SCHEDULER_GROUP, names.VERSION, "podgangs", "PodGang")


@dataclass(frozen=True)
class Size:
    """How large the cluster is."""

    pods: int = 10_000
    nodes: int = 1_000

    @property
    def sets(self) -> int:
        """Return the number of sets, each with one gang."""
        return self.pods // _PODS_PER_GANG


async def fill(client: Client, size: Size) -> None:
    """Write all objects; every second gang is bound, the others wait."""
    await _create(client, NAMESPACES, {"metadata": {"name": SPACE}})
    account = {"metadata": {"name": "default", "namespace": SPACE}}
    await _create(client, SERVICE_ACCOUNTS, account)
    work = _work(size)
    async with asyncio.TaskGroup() as group:
        for _ in range(_IN_FLIGHT):
            group.create_task(_write(client, work))


def _work(size: Size) -> Iterator[tuple[Resource, Manifest, Manifest | None]]:
    """Yield each object with its status."""
    for index in range(size.nodes):
        node = simulated_node(index)
        yield NODES, node, node["status"]
    for index in range(size.sets):
        name, is_bound = f"set-{index}", index % 2 == 0
        yield SETS, _set(name), _status(name, is_bound=is_bound)
        clique = {"roleName": "worker", "replicas": _PODS_PER_GANG, "podSpec": _pod_spec()}
        yield CLIQUES, {"metadata": _metadata(f"{name}-0-worker", name), "spec": clique}, None
        yield GANGS, _gang(name), _status(name, is_bound=is_bound)
        for number in range(_PODS_PER_GANG):
            yield PODS, _pod(name, number, f"node-{index % size.nodes}" if is_bound else ""), None


async def _write(
    client: Client, work: Iterator[tuple[Resource, Manifest, Manifest | None]]
) -> None:
    for resource, manifest, status in work:
        await _create(client, resource, manifest)
        if status is not None:
            metadata = manifest["metadata"]
            await client.patch(
                resource,
                metadata["name"],
                metadata.get("namespace"),
                patch=Patch({"status": status}),
                field_manager="bench",
                subresource="status",
            )


async def _create(client: Client, resource: Resource, manifest: Manifest) -> None:
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}
    await client.create(resource, whole, field_manager="bench", into=PartialObject)


def _metadata(name: str, of_set: str, **labels: str) -> Manifest:
    shared = {names.LABEL_MANAGED_BY: names.MANAGED_BY, names.LABEL_PART_OF: of_set}
    return {"name": name, "namespace": SPACE, "labels": {**shared, **labels}}


def _pod_spec() -> Manifest:
    env = [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(20)]
    container = {
        "name": "main",
        "image": "example/app:1",
        "env": env,
        "resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {_GPU: "1"}},
    }
    return {"containers": [container]}


def _set(name: str) -> Manifest:
    clique = {"roleName": "worker", "replicas": _PODS_PER_GANG, "podSpec": _pod_spec()}
    template = {"cliques": [{"name": "worker", "spec": clique}]}
    metadata = {"name": name, "namespace": SPACE}
    return {"metadata": metadata, "spec": {"replicas": 1, "template": template}}


def _gang(name: str) -> Manifest:
    references = [
        {"namespace": SPACE, "name": f"{name}-0-worker-{number}"}
        for number in range(_PODS_PER_GANG)
    ]
    group = {
        "name": f"{name}-0-worker",
        "minReplicas": _PODS_PER_GANG,
        "podReferences": references,
    }
    labels = {names.LABEL_SCHEDULER_BACKEND: "default"}
    return {"metadata": _metadata(f"{name}-0", name, **labels), "spec": {"podgroups": [group]}}


def _status(name: str, *, is_bound: bool) -> Manifest:
    passed = ("BackendSelected", "Accepted", "Initialized", "Programmed", "Released")
    found = [(kind, "True", "Done", "") for kind in passed]
    found.append(("Scheduled", str(is_bound), "Scheduled", f"{name}: 8 insufficient {_GPU}"))
    found.append(("Ready", str(is_bound), "Ready", f"gang {name}-0: 8 insufficient {_GPU}"))
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind, status, reason, message in found
    ]
    return {"conditions": conditions}


def _pod(of_set: str, number: int, node: str) -> Manifest:
    labels = {names.LABEL_PODGANG: f"{of_set}-0", names.LABEL_PODCLIQUE: f"{of_set}-0-worker"}
    metadata = _metadata(f"{of_set}-0-worker-{number}", of_set, **labels)
    spec = {**_pod_spec(), **({"nodeName": node} if node else {})}
    return {"metadata": metadata, "spec": spec}
