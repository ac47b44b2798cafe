"""Pods are recreated when what they were made with is no longer right, unless they have a node."""

import functools

import pytest

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject
from tests.core.kit import Object, Onlooker, clique, gates, holds, is_ready, pcs, running_operator
from tests.core.stand_in import GATE, StandIn, programmed

pytestmark = pytest.mark.cluster

WITH_UID = {"mode": "Static", "members": {"annotations": {"example.com/of": "{gangUID}"}}}


def silent(gang: LooseObject) -> None:
    """What a backend says that has not begun."""
    del gang


def for_gangs_of(prefix: str, gang: LooseObject) -> Object | None:
    """Program the gangs whose names begin so, and no others."""
    return programmed(gang) if gang.metadata.name.startswith(prefix) else None


def uids(person: Onlooker, podclique: str) -> set[str]:
    return {pod.metadata.uid for pod in person.pods_of(podclique).values()}


async def test_held_pods_follow_a_gang_that_somebody_deleted(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with running_operator(core_cluster):
        quiet = StandIn(person.client, "default", says=silent, preparation=WITH_UID)
        async with quiet.serving():
            await person.create(pcs("w", clique("a", 2)))
            await person.until(lambda: holds(person.get(GANGS, "w-0"), names.CONDITION_INITIALIZED))
            first = person.one(GANGS, "w-0")
            before = uids(person, "w-0-a")
            await person.delete(first, GANGS)

            def is_made_anew() -> bool:
                gang = person.get(GANGS, "w-0")
                told = {pod.metadata.annotations["example.com/of"] for pod in person.pods}
                return (
                    gang is not None
                    and gang.metadata.uid != first.metadata.uid
                    and holds(gang, names.CONDITION_INITIALIZED)
                    and told == {gang.metadata.uid}
                )

            await person.until(is_made_anew)
            assert not before & uids(person, "w-0-a")
            assert [gates(pod) for pod in person.pods] == [[GATE], [GATE]]
            assert len(person.history) == 4, "each was recreated once"
        async with StandIn(person.client, "default", preparation=WITH_UID).serving():
            await person.until_ready(2)
            assert len(person.history) == 4


async def test_released_pods_without_a_node_follow_a_gang_that_somebody_deleted(
    core_cluster: Cluster, person: Onlooker
) -> None:
    nowhere = {"nodeSelector": {"example.com/no": "where"}}
    backend = StandIn(person.client, "default", preparation=WITH_UID)
    async with backend.serving(), running_operator(core_cluster) as operator:
        await person.create(pcs("w", clique("a", 2), clique("b", 1, podSpec=nowhere)))
        await person.until(lambda: person.pods and not any(map(gates, person.pods)))
        await person.until(lambda: sum(map(is_ready, person.pods)) == 2)
        first, runs, waits = person.one(GANGS, "w-0"), uids(person, "w-0-a"), uids(person, "w-0-b")
        await person.delete(first, GANGS)

        def is_released_again() -> bool:
            gang, pods = person.get(GANGS, "w-0"), person.pods_of("w-0-b").values()
            return (
                gang is not None
                and gang.metadata.uid != first.metadata.uid
                and [pod.metadata.annotations["example.com/of"] for pod in pods]
                == [gang.metadata.uid]
                and not any(map(gates, pods))
            )

        await person.until(is_released_again)
        await operator.until_idle()
        assert uids(person, "w-0-a") == runs, "what runs stays"
        assert not waits & uids(person, "w-0-b")
        assert len(person.history) == 4


async def test_running_pods_stay_when_somebody_deletes_their_gang(
    core_cluster: Cluster, person: Onlooker
) -> None:
    backend = StandIn(person.client, "default", preparation=WITH_UID)
    async with backend.serving(), running_operator(core_cluster) as operator:
        await person.create(pcs("w", clique("a", 2)))
        await person.until_ready(2)
        first, before = person.one(GANGS, "w-0"), uids(person, "w-0-a")
        await person.delete(first, GANGS)
        await person.until(
            lambda: (
                (gang := person.get(GANGS, "w-0")) is not None
                and gang.metadata.uid != first.metadata.uid
                and holds(gang, names.CONDITION_INITIALIZED)
            )
        )
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await operator.until_idle()
        assert uids(person, "w-0-a") == before
        assert len(person.history) == 2


async def test_held_pods_follow_a_record_that_says_other_things_and_released_ones_do_not(
    core_cluster: Cluster, person: Onlooker
) -> None:
    # As of a backend that finds its scheduler's API only after it has registered. Of the one
    # gang two pods are released and wait for a node, and one is held until they have it.
    rules = {"surplus": "AfterScheduled"}
    nowhere = {"nodeSelector": {"example.com/no": "where"}}
    says = functools.partial(for_gangs_of, "begun")
    async with running_operator(core_cluster) as operator:
        async with StandIn(person.client, "default", says=says, release=rules).serving():
            await person.create(pcs("begun", clique("a", 3, minAvailable=2, podSpec=nowhere)))
            await person.create(pcs("waits", clique("a", 2)))
            await person.until(
                lambda: (
                    sum(not gates(pod) for pod in person.pods_of("begun-0-a").values()) == 2
                    and holds(person.get(GANGS, "waits-0"), names.CONDITION_INITIALIZED)
                    and len(person.pods) == 5
                )
            )
        stay = {i: person.pods_of("begun-0-a")[i].metadata.uid for i in ("0", "1")}
        go = uids(person, "waits-0-a") | {person.pods_of("begun-0-a")["2"].metadata.uid}
        found = {"mode": "Static", "members": {"spec": {"schedulerName": "late-scheduler"}}}
        late = StandIn(person.client, "default", says=says, release=rules, preparation=found)
        async with late.serving():

            def made_late() -> int:
                return sum(pod.spec["schedulerName"] == "late-scheduler" for pod in person.pods)

            await person.until(
                lambda: (
                    made_late() == 3
                    and len(person.pods) == 5
                    and holds(person.get(GANGS, "waits-0"), names.CONDITION_INITIALIZED)
                )
            )
            await operator.until_idle()
            assert not go & {pod.metadata.uid for pod in person.pods}
            assert {i: person.pods_of("begun-0-a")[i].metadata.uid for i in stay} == stay
            assert len(person.history) == 8
