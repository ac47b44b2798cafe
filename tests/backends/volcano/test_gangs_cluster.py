"""From a PodCliqueSet to ready pods on real Volcano: how many writes, and surplus pods."""

import pytest

from backend_controllers.generic.kinds import BACKENDS, GANGS
from backend_controllers.volcano.api import PODGROUPS, QUEUES
from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Patch
from shared_api.kube.codec import LooseObject
from tests.backends.generic.gangs import Eyes
from tests.backends.volcano.live import (
    SECONDS,
    bound,
    existing,
    message,
    product,
    until_running,
    until_said,
    volcanic,
)
from tests.core.kit import Onlooker, clique, condition, is_ready
from tests.core.pod_capacity import PodCapacity, sized_clique

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


async def test_a_set_runs_on_volcano_with_few_writes_and_leaves_nothing(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    async with (
        product(volcano_with_gangs) as backend,
        Eyes(person.client, PODGROUPS, person.namespace).watching() as pod_groups,
    ):
        await person.create(volcanic("w", clique("a", 2), clique("b", 3)))
        await until_running(person, "w-0")
        assert {pod.spec["schedulerName"] for pod in person.pods} == {"volcano"}
        assert message(person, "w-0", "Scheduled") == "5/5 pods scheduled"
        record = await person.client.get(BACKENDS, "volcano", into=LooseObject)
        dialect = "scheduling.volcano.sh/v1beta1+subGroupPolicy+networkTopology"
        assert record.status["dialect"] == dialect
        # Volcano writes the status, with which the generation rises; nothing is written back.
        await pod_groups.until(lambda: pod_groups.one("w-0").status.get("phase") == "Running")
        await backend.until_idle()
        written = backend.writes.seen
        assert written["apply", "podgroups"] == 1
        assert written["apply", "podgangs/status"] <= 4
        await person.delete(person.one(SETS, "w"), SETS)
        await pod_groups.until(lambda: not pod_groups.names())


async def test_surplus_pods_never_take_the_capacity_of_members(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    capacity = PodCapacity(volcano_with_gangs)
    try:
        await capacity.provide(3)
        async with product(volcano_with_gangs):
            await person.create(volcanic("w", sized_clique("a", 4, 1), sized_clique("b", 3, 3)))
            said = await until_said(person, "w-0", "Scheduled", "Unschedulable")
            assert said.startswith("0/4 pods scheduled (a 0/1, b 0/3): ")
            assert bound(person) == []
            await person.until(lambda: _why(person) == "PodsNotScheduled", SECONDS)
            await capacity.provide(4)
            await until_running(person, "w-0")
            assert bound(person) == ["w-0-a-0", "w-0-b-0", "w-0-b-1", "w-0-b-2"]
            await capacity.provide(6)
            await person.until(lambda: sum(map(is_ready, person.pods)) == 6, SECONDS)
            assert len(person.all(GANGS)) == 1
    finally:
        capacity.remove()


def _why(person: Onlooker) -> object:
    """The word of the set about itself, which held surplus pods must not hide."""
    return condition(person.get(SETS, "w"), "Ready").get("reason")


async def test_a_gang_waits_outside_a_queue_that_could_not_hold_it(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    queue = f"q-{person.namespace}"
    async with (
        existing(person, QUEUES, queue, spec={"capability": {"cpu": "1"}}),
        product(volcano_with_gangs, queue_admission=True) as backend,
        Eyes(person.client, PODGROUPS, person.namespace).watching() as pod_groups,
    ):
        await person.create(volcanic("w", clique("a", 3, cpu="600m"), queue=queue))
        said = await until_said(person, "w-0", "Scheduled", "NotEnqueued")
        assert f"to queue '{queue}'" in said
        assert "the gang's minimum (cpu 1800m). " in said
        assert bound(person) == []
        more = Patch({"spec": {"capability": {"cpu": "2"}}})
        await person.client.patch(QUEUES, queue, patch=more, field_manager="person")
        await until_running(person, "w-0")
        # Volcano reads quantities and writes them again, which must not look like a change.
        await pod_groups.until(lambda: pod_groups.one("w-0").status.get("phase") == "Running")
        assert pod_groups.one("w-0").spec["minResources"] == {"cpu": "1800m"}
        await backend.until_idle()
        assert backend.writes.seen["apply", "podgroups"] == 1
        await person.start_over()
