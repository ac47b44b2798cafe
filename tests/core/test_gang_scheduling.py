"""Grove's gang-scheduling scenarios, with Kubernetes' own gangs and room that comes bit by bit."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from core_operator.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from local_cluster.hand_written_gang import API_VERSION, gang_objects
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import Resource
from tests.core.kit import Object, Onlooker, clique, condition, is_ready, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

GROUP, VERSION = API_VERSION.split("/")
WORKLOADS = Resource(GROUP, VERSION, "workloads", "Workload")
POD_GROUPS = Resource(GROUP, VERSION, "podgroups", "PodGroup")
ROOM = "example.com/room"


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


class Rooms:
    """Nodes on which the test's pods may run, one pod each."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._open = 0

    def open(self, nodes: int) -> None:
        """Let so many nodes be used."""
        for number in range(self._open, nodes):
            self._cluster.kubectl("label", "node", f"node-{number}", f"{ROOM}=yes")
        self._open = max(self._open, nodes)

    def close(self) -> None:
        for number in range(self._open):
            self._cluster.kubectl("label", "node", f"node-{number}", f"{ROOM}-")


@pytest.fixture
def rooms(core_cluster: Cluster) -> Iterator[Rooms]:
    rooms = Rooms(core_cluster)
    yield rooms
    rooms.close()


def big(name: str, replicas: int, minimum: int) -> Object:
    """A clique whose pods fill a node each."""
    selector = {"nodeSelector": {ROOM: "yes"}}
    return clique(name, replicas, cpu="20", minAvailable=minimum, podSpec=selector)


@contextlib.asynccontextmanager
async def everything(cluster: Cluster, person: Onlooker, **rules: Any) -> AsyncIterator[None]:
    member = {"spec": {"schedulingGroup": {"podGroupName": "{gang}"}}}
    preparation = {"mode": "Static", "members": member, "surplus": {}}
    backend = StandIn(
        person.client, "default", writes=native_gang, preparation=preparation, **rules
    )
    async with backend.serving(), running_operator(cluster):
        yield


def ready(person: Onlooker) -> int:
    return sum(map(is_ready, person.pods))


def why(person: Onlooker) -> str:
    return str(condition(person.get(SETS, "w"), "Ready").get("message", ""))


async def test_all_pods_of_a_gang_wait_until_there_is_room_for_all(
    core_cluster: Cluster, person: Onlooker, rooms: Rooms
) -> None:
    rooms.open(3)
    async with everything(core_cluster, person):
        await person.create(pcs("w", big("a", 2, 2), big("b", 2, 2)))
        await person.until(lambda: "gang w-0: 0/4 pods scheduled" in why(person))
        assert ready(person) == 0
        rooms.open(4)
        await person.until_ready(4)


async def test_a_replica_and_a_copy_that_are_added_wait_as_gangs_of_their_own(
    core_cluster: Cluster, person: Onlooker, rooms: Rooms
) -> None:
    rooms.open(2)
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}
    async with everything(core_cluster, person):
        workload = pcs("w", big("a", 1, 1), big("b", 1, 1), podCliqueScalingGroups=[group])
        await person.create(workload)
        await person.until_ready(2)
        await person.scale(GROUPS, "w-0-s", 2)
        await person.until(lambda: "gang w-0-s-0: 0/1 pods scheduled" in why(person))
        await person.scale(SETS, "w", 2)
        await person.until(lambda: len(person.pods) == 5 and ready(person) == 2)
        await person.until(lambda: person.names(GANGS) == ["w-0", "w-0-s-0", "w-1"])
        rooms.open(5)
        await person.until_ready(5)


async def test_with_room_for_the_minimum_only_the_minimum_runs_and_the_rest_follows(
    core_cluster: Cluster, person: Onlooker, rooms: Rooms
) -> None:
    rooms.open(2)
    async with everything(core_cluster, person, release={"surplus": "AfterScheduled"}):
        await person.create(pcs("w", big("a", 2, 1), big("b", 2, 1)))
        await person.until(lambda: len(person.pods) == 4 and ready(person) == 2)
        members = [person.pods_of(name)["0"] for name in ("w-0-a", "w-0-b")]
        assert all(map(is_ready, members)), "one of each clique, and not two of one"
        await person.until(
            lambda: (
                person.one(CLIQUES, "w-0-a").status.get("scheduledReplicas") == 1
                and person.one(CLIQUES, "w-0-b").status.get("scheduledReplicas") == 1
            )
        )
        rooms.open(4)
        await person.until_ready(4)
