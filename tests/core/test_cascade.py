"""Somebody deletes a set, and what we hear of it comes in the worst order: no pod is made."""

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Propagation
from shared_api.kube.resources import PODS, SERVICES
from tests.core.kit import Onlooker, clique, holds, pcs, running_operator
from tests.core.lagging import Streams
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

CHILDREN = (CLIQUES, GROUPS, GANGS, SERVICES, PODS)


@pytest.mark.parametrize("propagation", [Propagation.BACKGROUND, Propagation.FOREGROUND])
async def test_pods_that_go_before_their_owners_are_seen_to_go_are_not_replaced(
    core_cluster: Cluster, person: Onlooker, propagation: Propagation
) -> None:
    streams = Streams()
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster, client_type=streams.client_type()) as operator,
    ):
        await person.create(pcs("w", clique("a", 3)))
        await person.until_ready(3)
        await operator.until_idle()
        streams.hold(SETS.plural, CLIQUES.plural, GANGS.plural)
        await person.delete(person.one(SETS, "w"), SETS, propagation)
        await person.until(lambda: not person.pods)
        # It misses its pods, and asks whether their owner is there to stay.
        await operator.until(lambda: operator.writes.refused["patch", CLIQUES.plural])
        streams.let_go()
        await person.until(lambda: not any(map(person.all, (SETS, *CHILDREN))))
        await operator.until_idle()
        assert len(person.history) == 3, "no pod was made in vain"


async def test_a_lost_pod_is_replaced_after_a_question_that_changes_nothing(
    core_cluster: Cluster, person: Onlooker
) -> None:
    # With some grace the node takes the pod away, by its name alone, before that is free again.
    graceful = clique("a", 2, podSpec={"terminationGracePeriodSeconds": 1})
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", graceful))
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(CLIQUES, "w-0-a"), "Ready"))
        before = person.one(CLIQUES, "w-0-a").metadata
        lost = person.pods_of("w-0-a")["1"]
        await person.delete(lost, PODS)
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("1")) is not None
                and pod.metadata.uid != lost.metadata.uid
                and holds(pod, "Ready")
            )
        )
        after = person.one(CLIQUES, "w-0-a").metadata
        assert (after.uid, after.generation) == (before.uid, before.generation)
        assert len(person.history) == 3


async def test_orphans_of_a_set_are_left_as_they_are(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster) as operator,
    ):
        workload = pcs("w", clique("a", 2), clique("b", 1), podCliqueScalingGroups=[group])
        await person.create(workload)
        await person.until_ready(4)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await operator.until_idle()
        written = operator.writes.total()
        before = {item.metadata.uid for kind in CHILDREN for item in person.all(kind)}
        await person.delete(person.one(SETS, "w"), SETS, Propagation.ORPHAN)
        await person.until(lambda: not person.all(SETS))
        await operator.until_idle()
        assert {item.metadata.uid for kind in CHILDREN for item in person.all(kind)} == before
        assert operator.writes.total() == written
    for orphan in person.all(GROUPS):
        await person.delete(orphan, GROUPS)
