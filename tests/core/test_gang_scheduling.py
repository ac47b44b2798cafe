"""Grove's gang-scheduling scenarios with all pods as the minimum (GS1 to GS4, and GS8).

The workload is Grove's: two `pc-a`, and two copies of one `pc-b` with three `pc-c`, of which
both belong to the base gang. Kubernetes' own scheduler places the gangs, all pods or none.
"""

import pytest

from core_operator.state.caches import GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from tests.core.kit import Object, Onlooker, pcs
from tests.core.pod_capacity import PodCapacity, everything, ready, sized_clique, until_running, why

pytestmark = pytest.mark.cluster


def workload() -> Object:
    group = {"name": "sg-x", "cliqueNames": ["pc-b", "pc-c"], "replicas": 2, "minAvailable": 2}
    cliques = (sized_clique("pc-a", 2, 2), sized_clique("pc-b", 1, 1), sized_clique("pc-c", 3, 3))
    return pcs("w", *cliques, podCliqueScalingGroups=[group])


async def test_gs1_all_pods_of_a_gang_wait_until_there_is_capacity_for_all(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    await capacity.provide(9)
    async with everything(core_cluster, person):
        await person.create(workload())
        await person.until(lambda: "gang w-0: 0/10 pods scheduled" in why(person))
        assert ready(person) == 0
        await capacity.provide(10)
        await until_running(person, 10, of=10)


async def test_gs2_gs3_and_gs4_added_replicas_of_set_and_group_are_gangs_of_their_own(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    await capacity.provide(13)
    async with everything(core_cluster, person):
        await person.create(workload())
        await until_running(person, 10, of=10)
        await person.scale(GROUPS, "w-0-sg-x", 3)
        await person.until(lambda: "gang w-0-sg-x-0: 0/4 pods scheduled" in why(person))
        await until_running(person, 10, of=14)
        await capacity.provide(14)
        await until_running(person, 14, of=14)
        await person.scale(SETS, "w", 2)
        await person.until(lambda: "gang w-1: 0/10 pods scheduled" in why(person))
        await person.scale(GROUPS, "w-1-sg-x", 3)
        await until_running(person, 14, of=28)
        gangs = ["w-0", "w-0-sg-x-0", "w-1", "w-1-sg-x-0"]
        await person.until(lambda: person.names(GANGS) == gangs)
        await capacity.provide(28)
        await until_running(person, 28, of=28)


async def test_gs8_a_group_that_is_scaled_before_there_is_capacity_starts_with_its_base(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    await capacity.provide(0)
    async with everything(core_cluster, person):
        await person.create(workload())
        await person.until(lambda: len(person.pods) == 10)
        await person.scale(GROUPS, "w-0-sg-x", 3)
        await until_running(person, 0, of=14)
        await capacity.provide(13)
        await until_running(person, 10, of=14)
        await capacity.provide(14)
        await until_running(person, 14, of=14)
