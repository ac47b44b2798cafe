"""Autoscalers are made, accepted by Kubernetes, and own the sizes of what they scale."""

from typing import Any

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import HPAS, PODS
from tests.core.kit import Object, Onlooker, clique, condition, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

SECONDS = 60.0
METRICS = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
    }
]


def workload(*, replicas: int = 1, **cliques: Any) -> Object:
    """A clique of two to four pods, and a group of one to three copies."""
    bounds = {"minReplicas": 2, "maxReplicas": 4, "metrics": METRICS}
    group = {
        "name": "s",
        "cliqueNames": ["b"],
        "replicas": 1,
        "minAvailable": 1,
        "scaleConfig": {"maxReplicas": 3},
    }
    made = clique("a", 2, minAvailable=1, **{"autoScalingConfig": bounds, **cliques})
    return pcs("w", made, clique("b"), replicas=replicas, podCliqueScalingGroups=[group])


async def apply(person: Onlooker, manifest: Object) -> None:
    """As `kubectl apply --server-side` does."""
    metadata = {**manifest["metadata"], "namespace": person.namespace}
    await person.client.apply(
        SETS, {**manifest, "metadata": metadata}, field_manager="person", into=PartialObject
    )


def size(item: LooseObject | None) -> object:
    return None if item is None else item.spec["replicas"]


async def test_a_second_autoscaler_of_the_same_pods_is_named_until_it_is_deleted(
    core_cluster: Cluster, person: Onlooker
) -> None:
    rival: Object = {
        "apiVersion": HPAS.api_version,
        "kind": HPAS.kind,
        "metadata": {"name": "mine", "namespace": person.namespace},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "PodClique",
                "name": "w-0-a",
            },
            "maxReplicas": 5,
            "metrics": METRICS,
        },
    }

    def stalled() -> str:
        return str(condition(person.get(SETS, "w"), "Stalled").get("message", ""))

    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await apply(person, workload())
        await person.until_ready(3, SECONDS)
        await person.client.create(HPAS, rival, field_manager="person", into=PartialObject)
        await person.until(lambda: f"scaled by {person.namespace}/mine" in stalled(), SECONDS)
        assert stalled().endswith(f"kubectl -n {person.namespace} delete hpa mine")
        assert holds(person.get(SETS, "w"), "Ready")
        await person.delete(person.one(HPAS, "mine"), HPAS)
        await person.until(lambda: not stalled(), SECONDS)


