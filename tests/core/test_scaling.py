"""Scaling sets, scaling groups and PodCliques through their scale subresource, up and down."""

import asyncio

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from local_cluster.components import CONTROLLER_MANAGER
from local_cluster.simulation.stages import NEVER, TERMINATES_AFTER
from shared_api import names
from shared_api.kube.resources import PODS, SERVICES
from tests.core.kit import Onlooker, clique, holds, is_ready, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster


async def test_a_set_is_scaled_up_and_down(core_cluster: Cluster, person: Onlooker) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2)))
        await person.until_ready(2)
        first = {pod.metadata.uid for pod in person.pods}
        await person.scale(SETS, "w", 3)
        await person.until_ready(6)
        assert person.names(GANGS) == ["w-0", "w-1", "w-2"]
        await person.scale(SETS, "w", 1)
        await person.until(lambda: len(person.pods) == 2)
        assert {pod.metadata.uid for pod in person.pods} == first
        left = (CLIQUES, GANGS, SERVICES)
        await person.until(lambda: [len(person.names(kind)) for kind in left] == [1, 1, 1])
        await person.until(lambda: person.one(SETS, "w").status.get("availableReplicas") == 1)


async def test_the_pods_of_replicas_that_go_do_not_wait_for_the_garbage_collector(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    workload = pcs("w", clique("a", 2), clique("b"), replicas=2, podCliqueScalingGroups=[group])
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(workload)
        await person.until_ready(8)
        await op.until_idle()
        control = core_cluster.control
        await asyncio.to_thread(control.stop, CONTROLLER_MANAGER)
        try:
            await person.scale(GROUPS, "w-0-s", 1)
            await person.scale(SETS, "w", 1)
            await person.until(lambda: not person.pods_of("w-0-s-1-b"))
            await person.until(lambda: not person.pods_of("w-1-a"))
        finally:
            await asyncio.to_thread(control.resume, CONTROLLER_MANAGER)
        await person.until(lambda: len(person.pods) == 3)
        assert len(person.history) == 8, "none of them was replaced"
        assert not op.total("grove_pods_lost_total")


async def test_a_podclique_keeps_indexes_and_members_when_it_is_scaled(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, minAvailable=2)))
        await person.until_ready(2)
        members = {index: pod.metadata.uid for index, pod in person.pods_of("w-0-a").items()}
        await person.scale(CLIQUES, "w-0-a", 5)
        await person.until_ready(5)
        assert sorted(person.pods_of("w-0-a")) == ["0", "1", "2", "3", "4"]
        references = person.one(GANGS, "w-0").spec["podgroups"][0]["podReferences"]
        assert len(references) == 5
        await person.scale(CLIQUES, "w-0-a", 2)
        await person.until(lambda: len(person.pods) == 2)
        kept = {index: pod.metadata.uid for index, pod in person.pods_of("w-0-a").items()}
        assert kept == members
        # The client that scaled it owns the size: the set does not reset it.
        await person.change(SETS, "w", {"metadata": {"annotations": {"example.com/a": "b"}}})
        await person.until(
            lambda: len(person.one(GANGS, "w-0").spec["podgroups"][0]["podReferences"]) == 2
        )
        assert person.one(CLIQUES, "w-0-a").spec["replicas"] == 2


async def test_a_scaling_group_is_scaled_up_and_down(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["a"], "replicas": 1, "minAvailable": 1}
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2), podCliqueScalingGroups=[group]))
        await person.until_ready(2)
        await person.scale(GROUPS, "w-0-s", 3)
        await person.until_ready(6)
        assert person.names(GANGS) == ["w-0", "w-0-s-0", "w-0-s-1"]
        await person.until(lambda: person.one(GROUPS, "w-0-s").status.get("availableReplicas") == 3)
        await person.scale(GROUPS, "w-0-s", 2)
        await person.until(lambda: person.names(GANGS) == ["w-0", "w-0-s-0"])
        await person.until(lambda: person.names(CLIQUES) == ["w-0-s-0-a", "w-0-s-1-a"])
        await person.until(lambda: len(person.pods) == 4)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))


async def test_a_failed_pod_is_replaced_with_the_same_index(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 3)))
        await person.until_ready(3)
        failed = person.pods_of("w-0-a")["1"]
        evicted = {
            "phase": "Failed",
            "reason": "Evicted",
            "conditions": [],
            "containerStatuses": [],
        }
        await person.change_status(PODS, failed.metadata.name, evicted)
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("1")) is not None
                and pod.metadata.uid != failed.metadata.uid
            )
        )
        await person.until_ready(3)
        assert len(person.history) == 4
        references = person.one(GANGS, "w-0").spec["podgroups"][0]["podReferences"]
        assert [ref["name"] for ref in references] == [pod.metadata.name for pod in person.pods]


async def test_a_deleted_pod_is_replaced_while_it_still_terminates(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        workload = pcs("w", clique("a", 2, podSpec={"terminationGracePeriodSeconds": 60}))
        workload["spec"]["template"]["cliques"][0]["annotations"] = {TERMINATES_AFTER: NEVER}
        await person.create(workload)
        await person.until_ready(2)
        going = person.pods_of("w-0-a")["0"]
        await person.delete(going, PODS)
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("0")) is not None
                and pod.metadata.uid != going.metadata.uid
                and is_ready(pod)
            )
        )
        still_there = person.one(PODS, going.metadata.name)
        assert still_there.metadata.is_terminating
        assert person.pods_of("w-0-a")["0"].metadata.labels[names.LABEL_POD_INDEX] == "0"
