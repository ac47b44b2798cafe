"""Room that comes bit by bit, and a backend that hands gangs to Kubernetes' own scheduler.

A node has as many rooms as a test opens, as a resource of its own kind; a pod needs one. So
there is room for exactly so many pods, whatever else runs in the cluster.
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
ROOM = "example.com/room"
NODE = "node-7"


class Rooms:
    """The room that there is for the test's pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def open(self, rooms: int) -> None:
        """Let there be room for so many pods."""
        await asyncio.to_thread(self._set, str(rooms))

    def close(self) -> None:
        """Take the resource away again."""
        self._set(None)

    def _set(self, rooms: str | None) -> None:
        resources = {"capacity": {ROOM: rooms}, "allocatable": {ROOM: rooms}}
        patch = ("--type=merge", "--patch", json.dumps({"status": resources}))
        self._cluster.kubectl("patch", "node", NODE, "--subresource=status", *patch)


def roomy(name: str, replicas: int, minimum: int) -> Object:
    """A clique whose pods need a room each."""
    made = clique(name, replicas, minAvailable=minimum)
    (container,) = made["spec"]["podSpec"]["containers"]
    container["resources"] = {"requests": {ROOM: "1"}, "limits": {ROOM: "1"}}
    return made


def native_gang(gang: LooseObject) -> list[tuple[Resource, Object]]:
    """What Kubernetes 1.36 schedules whole: the minimum of all groups together."""
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
    """The operator, and a backend that makes Kubernetes schedule the minimum of a gang whole."""
    member = {"spec": {"schedulingGroup": {"podGroupName": "{gang}"}}}
    preparation = {"mode": "Static", "members": member, "surplus": {}}
    backend = StandIn(
        person.client, "default", writes=native_gang, preparation=preparation, **rules
    )
    async with backend.serving(), running_operator(cluster):
        yield


def ready(person: Onlooker) -> int:
    """How many pods run."""
    return sum(map(is_ready, person.pods))


def running_of(person: Onlooker, *podcliques: str) -> list[int]:
    """How many pods of each PodClique run."""
    return [sum(map(is_ready, person.pods_of(name).values())) for name in podcliques]


def torn_gangs(person: Onlooker) -> Mapping[str, list[tuple[int, int]]]:
    """Gangs that run in part, and with less than their minimum: of each group, both numbers."""
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
    """Wait until exactly so many pods of all that exist run, and no gang below its minimum."""
    await person.until(
        lambda: len(person.pods) == of and ready(person) == pods and not torn_gangs(person)
    )


def why(person: Onlooker) -> str:
    """What the set says about itself."""
    return str(condition(person.get(SETS, "w"), names.CONDITION_READY).get("message", ""))
