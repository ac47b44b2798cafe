"""A gang with a placement policy whose backend is down: when it stays, and when it moves on."""

import contextlib
import itertools
from typing import Any

import pytest

from core_operator.plan.walk.steps import ATTEMPTS, HOLD
from core_operator.state.caches import GANGS, POLICIES
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client, Patch
from tests.core.kit import Object, Onlooker, gates, running_operator
from tests.core.stand_in import StandIn
from tests.core.test_placement_crashes import NOBODY, Holders, object_of
from tests.core.test_placement_walk import (
    among,
    attempts,
    backend_of,
    create_policy,
    refusing,
    selected,
    two,
    workload,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(200)]

LATER = HOLD.total_seconds() + 30


async def change_policy(client: Client, namespace: str, spec: Object) -> None:
    patch = Patch({"spec": spec})
    await client.patch(POLICIES, "p", namespace, patch=patch, field_manager="person")


def uid(person: Onlooker) -> str:
    found: str = person.one(GANGS, "w-0").metadata.uid
    return found


def is_gated(person: Onlooker) -> bool:
    return len(person.pods) == 2 and all(map(gates, person.pods))


def is_released(person: Onlooker) -> bool:
    return len(person.pods) == 2 and not any(map(gates, person.pods))


async def test_a_gated_gang_stays_over_a_restart_of_its_backend_and_leaves_one_that_stays_down(
    core_cluster: Cluster, person: Onlooker
) -> None:
    # It says nothing about gangs, so that their pods stay gated.
    async with two(person, says=lambda gang: None) as (one, _), running_operator(core_cluster):
        await create_policy(person, among("one", "other"))
        await person.create(workload())
        await person.until(lambda: is_gated(person) and backend_of(person) == "one")
        first = uid(person)
        for _ in range(2):
            await one.go_down()
            await person.until(lambda: selected(person).get("status") == "False")
            assert selected(person)["reason"] == names.REASON_BACKEND_UNAVAILABLE
            await one.come_back()
            await person.until(lambda: selected(person).get("status") == "True")
        assert (uid(person), attempts(person)) == (first, [("one", None)])
        await one.go_down()
        await person.until_ready(2, seconds=LATER)
        assert attempts(person) == [("one", "Transient"), ("other", None)]
        # It is back, and what runs elsewhere stays there.
        await one.come_back()
        await person.until(lambda: "others: one: " in selected(person)["message"])
        assert backend_of(person) == "other"


async def test_a_released_gang_is_relocated_only_if_its_policy_asks_for_it(
    core_cluster: Cluster, person: Onlooker
) -> None:
    client, space, holders = person.client, person.namespace, Holders()
    one = StandIn(client, "one", preparation=NOBODY, writes=object_of("one", space))
    other = StandIn(client, "other", writes=object_of("other", space))
    async with (
        one.serving(),
        other.serving(),
        holders.watching(client, space),
        running_operator(core_cluster) as operator,
    ):
        await create_policy(person, among("one", "other"))
        await person.create(workload())
        await person.until(lambda: is_released(person))
        before = {pod.metadata.uid for pod in person.pods}
        await one.go_down()
        stays = "its scheduler may have the gang, so it stays"
        await person.until(lambda: stays in selected(person).get("message", ""))
        # What is down does not refuse either.
        await change_policy(client, space, {"admissionTimeout": "1s"})
        await operator.until_idle()
        assert backend_of(person) == "one", "nobody knows whether its scheduler binds it"
        await change_policy(client, space, {"lost": {"after": "1s", "action": "Relocate"}})
        await person.until_ready(2)
        assert attempts(person) == [("one", "Ambiguous"), ("other", None)]
        assert not before & {pod.metadata.uid for pod in person.pods}
        assert holders.together == [], "the objects of a backend that is down went first"
        assert holders.ever == {"one", "other"}
        await one.come_back()
        await person.until(lambda: "others: one: " in selected(person)["message"])
        await operator.until_idle()
        assert backend_of(person) == "other"
        # The cluster adds ConfigMaps of its own.
        labels = [held.metadata.labels for held in holders.cache]
        assert {found["holder"] for found in labels if "holder" in found} == {"other"}
    for name in ("one", "other"):
        await person.remove_backend(name)


async def test_a_gang_with_bound_pods_is_not_relocated(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person) as (one, _), running_operator(core_cluster) as operator:
        lost = {"after": "1s", "action": "Relocate"}
        await create_policy(person, among("one", "other", lost=lost, admissionTimeout="1s"))
        await person.create(workload())
        await person.until_ready(2)
        before = {pod.metadata.uid for pod in person.pods}
        await one.go_down()
        await person.until(lambda: selected(person).get("status") == "False")
        await operator.until_idle()
        assert (backend_of(person), attempts(person)) == ("one", [("one", None)])
        assert {pod.metadata.uid for pod in person.pods} == before


async def test_ten_attempts_are_kept_through_moves_and_a_restart(
    core_cluster: Cluster, person: Onlooker
) -> None:
    listed = [f"b{number:02}" for number in range(ATTEMPTS + 3)]
    *former, last = listed
    says: Any = refusing(accepted=("False", "Unsupported", "no queue set"))
    members = [StandIn(person.client, name, says=says) for name in former]
    async with contextlib.AsyncExitStack() as stack:
        for member in (*members, StandIn(person.client, last)):
            await stack.enter_async_context(member.serving())
        await create_policy(person, among(*listed))
        await person.create(workload())
        async with running_operator(core_cluster):
            await person.until(lambda: len(attempts(person)) > 3)
        async with running_operator(core_cluster):
            await person.until_ready(2, seconds=90)
            expected = [*((name, "Invalid") for name in former), (last, None)][-ATTEMPTS:]
            await person.until(lambda: attempts(person) == expected)
    told = person.one(GANGS, "w-0").status["placement"]["attempts"]
    for one, after in itertools.pairwise(told):
        assert one["until"] <= after["from"], "one after the other"
    for name in listed:
        await person.remove_backend(name)
