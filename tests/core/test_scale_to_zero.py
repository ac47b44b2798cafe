"""PodCliques and scaling groups are scaled to zero, and come back as whole gangs."""

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from tests.core.kit import Onlooker, clique, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

GROUP = {"name": "s", "cliqueNames": ["b", "c"], "replicas": 1, "minAvailable": 1}


def grouped(person: Onlooker, gang: str) -> dict[str, int]:
    """Return the minimums of a gang by group."""
    found = person.get(GANGS, gang)
    return {g["name"]: g["minReplicas"] for g in found.spec["podgroups"]} if found else {}


async def test_the_only_clique_of_a_gang_goes_to_zero_and_back(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, minAvailable=2)))
        await person.until_ready(2)
        first = person.one(GANGS, "w-0").metadata.uid
        await person.scale(CLIQUES, "w-0-a", 1)
        await person.until(lambda: len(person.pods) == 1 and grouped(person, "w-0") == {"w-0-a": 1})
        await person.scale(CLIQUES, "w-0-a", 0)
        await person.until(lambda: not person.pods and not person.names(GANGS))
        await person.until(
            lambda: (
                holds(person.get(CLIQUES, "w-0-a"), "Ready")
                and holds(person.get(SETS, "w"), "Ready")
            )
        )
        await person.scale(CLIQUES, "w-0-a", 2)
        await person.until_ready(2)
        assert grouped(person, "w-0") == {"w-0-a": 2}
        assert person.one(GANGS, "w-0").metadata.uid != first
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))


async def test_a_scaling_group_goes_to_zero_and_back_beside_a_running_clique(
    core_cluster: Cluster, person: Onlooker
) -> None:
    workload = pcs("w", clique("a"), clique("b", 2), clique("c"), podCliqueScalingGroups=[GROUP])
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(workload)
        await person.until_ready(4)
        running = person.pods_of("w-0-a")["0"].metadata.uid
        await person.scale(GROUPS, "w-0-s", 0)
        await person.until(lambda: len(person.pods) == 1 and grouped(person, "w-0") == {"w-0-a": 1})
        await person.until(
            lambda: (
                holds(person.get(GROUPS, "w-0-s"), "Ready")
                and holds(person.get(SETS, "w"), "Ready")
                and person.names(CLIQUES) == ["w-0-a"]
            )
        )
        await op.until_idle()
        await person.scale(GROUPS, "w-0-s", 2)
        await person.until_ready(7)
        assert grouped(person, "w-0") == {"w-0-a": 1, "w-0-s-0-b": 2, "w-0-s-0-c": 1}
        assert grouped(person, "w-0-s-0") == {"w-0-s-1-b": 2, "w-0-s-1-c": 1}
        assert person.pods_of("w-0-a")["0"].metadata.uid == running
        assert not op.metric("grove_invariant_violations_total", invariant="min_available")
