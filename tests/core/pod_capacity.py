"""Capacity that is added step by step, and a backend that uses Kubernetes' own scheduler.

One node has as many pod slots as a test provides, as an extended resource; a pod requests one. So
exactly so many pods fit, whatever else runs in the cluster.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from local_cluster.hand_written_gang import API_VERSION, gang_objects
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import Resource
from tests.core.kit import Object, Onlooker, clique, condition, is_ready, running_operator
from tests.core.stand_in import StandIn

GROUP, VERSION = API_VERSION.split("/")
WORKLOADS = Resource(GROUP, VERSION, "workloads", "Workload")
POD_GROUPS = Resource(GROUP, VERSION, "podgroups", "PodGroup")
POD_SLOT = "example.com/pod-slot"
NODE = "node-7"


class PodCapacity:
    """The capacity for the pods of a test."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def provide(self, pods: int) -> None:
        """Set the capacity to so many pods."""
        await asyncio.to_thread(self._set, str(pods))

    def remove(self) -> None:
        """Remove the resource from the node."""
        self._set(None)

    def _set(self, pods: str | None) -> None:
        resources = {"capacity": {POD_SLOT: pods}, "allocatable": {POD_SLOT: pods}}
        patch = ("--type=merge", "--patch", json.dumps({"status": resources}))
        self._cluster.kubectl("patch", "node", NODE, "--subresource=status", *patch)


def sized_clique(name: str, replicas: int, minimum: int) -> Object:
    """Return a clique whose pods request a slot each."""
    made = clique(name, replicas, minAvailable=minimum)
    (container,) = made["spec"]["podSpec"]["containers"]
    container["resources"] = {"requests": {POD_SLOT: "1"}, "limits": {POD_SLOT: "1"}}
    return made


def native_gang(gang: LooseObject) -> list[tuple[Resource, Object]]:
    """Return what Kubernetes 1.36 schedules whole: the minimum of all groups together."""
    size = sum(group["minReplicas"] for group in gang.spec["podgroups"])
    workload, group = gang_objects(gang.metadata.name, gang.metadata.namespace, size)
    owner = {
        "apiVersion": GANGS.api_version,
        "kind": GANGS.kind,
        "name": gang.metadata.name,
        "uid": gang.metadata.uid,
    }
    metadata = {**workload["metadata"], "ownerReferences": [owner]}
    return [
        (WORKLOADS, {**workload, "metadata": metadata}),
        (POD_GROUPS, {**group, "metadata": metadata}),
    ]


@contextlib.asynccontextmanager
async def everything(cluster: Cluster, person: Onlooker, **rules: Any) -> AsyncIterator[None]:
    """Run the operator, and a backend that lets Kubernetes schedule the minimum of a gang whole."""
    member = {"spec": {"schedulingGroup": {"podGroupName": "{gang}"}}}
    preparation = {"mode": "Static", "members": member, "surplus": {}}
    backend = StandIn(
        person.client, "default", writes=native_gang, preparation=preparation, **rules
    )
    async with backend.serving(), running_operator(cluster):
        yield


def ready(person: Onlooker) -> int:
    """Return how many pods are ready."""
    return sum(map(is_ready, person.pods))


def running_of(person: Onlooker, *podcliques: str) -> list[int]:
    """Return how many pods of each PodClique are ready."""
    return [sum(map(is_ready, person.pods_of(name).values())) for name in podcliques]


def torn_gangs(person: Onlooker) -> Mapping[str, list[tuple[int, int]]]:
    """Return gangs that run in part and below their minimum: ready pods and minimum by group."""
    torn = {}
    for gang in person.all(GANGS):
        groups = [
            (running_of(person, group["name"])[0], group["minReplicas"])
            for group in gang.spec["podgroups"]
        ]
        if any(count for count, _ in groups) and any(count < least for count, least in groups):
            torn[gang.metadata.name] = groups
    return torn


async def until_running(person: Onlooker, pods: int, *, of: int) -> None:
    """Wait until exactly so many of all pods are ready, and no gang runs below its minimum."""
    await person.until(
        lambda: len(person.pods) == of and ready(person) == pods and not torn_gangs(person)
    )


def why(person: Onlooker) -> str:
    """Return the message of the set's condition Ready."""
    return str(condition(person.get(SETS, "w"), names.CONDITION_READY).get("message", ""))
