"""Looking again at everything writes nothing, and a spec's generation moves only with its meaning."""

import asyncio
import json

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.resources import PODS, SERVICES
from tests.core.kit import Object, Onlooker, clique, condition, holds, pcs, running_operator
from tests.core.lagging import Streams
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

REPLICAS = 5
KINDS = (SETS, CLIQUES, GROUPS, GANGS, SERVICES, PODS)
TOUCH = {"metadata": {"labels": {"example.com/touched": "yes"}}}


def workload() -> Object:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    cliques = (clique("a", 2, minAvailable=1), clique("b"))
    return pcs("w", *cliques, replicas=REPLICAS, podCliqueScalingGroups=[group])


def reversed_fields(value: Object) -> Object:
    """The same in JSON, with the fields of every object in the opposite order."""
    text = json.dumps(value)
    return dict(
        json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs))),
    )


def generations(person: Onlooker) -> dict[str, int]:
    return {
        f"{kind.kind} {item.metadata.name}": item.metadata.generation
        for kind in (CLIQUES, GROUPS, GANGS)
        for item in person.all(kind)
    }


async def test_everything_is_looked_at_again_and_nothing_is_written(
    core_cluster: Cluster, person: Onlooker
) -> None:
    streams = Streams()
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster, client_type=streams.client_type()) as operator,
    ):
        await person.create(workload())
        await person.until_ready(REPLICAS * 4)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await operator.until_idle()
        before = generations(person)
        assert len(person.names(GANGS)) == 2 * REPLICAS
        written, looked = (
            operator.writes.total(),
            operator.total("controller_runtime_reconcile_total"),
        )
        # What a person may do that means nothing: Grove's trigger, and labels of his own.
        trigger = {names.ANNOTATION_RECONCILE_TRIGGER: "now"}
        await person.change(SETS, "w", {"metadata": {"annotations": trigger}})
        async with asyncio.TaskGroup() as touching:
            for kind in (CLIQUES, GROUPS, GANGS, SERVICES, PODS):
                for name in person.names(kind):
                    touching.create_task(person.change(kind, name, TOUCH))
        await operator.until_idle()
        assert operator.writes.total() == written, operator.writes.seen
        # The same manifest again, written down in another order.
        applied = reversed_fields(workload())
        applied["metadata"]["namespace"] = person.namespace
        await person.client.apply(SETS, applied, field_manager="person", force=True)
        # And every watch begins anew.
        kinds = [kind.plural for kind in KINDS]
        streams.lose(*kinds)
        for kind in KINDS:
            note = {"metadata": {"annotations": {"grove.io/note": "again"}}}
            await person.change(kind, person.names(kind)[0], note)
        await operator.until(lambda: sorted(streams.lost) == sorted(kinds))
        await operator.until_idle()
        assert operator.writes.total() == written, operator.writes.seen
        assert operator.total("controller_runtime_reconcile_total") > looked + 4 * REPLICAS
        assert generations(person) == before


async def test_the_generation_of_a_gang_moves_when_its_pods_do_and_no_other(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster) as operator,
    ):
        await person.create(pcs("w", clique("a", 2), replicas=2))
        await person.until_ready(4)
        await operator.until_idle()
        before = generations(person)
        await person.scale(CLIQUES, "w-0-a", 3)
        await person.until_ready(5)
        await person.until(
            lambda: len(person.one(GANGS, "w-0").spec["podgroups"][0]["podReferences"]) == 3
        )
        await operator.until_idle()
        after = generations(person)
        moved = {name for name, generation in after.items() if generation != before[name]}
        assert moved == {"PodClique w-0-a", "PodGang w-0"}
        assert after["PodGang w-0"] == before["PodGang w-0"] + 1
        assert condition(person.get(SETS, "w"), "Ready")["message"] == "2/2 replicas available"
