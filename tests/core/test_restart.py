"""A restart finds everything in place, and says and writes nothing."""

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.resources import PODS, SERVICES
from tests.core.kit import Onlooker, clique, holds, pcs, running_operator
from tests.core.lagging import Streams
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
async def test_a_restart_and_a_resync_with_five_hundred_gangs_write_nothing(
    core_cluster: Cluster, person: Onlooker
) -> None:
    streams = Streams()
    async with StandIn(person.client, "default").serving():
        async with running_operator(core_cluster) as operator:
            await person.create(pcs("w", clique("a"), replicas=500))
            await person.until_ready(500, seconds=150)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
            await operator.until_idle()
            # The budget of a quiet machine is in the benchmark; a busy one tells of progress, too.
            assert operator.writes.total() <= 500 * (2 + 7) * 1.2, operator.writes.seen
        async with running_operator(core_cluster, client_type=streams.client_type()) as operator:
            await operator.until_idle()
            assert operator.writes.seen == {}
            # Grove's trigger has everything looked at again; so has a watch that begins anew.
            looked = operator.total("controller_runtime_reconcile_total")
            trigger = {names.ANNOTATION_RECONCILE_TRIGGER: "now"}
            kinds = (SETS, CLIQUES, GANGS, SERVICES, PODS)
            streams.lose(*(kind.plural for kind in kinds))
            for kind in kinds:
                name = person.names(kind)[0]
                await person.change(kind, name, {"metadata": {"annotations": trigger}})
            await operator.until(lambda: len(streams.lost) == len(kinds))
            await operator.until_idle()
            assert operator.writes.seen == {}
            assert operator.total("controller_runtime_reconcile_total") > looked + 500