async def test_kubernetes_takes_the_autoscalers_and_obeys_their_bounds(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await apply(person, workload())
        await person.until_ready(3, SECONDS)
        await person.until(lambda: person.names(HPAS) == ["w-0-a", "w-0-s"], SECONDS)
        made = person.one(HPAS, "w-0-a")
        assert made.metadata.labels[names.LABEL_COMPONENT] == names.COMPONENT_HPA
        assert (made.spec["minReplicas"], made.spec["maxReplicas"]) == (2, 4)
        assert made.spec["metrics"] == METRICS
        # Above the upper bound, as somebody might ask for: the real controller takes it back.
        await person.scale(CLIQUES, "w-0-a", 6)
        await person.scale(GROUPS, "w-0-s", 5)
        await person.until(lambda: size(person.get(CLIQUES, "w-0-a")) == 4, SECONDS)
        await person.until(lambda: size(person.get(GROUPS, "w-0-s")) == 3, SECONDS)
        # It found what they scale, and how, though there is nobody who measures anything.
        await person.until(
            lambda: all(holds(found, "AbleToScale") for found in person.all(HPAS)), SECONDS
        )
        # Each copy of the group above its minimum is a gang of its own.
        await person.until_ready(4 + 3, SECONDS)
        await person.until(lambda: person.names(GANGS) == ["w-0", "w-0-s-0", "w-0-s-1"], SECONDS)


async def test_nobody_takes_a_size_back_from_an_autoscaler(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving():
        async with running_operator(core_cluster) as operator:
            await apply(person, workload())
            await person.until_ready(3, SECONDS)
            await person.scale(CLIQUES, "w-0-a", 3)
            await person.scale(GROUPS, "w-0-s", 2)
            await person.until_ready(3 + 2, SECONDS)
            # Neither the same manifest again, nor one that says another size ...
            await apply(person, workload())
            await apply(person, workload(replicas=1))
            other = workload()
            other["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 4
            other["spec"]["template"]["cliques"][0]["annotations"] = {"example.com/a": "b"}
            await apply(person, other)
            await person.until(
                lambda: person.one(CLIQUES, "w-0-a").metadata.annotations.get("example.com/a"),
                SECONDS,
            )
            await operator.until_idle(SECONDS)
            assert size(person.get(CLIQUES, "w-0-a")) == 3
            assert size(person.get(GROUPS, "w-0-s")) == 2
        # ... nor an operator that begins anew, nor making again what was lost.
        known = {"currentReplicas": 3, "desiredReplicas": 3}
        await person.change_status(HPAS, "w-0-a", known)
        await person.change_status(HPAS, "w-0-s", {"currentReplicas": 2, "desiredReplicas": 2})
        async with running_operator(core_cluster) as operator:
            lost = [person.one(CLIQUES, "w-0-a"), person.one(GROUPS, "w-0-s")]
            await person.delete(lost[0], CLIQUES)
            await person.delete(lost[1], GROUPS)
            await person.until(
                lambda: all(
                    found is not None and found.metadata.uid != old.metadata.uid
                    for found, old in (
                        (person.get(CLIQUES, "w-0-a"), lost[0]),
                        (person.get(GROUPS, "w-0-s"), lost[1]),
                    )
                ),
                SECONDS,
            )
            assert size(person.get(CLIQUES, "w-0-a")) == 3
            assert size(person.get(GROUPS, "w-0-s")) == 2
            await person.until_ready(3 + 2, SECONDS)


async def test_an_autoscaler_goes_when_the_template_no_longer_asks_for_it(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(
            {
                "apiVersion": HPAS.api_version,
                "kind": HPAS.kind,
                "metadata": {"name": "mine"},
                "spec": {
                    "scaleTargetRef": {
                        "apiVersion": "apps/v1",
                        "kind": "Deployment",
                        "name": "mine",
                    },
                    "maxReplicas": 2,
                },
            }
        )
        await apply(person, workload(replicas=2))
        named = ["mine", "w-0-a", "w-0-s", "w-1-a", "w-1-s"]
        await person.until(lambda: person.names(HPAS) == named, SECONDS)
        await person.until_ready(6, SECONDS)
        await person.scale(CLIQUES, "w-0-a", 3)
        without = workload(replicas=1)
        del without["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"]
        await apply(person, without)
        await person.until(lambda: person.names(HPAS) == ["mine", "w-0-s"], SECONDS)
        # What it scaled stays as it is.
        await person.until_ready(3 + 1, SECONDS)
        # And one that somebody deletes comes back.
        old = person.one(HPAS, "w-0-s")
        await person.delete(old, HPAS)
        await person.until(
            lambda: (
                (found := person.get(HPAS, "w-0-s")) is not None
                and found.metadata.uid != old.metadata.uid
            ),
            SECONDS,
        )


async def test_scaling_in_takes_the_unready_first_then_the_last(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 4, minAvailable=1)))
        await person.until_ready(4, SECONDS)
        sick = person.pods_of("w-0-a")["2"]
        unready = [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]
        await person.change_status(PODS, sick.metadata.name, {"conditions": unready})
        # The operator has seen it once the PodClique says so.
        await person.until(
            lambda: person.one(CLIQUES, "w-0-a").status.get("readyReplicas") == 3, SECONDS
        )
        await person.scale(CLIQUES, "w-0-a", 3)
        await person.until(lambda: sorted(person.pods_of("w-0-a")) == ["0", "1", "3"], SECONDS)
        await person.scale(CLIQUES, "w-0-a", 2)
        await person.until(lambda: sorted(person.pods_of("w-0-a")) == ["0", "1"], SECONDS)


async def test_an_autoscaler_that_the_server_refuses_holds_no_pod_back(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        wrong = {"maxReplicas": 4, "metrics": [{"type": "Nonsense"}]}
        await apply(person, workload(autoScalingConfig=wrong))
        await person.until_ready(3, SECONDS)
        await person.until(
            lambda: (
                condition(person.get(SETS, "w"), "Stalled").get("reason") == "AutoscalerRefused"
            ),
            SECONDS,
        )
        assert "metrics" in condition(person.get(SETS, "w"), "Stalled")["message"]
        await apply(person, workload())
        await person.until(lambda: "w-0-a" in person.names(HPAS), SECONDS)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"), SECONDS)
