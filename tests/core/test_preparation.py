"""Pods are prepared as the record says, held by one gate of ours, and released by its rules."""

import pytest

from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
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
from tests.core.stand_in import GATE, StandIn, programmed

pytestmark = pytest.mark.cluster


def static(**patch: Object) -> Object:
    return {"mode": "Static", "members": patch}


async def test_members_and_surplus_get_what_the_record_names(
    core_cluster: Cluster, person: Onlooker
) -> None:
    preparation = {
        "mode": "Static",
        "members": {
            "labels": {"example.com/gang": "{gang}", "example.com/index": "{index}"},
            "annotations": {"example.com/json": '{"of":"{group}","uid":"{gangUID}"}'},
        },
        "surplus": {"labels": {"example.com/extra": "yes"}},
    }
    backend = StandIn(person.client, "default", preparation=preparation)
    async with backend.serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 3, minAvailable=2)))
        await person.until_ready(3)
        pods = person.pods_of("w-0-a")
        uid = person.one(GANGS, "w-0").metadata.uid
        for index in ("0", "1"):
            labels, annotations = pods[index].metadata.labels, pods[index].metadata.annotations
            assert (labels["example.com/gang"], labels["example.com/index"]) == ("w-0", index)
            assert annotations["example.com/json"] == f'{{"of":"w-0-a","uid":"{uid}"}}'
        assert pods["2"].metadata.labels["example.com/extra"] == "yes"
        assert "example.com/gang" not in pods["2"].metadata.labels


async def test_pods_wait_for_what_the_backend_publishes_for_their_gang(
    core_cluster: Cluster, person: Onlooker
) -> None:
    published = False

    def says(gang: LooseObject) -> Object | None:
        if not published:
            return None
        groups = [group["name"] for group in gang.spec["podgroups"]]
        patch = {"annotations": {"example.com/task-groups": "{group}:{index}"}}
        return {
            **programmed(gang),
            "podPreparations": [{"name": name, "members": patch} for name in groups],
        }

    preparation = {"mode": "PerGang"}
    async with running_operator(core_cluster):
        quiet = StandIn(person.client, "default", says=says, preparation=preparation)
        async with quiet.serving():
            await person.create(pcs("w", clique("a", 2)))
            await person.until(
                lambda: condition(person.get(GANGS, "w-0"), "Initialized").get("status") == "False"
            )
            assert person.pods == []
        published = True
        async with StandIn(person.client, "default", says=says, preparation=preparation).serving():
            await person.until_ready(2)
        told = {pod.metadata.annotations["example.com/task-groups"] for pod in person.pods}
        assert told == {"w-0-a:0", "w-0-a:1"}


async def test_gates_of_others_are_left_alone(core_cluster: Cluster, person: Onlooker) -> None:
    foreign = {"schedulingGates": [{"name": "example.com/theirs"}]}
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, podSpec=foreign)))
        await person.until(
            lambda: len(person.pods) == 2 and not any(GATE in gates(p) for p in person.pods)
        )
        assert [gates(pod) for pod in person.pods] == [["example.com/theirs"]] * 2
        await person.until(
            lambda: (
                "gated by example.com/theirs"
                in condition(person.get(SETS, "w"), "Ready").get("message", "")
            )
        )
        for pod in person.pods:
            await person.change(PODS, pod.metadata.name, {"spec": {"schedulingGates": None}})
        await person.until_ready(2)


async def test_a_field_that_the_server_does_not_know_is_reported_with_its_name(
    core_cluster: Cluster, person: Onlooker
) -> None:
    # The server knows workloadRef of Kubernetes 1.35 no more.
    unknown = static(spec={"workloadRef": {"name": "{gang}", "podGroup": "{group}"}})
    backend = StandIn(person.client, "default", preparation=unknown)
    async with backend.serving(), running_operator(core_cluster) as operator:
        await person.create(pcs("w", clique("a", 2)))
        await person.until(lambda: holds(person.get(CLIQUES, "w-0-a"), "Stalled"))
        told = condition(person.get(CLIQUES, "w-0-a"), "Stalled")
        assert told["reason"] == "PodsRefused"
        assert "workloadRef" in told["message"]
        await person.until_event("w-0-a", told["reason"])
        assert person.pods == []
        assert operator.writes.seen["post", PODS.plural] == 0


async def test_surplus_waits_for_the_minimum_where_the_record_requires_it(
    core_cluster: Cluster, person: Onlooker
) -> None:
    rules = {"surplus": "AfterScheduled"}
    nowhere = {"nodeSelector": {"example.com/site": "yes"}}
    backend = StandIn(person.client, "default", release=rules)
    async with backend.serving(), running_operator(core_cluster) as operator:
        await person.create(pcs("w", clique("a", 3, minAvailable=2, podSpec=nowhere)))
        await person.until(lambda: sum(not gates(pod) for pod in person.pods) == 2)
        await operator.until_idle()
        assert gates(person.pods_of("w-0-a")["2"]) == [GATE]
        core_cluster.kubectl("label", "node", "node-1", "example.com/site=yes")
        try:
            await person.until_ready(3)
        finally:
            core_cluster.kubectl("label", "node", "node-1", "example.com/site-")


async def test_a_pod_that_the_server_refuses_is_reported_with_its_message(
    core_cluster: Cluster, person: Onlooker
) -> None:
    broken = {"restartPolicy": "Sometimes"}
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, podSpec=broken)))
        await person.until(
            lambda: (
                condition(person.get(SETS, "w"), "Stalled").get("status") == "True"
                or condition(person.get(CLIQUES, "w-0-a"), "Stalled").get("status") == "True"
            )
        )
        told = condition(person.get(CLIQUES, "w-0-a"), "Stalled")
        assert "restartPolicy" in told["message"]
        fixed = pcs("w", clique("a", 2))
        await person.change(SETS, "w", {"spec": fixed["spec"]})
        await person.until(lambda: len(person.pods) == 2 and all(map(is_ready, person.pods)))


async def test_pods_and_gang_have_the_priority_class_of_their_set(
    core_cluster: Cluster, person: Onlooker
) -> None:
    high, low = f"high-{person.namespace}", f"low-{person.namespace}"
    for name, value in ((high, "1000"), (low, "10")):
        core_cluster.kubectl("create", "priorityclass", name, f"--value={value}")
    group = {"name": "s", "cliqueNames": ["b"]}
    try:
        async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
            cliques = (clique("a"), clique("b", podSpec={"priorityClassName": low}))
            workload = pcs("w", *cliques, priorityClassName=high, podCliqueScalingGroups=[group])
            await person.create(workload)
            await person.until_ready(2)
            assert {pod.spec["priorityClassName"] for pod in person.pods} == {high}
            assert {pod.spec["priority"] for pod in person.pods} == {1000}
            assert person.one(GANGS, "w-0").spec["priorityClassName"] == high
    finally:
        core_cluster.kubectl("delete", "priorityclass", high, low)
