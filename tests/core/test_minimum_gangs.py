"""Grove's gang-scheduling scenarios with a minimum of one pod of each kind (GS5 to GS12).

The workload is Grove's: two `pc-a`, and two copies of one `pc-b` with three `pc-c`, of which
one copy belongs to the base gang and the other is a gang of its own. A minimum is one of each.
Which of the pods above the minimum and of the further gangs gets a room first is the
scheduler's business; that no gang runs below its minimum is ours.
"""

import pytest

from core_operator.state.caches import GROUPS, SETS
from local_cluster.cluster import Cluster
from tests.core.kit import Object, Onlooker, pcs
from tests.core.rooms import Rooms, everything, roomy, running_of, until_running

pytestmark = pytest.mark.cluster

SURPLUS_LATER = {"surplus": "AfterScheduled"}
BASE = ("w-0-pc-a", "w-0-sg-x-0-pc-b", "w-0-sg-x-0-pc-c")
SECOND_BASE = ("w-1-pc-a", "w-1-sg-x-0-pc-b", "w-1-sg-x-0-pc-c")


def workload() -> Object:
    group = {"name": "sg-x", "cliqueNames": ["pc-b", "pc-c"], "replicas": 2, "minAvailable": 1}
    cliques = (roomy("pc-a", 2, 1), roomy("pc-b", 1, 1), roomy("pc-c", 3, 1))
    return pcs("w", *cliques, podCliqueScalingGroups=[group])


async def test_gs5_gs6_and_gs7_the_minimum_of_each_gang_runs_first_and_the_rest_as_capacity_comes(
    core_cluster: Cluster, person: Onlooker, rooms: Rooms
) -> None:
    await rooms.open(3)
    async with everything(core_cluster, person, release=SURPLUS_LATER):
        await person.create(workload())
        await until_running(person, 3, of=10)
        assert running_of(person, *BASE) == [1, 1, 1], "one of each, and not two of one"
        # Pods above the minimum, or the minimum of the other gang: never a part of that.
        await rooms.open(5)
        await until_running(person, 5, of=10)
        await rooms.open(10)
        await until_running(person, 10, of=10)
        await person.scale(GROUPS, "w-0-sg-x", 3)
        await until_running(person, 10, of=14)
        await rooms.open(12)
        await until_running(person, 12, of=14)
        assert running_of(person, "w-0-sg-x-2-pc-b", "w-0-sg-x-2-pc-c") == [1, 1]
        await rooms.open(14)
        await until_running(person, 14, of=14)


async def test_gs9_gs11_and_gs12_replicas_of_set_and_group_are_added_up_to_28_pods(
    core_cluster: Cluster, person: Onlooker, rooms: Rooms
) -> None:
    await rooms.open(10)
    async with everything(core_cluster, person, release=SURPLUS_LATER):
        await person.create(workload())
        await until_running(person, 10, of=10)
        await person.scale(SETS, "w", 2)
        await until_running(person, 10, of=20)
        await rooms.open(13)
        await until_running(person, 13, of=20)
        assert running_of(person, *SECOND_BASE) == [1, 1, 1]
        await person.scale(GROUPS, "w-0-sg-x", 3)
        await person.scale(GROUPS, "w-1-sg-x", 3)
        await until_running(person, 13, of=28)
        await rooms.open(28)
        await until_running(person, 28, of=28)
        await person.scale(GROUPS, "w-0-sg-x", 1)
        await until_running(person, 20, of=20)
        assert running_of(person, *BASE) == [2, 1, 3], "the base gang lost nothing"


async def test_gs10_replicas_that_were_added_before_there_is_capacity_share_what_comes(
    core_cluster: Cluster, person: Onlooker, rooms: Rooms
) -> None:
    await rooms.open(0)
    async with everything(core_cluster, person, release=SURPLUS_LATER):
        await person.create(workload())
        await person.scale(SETS, "w", 2)
        await until_running(person, 0, of=20)
        await rooms.open(6)
        await until_running(person, 6, of=20)
        await rooms.open(20)
        await until_running(person, 20, of=20)
