"""One clique, one gang: from the PodCliqueSet through both phases to running pods."""

import pytest

from core_operator.settings import CoreTiming
from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.resources import SERVICES
from tests.core.kit import (
    Onlooker,
    clique,
    condition,
    gates,
    holds,
    is_ready,
    pcs,
    running_operator,
    settings,
)
from tests.core.stand_in import GATE, StandIn

pytestmark = pytest.mark.cluster


async def test_a_gang_forms_is_released_and_runs(core_cluster: Cluster, person: Onlooker) -> None:
    backend = StandIn(person.client, "default")
    async with backend.serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 3)))
        await person.until_ready(3)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        assert person.names(CLIQUES) == ["w-0-a"]
        assert person.names(GANGS) == ["w-0"]
        assert "w-0" in person.names(SERVICES)
        (gang,) = person.all(GANGS)
        (group,) = gang.spec["podgroups"]
        assert [ref["name"] for ref in group["podReferences"]] == [
            pod.metadata.name for pod in person.pods
        ]
        assert group["minReplicas"] == 3
        assert holds(gang, names.CONDITION_INITIALIZED)
        assert gang.metadata.labels[names.LABEL_SCHEDULER_BACKEND] == "default"
        status = person.one(CLIQUES, "w-0-a").status
        counted = ("replicas", "readyReplicas", "scheduledReplicas", "scheduleGatedReplicas")
        assert [status.get(field) for field in counted] == [3, 3, 3, 0]
        assert condition(person.get(SETS, "w"), "Ready")["message"] == "1/1 replicas available"


async def test_pods_are_gated_until_the_backend_has_programmed_the_gang(
    core_cluster: Cluster, person: Onlooker
) -> None:
    silent = StandIn(person.client, "default", says=lambda gang: None)
    async with running_operator(core_cluster) as operator:
        async with silent.serving():
            await person.create(pcs("w", clique("a", 2)))
            await person.until(lambda: holds(person.get(GANGS, "w-0"), names.CONDITION_INITIALIZED))
            await operator.until_idle()
            assert [gates(pod) for pod in person.pods] == [[GATE], [GATE]]
            await person.until(
                lambda: (
                    "has programmed" in condition(person.get(SETS, "w"), "Ready").get("message", "")
                )
            )
        async with StandIn(person.client, "default").serving():
            await person.until(lambda: all(map(is_ready, person.pods)))


async def test_core_writes_no_more_than_it_must(core_cluster: Cluster, person: Onlooker) -> None:
    # Changes are gathered for longer than they take, also on a busy machine.
    patient = settings(timing=CoreTiming(status_delay_seconds=2, progress_delay_seconds=10))
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster, patient) as operator,
    ):
        await person.create(pcs("w", clique("a", 4), replicas=5))
        await person.until_ready(20)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
    written = operator.writes.seen
    assert written["post", "pods"] == 20
    assert written["patch", "pods"] == 20
    for once_per_gang in ("podcliques", "services", "podgangs/status"):
        assert written["apply", once_per_gang] == 5
    assert written["apply", "podgangs"] == 10, "created, then its references"
    assert written["apply", "podcliques/status"] <= 10
