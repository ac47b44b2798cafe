"""Grove's gang-scheduling scenarios with a minimum of one pod of each kind (GS5 to GS12).

The workload is Grove's: two `pc-a`, and two copies of one `pc-b` with three `pc-c`, of which
one copy belongs to the base gang and the other is a gang of its own. A minimum is one of each.
Which of the pods above the minimum and of the further gangs gets a slot first is the
scheduler's business; that no gang runs below its minimum is ours.
"""

import pytest

from core_operator.state.caches import GROUPS, SETS
from local_cluster.cluster import Cluster
from tests.core.kit import Object, Onlooker, pcs
from tests.core.pod_capacity import PodCapacity, everything, running_of, sized_clique, until_running

pytestmark = pytest.mark.cluster

SURPLUS_LATER = {"surplus": "AfterScheduled"}
BASE = ("w-0-pc-a", "w-0-sg-x-0-pc-b", "w-0-sg-x-0-pc-c")
SECOND_BASE = ("w-1-pc-a", "w-1-sg-x-0-pc-b", "w-1-sg-x-0-pc-c")


def workload() -> Object:
    group = {"name": "sg-x", "cliqueNames": ["pc-b", "pc-c"], "replicas": 2, "minAvailable": 1}
    cliques = (sized_clique("pc-a", 2, 1), sized_clique("pc-b", 1, 1), sized_clique("pc-c", 3, 1))
    return pcs("w", *cliques, podCliqueScalingGroups=[group])


async def test_gs5_gs6_and_gs7_the_minimum_of_each_gang_runs_first_and_the_rest_as_capacity_comes(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    await capacity.provide(3)
    async with everything(core_cluster, person, release=SURPLUS_LATER):
        await person.create(workload())
        await until_running(person, 3, of=10)
        assert running_of(person, *BASE) == [1, 1, 1], "one of each, and not two of one"
        # Pods above the minimum, or the minimum of the other gang: never a part of that.
        await capacity.provide(5)
        await until_running(person, 5, of=10)
        await capacity.provide(10)
        await until_running(person, 10, of=10)
        await person.scale(GROUPS, "w-0-sg-x", 3)
        await until_running(person, 10, of=14)
        await capacity.provide(12)
        await until_running(person, 12, of=14)
        assert running_of(person, "w-0-sg-x-2-pc-b", "w-0-sg-x-2-pc-c") == [1, 1]
        await capacity.provide(14)
        await until_running(person, 14, of=14)


async def test_gs9_gs11_and_gs12_replicas_of_set_and_group_are_added_up_to_28_pods(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    await capacity.provide(10)
    async with everything(core_cluster, person, release=SURPLUS_LATER):
        await person.create(workload())
        await until_running(person, 10, of=10)
        await person.scale(SETS, "w", 2)
        await until_running(person, 10, of=20)
        await capacity.provide(13)
        await until_running(person, 13, of=20)
        assert running_of(person, *SECOND_BASE) == [1, 1, 1]
        await person.scale(GROUPS, "w-0-sg-x", 3)
        await person.scale(GROUPS, "w-1-sg-x", 3)
        await until_running(person, 13, of=28)
        await capacity.provide(28)
        await until_running(person, 28, of=28)
        await person.scale(GROUPS, "w-0-sg-x", 1)
        await until_running(person, 20, of=20)
        assert running_of(person, *BASE) == [2, 1, 3], "the base gang lost nothing"


async def test_gs10_replicas_that_were_added_before_there_is_capacity_share_what_comes(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    await capacity.provide(0)
    async with everything(core_cluster, person, release=SURPLUS_LATER):
        await person.create(workload())
        await person.scale(SETS, "w", 2)
        await until_running(person, 0, of=20)
        await capacity.provide(6)
        await until_running(person, 6, of=20)
        await capacity.provide(20)
        await until_running(person, 20, of=20)
