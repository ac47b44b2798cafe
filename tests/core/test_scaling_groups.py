"""Scaling groups: base and scaled gangs, with the names, labels and variables of Grove."""

from typing import Any

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.resources import SERVICES
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    condition,
    gates,
    holds,
    is_ready,
    pcs,
    running_operator,
)
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster


def worked_example(**more: Any) -> Object:
    group = {"name": "s", "cliqueNames": ["b", "c"], "replicas": 3, "minAvailable": 1}
    return pcs(
        "w",
        clique("a", 2, minAvailable=1, **more),
        clique("b", 1),
        clique("c", 3, minAvailable=2),
        podCliqueScalingGroups=[group],
    )


async def test_the_worked_example_has_the_objects_that_grove_has(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(worked_example())
        await person.until_ready(14)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        assert person.names(CLIQUES) == [
            "w-0-a",
            *(f"w-0-s-{copy}-{name}" for copy in range(3) for name in "bc"),
        ]
        assert person.names(GROUPS) == ["w-0-s"]
        assert person.names(GANGS) == ["w-0", "w-0-s-0", "w-0-s-1"]
        assert person.names(SERVICES) == ["w-0"]
        groups = {
            gang.metadata.name: [(g["name"], g["minReplicas"]) for g in gang.spec["podgroups"]]
            for gang in person.all(GANGS)
        }
        assert groups == {
            "w-0": [("w-0-a", 1), ("w-0-s-0-b", 1), ("w-0-s-0-c", 2)],
            "w-0-s-0": [("w-0-s-1-b", 1), ("w-0-s-1-c", 2)],
            "w-0-s-1": [("w-0-s-2-b", 1), ("w-0-s-2-c", 2)],
        }
        labels = person.one(CLIQUES, "w-0-s-1-c").metadata.labels
        assert labels[names.LABEL_PODGANG] == "w-0-s-0"
        assert labels[names.LABEL_BASE_PODGANG] == "w-0"
        assert labels[names.LABEL_PCSG] == "w-0-s"
        assert labels[names.LABEL_PCSG_REPLICA_INDEX] == "1"
        pod = person.pods_of("w-0-s-1-c")["2"]
        assert (pod.spec["hostname"], pod.spec["subdomain"]) == ("w-0-s-1-c-2", "w-0")
        assert [variable["name"] for variable in pod.spec["containers"][0]["env"]] == [
            names.ENV_PCS_NAME,
            names.ENV_PCS_INDEX,
            names.ENV_PCLQ_NAME,
            names.ENV_HEADLESS_SERVICE,
            names.ENV_PCLQ_POD_INDEX,
            names.ENV_PCSG_NAME,
            names.ENV_PCSG_TEMPLATE_NUM_PODS,
            names.ENV_PCSG_INDEX,
        ]
        counts = ("replicas", "scheduledReplicas", "availableReplicas")
        await person.until(
            lambda: [person.one(GROUPS, "w-0-s").status.get(field) for field in counts] == [3, 3, 3]
        )
        running = dict.fromkeys(["w-0", "w-0-s-0", "w-0-s-1"], "Running")
        await person.until(
            lambda: (
                {
                    gang["name"]: gang["phase"]
                    for gang in person.one(SETS, "w").status["podGangStatuses"]
                }
                == running
            )
        )


async def test_scaled_gangs_wait_until_the_minimum_of_their_base_gang_is_bound(
    core_cluster: Cluster, person: Onlooker
) -> None:
    unplaceable = {"podSpec": {"nodeSelector": {"example.com/here": "yes"}}}
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster) as operator,
    ):
        await person.create(worked_example(**unplaceable))
        await person.until(
            lambda: condition(person.get(GANGS, "w-0-s-1"), "Released").get("status") == "False"
        )
        waiting = condition(person.get(GANGS, "w-0-s-1"), "Released")
        assert waiting["reason"] == "BaseGangNotScheduled"
        assert waiting["message"].startswith("base gang w-0 is not scheduled: ")
        await person.until(lambda: sum(map(is_ready, person.pods)) == 4)
        await operator.until_idle()
        scaled = [p for p in person.pods if names.LABEL_BASE_PODGANG in p.metadata.labels]
        assert len(scaled) == 8
        assert all(map(gates, scaled))
        core_cluster.kubectl("label", "node", "node-0", "example.com/here=yes")
        try:
            await person.until_ready(14)
        finally:
            core_cluster.kubectl("label", "node", "node-0", "example.com/here-")
