"""Policies, records and annotations that change while a gang goes from one backend to the next."""

import json
from typing import Any

import pytest

from core_operator.plan.walk.steps import HOLD
from core_operator.settings import Backends
from core_operator.state.caches import BACKENDS, CLIQUES, GANGS, POLICIES, SETS
from core_operator.writes import child_writer as children
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Patch
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import CONFIGMAPS, PODS
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    condition,
    gates,
    holds,
    pcs,
    running_operator,
    settings,
)
from tests.core.stand_in import StandIn, programmed
from tests.core.test_placement_crashes import object_of
from tests.core.test_placement_lost import change_policy, is_gated, uid
from tests.core.test_placement_walk import (
    NO_CAPACITY,
    among,
    attempts,
    backend_of,
    create_policy,
    policy,
    refusing,
    selected,
    two,
    workload,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

REFUSED = ("False", "Unsupported", "no queue set")


def handover(gang: LooseObject, tried: str) -> Object:
    """What a gang leaves for its successor when its move has begun."""
    began, until = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
    attempt = {"backend": tried, "from": began, "until": until, "outcome": "Invalid"}
    left = {"gangUid": gang.metadata.uid, "placement": {"attempts": [attempt], "tried": [tried]}}
    return {"metadata": {"annotations": {names.ANNOTATION_HANDOVER: json.dumps(left)}}}


async def test_a_move_that_was_interrupted_ends_when_the_set_names_its_backend(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person, says=lambda gang: None) as (one, _):
        await create_policy(person, among("one", "other"))
        await person.create(workload())
        async with running_operator(core_cluster):
            await person.until(lambda: is_gated(person) and backend_of(person) == "one")
        # The operator stored the move and deleted the pods, and died before it deleted the gang.
        first = uid(person)
        await person.change(CLIQUES, "w-0-a", handover(person.one(GANGS, "w-0"), "one"))
        for pod in person.pods:
            await person.delete(pod, PODS)
        named = {names.ANNOTATION_SCHEDULER_BACKEND: "one"}
        await person.change(SETS, "w", {"metadata": {"annotations": named}})
        one.says = programmed
        async with running_operator(core_cluster):
            await person.until_ready(2)
            assert (uid(person), backend_of(person)) == (first, "one")
            annotations = person.one(CLIQUES, "w-0-a").metadata.annotations or {}
            assert names.ANNOTATION_HANDOVER not in annotations


async def test_attempts_are_kept_while_the_policy_does_not_exist(
    core_cluster: Cluster, person: Onlooker
) -> None:
    first, second = StandIn(person.client, "one"), StandIn(person.client, "other")
    first.says, second.says = refusing(accepted=REFUSED), lambda gang: None
    wish, left = among("one", "other"), [("one", "Invalid"), ("other", None)]
    async with first.serving(), second.serving():
        await create_policy(person, wish)
        await person.create(workload())
        async with running_operator(core_cluster):
            await person.until(lambda: is_gated(person) and attempts(person) == left)
            stored = await person.client.get(POLICIES, "p", person.namespace, into=PartialObject)
            await person.client.delete(POLICIES, "p", person.namespace, uid=stored.metadata.uid)
            await person.until(
                lambda: selected(person).get("reason") == names.REASON_POLICY_NOT_FOUND
            )
        async with running_operator(core_cluster) as operator:
            await operator.until_idle()
            assert (backend_of(person), attempts(person)) == ("other", left)
            await create_policy(person, wish)
            await person.until(lambda: selected(person).get("status") == "True")
            assert (backend_of(person), attempts(person)) == ("other", left)
    for name in ("one", "other"):
        await person.remove_backend(name)


async def test_what_was_tried_is_known_after_a_time_in_which_no_backend_was_left(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person, says=refusing(accepted=REFUSED)):
        await create_policy(person, among("other"))
        await person.create(workload())
        async with running_operator(core_cluster):
            await person.until_ready(2)
        # A move to the next backend has begun, and by now the policy allows none.
        await person.change(CLIQUES, "w-0-a", handover(person.one(GANGS, "w-0"), "one"))
        await change_policy(person.client, person.namespace, among("nobody")["spec"])
        for pod in person.pods:
            await person.delete(pod, PODS)
        await person.delete(person.one(GANGS, "w-0"), GANGS)
        async with running_operator(core_cluster) as operator:
            await person.until(lambda: selected(person).get("reason") == names.REASON_NO_CANDIDATE)
            await operator.until_idle()
            assert attempts(person) == [("one", "Invalid")]
            await change_policy(person.client, person.namespace, among("one", "other")["spec"])
            await person.until_ready(2)
            assert attempts(person) == [("one", "Invalid"), ("other", None)]


async def test_a_gang_starts_when_a_backend_gets_the_labels_that_its_policy_requires(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person), running_operator(core_cluster) as operator:
        own = {"labels": {"tier": "own"}}
        await create_policy(person, policy(candidates={"required": [own]}))
        await person.create(workload())
        await person.until(lambda: selected(person).get("reason") == names.REASON_NO_CANDIDATE)
        await operator.until_idle()
        labelled = Patch({"metadata": own})
        await person.client.patch(BACKENDS, "other", patch=labelled, field_manager="person")
        await person.until_ready(2)
        assert backend_of(person) == "other"


async def test_a_gated_gang_leaves_a_backend_whose_record_is_deleted(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person, says=lambda gang: None) as (one, _), running_operator(core_cluster):
        await create_policy(person, among("one", "other"))
        await person.create(workload())
        await person.until(lambda: is_gated(person) and backend_of(person) == "one")
        await person.remove_backend("one")
        await person.until_ready(2, seconds=HOLD.total_seconds() + 30)
        assert attempts(person) == [("one", "Transient"), ("other", None)]
        await one.register()


async def test_under_locality_scaled_gangs_follow_a_base_gang_that_moved(
    core_cluster: Cluster, person: Onlooker
) -> None:
    def says(gang: LooseObject) -> Any:
        is_base = gang.metadata.name == "w-0"
        return (refusing(programs=NO_CAPACITY) if is_base else programmed)(gang)

    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p"}
    async with two(person, says=says), running_operator(core_cluster) as operator:
        await create_policy(person, among("one", "other", objective="Locality"))
        scaled = pcs(
            "w", clique("a"), clique("b"), annotations=annotations, podCliqueScalingGroups=[group]
        )
        await person.create(scaled)
        await person.until_ready(3)
        assert {pod.metadata.labels[names.LABEL_SCHEDULER_BACKEND] for pod in person.pods} == {
            "other"
        }
        await operator.until_idle()
        assert attempts(person) == [("one", "Capacity"), ("other", None)]
        assert attempts(person, "w-0-s-0")[-1] == ("other", None)


async def test_a_gang_whose_withdrawal_takes_long_names_its_backend_and_no_command_that_forces_it(
    core_cluster: Cluster, person: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LONGEST_TERMINATION", 1.0)

    def writes(gang: LooseObject) -> list[tuple[Any, Object]]:
        ((resource, manifest),) = object_of("one", person.namespace)(gang)
        manifest["metadata"]["finalizers"] = ["example.com/far-side"]
        return [(resource, manifest)]

    says = refusing(programs=NO_CAPACITY)
    async with two(person, says=says, writes=writes), running_operator(core_cluster):
        await create_policy(person, among("one", "other"))
        await person.create(workload())
        await person.until(lambda: holds(person.get(SETS, "w"), "Stalled"))
        told = condition(person.get(SETS, "w"), "Stalled")
        assert told["reason"] == "ChildTerminating"
        assert "backend 'one' has not confirmed that the gang is withdrawn" in told["message"]
        assert "Do not remove finalizers: the gang could run twice" in told["message"]
        assert "kubectl patch" not in told["message"]
        assert all(map(gates, person.pods))
        name = f"one-{uid(person)}"
        freed = Patch({"metadata": {"finalizers": None}})
        await person.client.patch(
            CONFIGMAPS, name, person.namespace, patch=freed, field_manager="person"
        )
        await person.until_ready(2)
        await person.until(lambda: not condition(person.get(SETS, "w"), "Stalled"))
        assert backend_of(person) == "other"


async def test_the_default_policy_is_that_of_sets_that_name_neither_a_policy_nor_a_backend(
    core_cluster: Cluster, person: Onlooker
) -> None:
    ours = Backends(default="one", default_policy=f"{person.namespace}/default-policy")
    async with two(person), running_operator(core_cluster, settings(backends=ours)) as operator:
        await person.create(pcs("w", clique("a")))
        await person.until(lambda: selected(person).get("reason") == names.REASON_POLICY_NOT_FOUND)
        told = selected(person)["message"]
        assert "change core's setting backends.defaultPolicy" in told
        named = {names.ANNOTATION_SCHEDULER_BACKEND: "one"}
        await person.create(pcs("named", clique("a"), annotations=named))
        await create_policy(person, policy("p", candidates={"required": [{"name": "one"}]}))
        await person.create(workload("own", 1))
        await person.until_ready(2)
        await create_policy(
            person, policy("default-policy", candidates={"avoid": [{"name": "one"}]})
        )
        await person.until_ready(3)
        await operator.until_idle()
        assert {gang: backend_of(person, gang) for gang in ("w-0", "named-0", "own-0")} == {
            "w-0": "other",
            "named-0": "one",
            "own-0": "one",
        }
        assert f"PlacementPolicy '{person.namespace}/default-policy'" in selected(person)["message"]


async def test_a_gang_whose_first_podclique_is_scaled_to_zero_remembers_what_it_tried(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person, says=lambda gang: None) as (one, _), running_operator(core_cluster):
        await create_policy(person, among("one", "other"))
        annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p"}
        await person.create(pcs("w", clique("a"), clique("b"), annotations=annotations))
        await person.until(lambda: is_gated(person) and backend_of(person) == "one")
        await person.scale(CLIQUES, "w-0-a", 0)
        await person.until(
            lambda: (
                [group["name"] for group in person.one(GANGS, "w-0").spec["podgroups"]] == ["w-0-b"]
            )
        )
        one.says = refusing(accepted=REFUSED)
        # So that the backend looks at the gang again.
        await person.change(GANGS, "w-0", {"metadata": {"annotations": {"example.com/a": "1"}}})
        await person.until_ready(1)
        assert attempts(person) == [("one", "Invalid"), ("other", None)]
