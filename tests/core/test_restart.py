"""A restart finds everything in place, and says and writes nothing."""

import pytest

from core_operator.caches import GROUPS, SETS
from local_cluster.cluster import Cluster
from tests.core.kit import Onlooker, clique, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster


async def test_a_restart_with_everything_in_place_writes_nothing(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 3, "minAvailable": 1}
    async with StandIn(person.client, "default").serving():
        async with running_operator(core_cluster) as operator:
            workload = pcs(
                "w",
                clique("a", 2, minAvailable=1),
                clique("b", 1),
                replicas=4,
                podCliqueScalingGroups=[group],
            )
            await person.create(workload)
            await person.until_ready(20)
            await person.scale(GROUPS, "w-1-s", 4)
            await person.until_ready(21)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
            await operator.until_idle()
            assert not holds(person.get(SETS, "w"), "Reconciling")
        async with running_operator(core_cluster) as operator:
            await operator.until_idle()
            assert operator.writes.seen == {}


@pytest.mark.matrix  # it takes minutes, and its small sister is in `make test`
@pytest.mark.timeout(240)
async def test_a_restart_with_five_hundred_gangs_writes_nothing(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving():
        async with running_operator(core_cluster) as operator:
            await person.create(pcs("w", clique("a"), replicas=500))
            await person.until_ready(500, seconds=150)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
            await operator.until_idle()
            # The budget of a quiet machine is in the benchmark; a busy one tells of progress, too.
            assert operator.writes.total() <= 500 * (2 + 7) * 1.2, operator.writes.seen
        async with running_operator(core_cluster) as operator:
            await operator.until_idle()
            assert operator.writes.seen == {}
