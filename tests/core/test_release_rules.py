"""The release rules of a record are followed exactly, whichever record has them."""

import asyncio
from collections.abc import Iterator

import pytest

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
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

PLACE = "example.com/place"
SOMEWHERE = {"nodeSelector": {PLACE: "yes"}}


class Place:
    """A label that makes a node fit for pods which ask for it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def open(self) -> None:
        await asyncio.to_thread(self._label, f"{PLACE}=yes")

    def close(self) -> None:
        self._label(f"{PLACE}-")

    def _label(self, change: str) -> None:
        self._cluster.kubectl("label", "--overwrite", "node", "node-6", change)


@pytest.fixture
def place(core_cluster: Cluster) -> Iterator[Place]:
    place = Place(core_cluster)
    yield place
    place.close()


def accepted(gang: LooseObject) -> Object:
    """What a backend says that programs its scheduler only after the release."""
    status = programmed(gang)
    kept = [c for c in status["conditions"] if c["type"] == names.CONDITION_ACCEPTED]
    return {"conditions": kept}


async def test_where_programs_come_after_the_release_acceptance_is_enough(
    core_cluster: Cluster, person: Onlooker
) -> None:
    rules = {"programs": "AfterRelease"}
    async with running_operator(core_cluster) as operator:
        undecided = StandIn(person.client, "default", says=lambda gang: None, release=rules)
        async with undecided.serving():
            await person.create(pcs("w", clique("a", 2)))
            await person.until(lambda: holds(person.get(GANGS, "w-0"), names.CONDITION_INITIALIZED))
            await operator.until_idle()
            assert [gates(pod) for pod in person.pods] == [[GATE], [GATE]]
            told = condition(person.get(SETS, "w"), "Ready")["message"]
            assert "gang w-0: 2/2 pods gated" in told
        async with StandIn(person.client, "default", says=accepted, release=rules).serving():
            await person.until_ready(2)
            assert not condition(person.get(GANGS, "w-0"), names.CONDITION_PROGRAMMED)


async def test_where_programs_come_before_the_release_acceptance_is_not_enough(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with running_operator(core_cluster) as operator:
        async with StandIn(person.client, "default", says=accepted).serving():
            await person.create(pcs("w", clique("a", 2)))
            await person.until(
                lambda: (
                    holds(person.get(GANGS, "w-0"), names.CONDITION_INITIALIZED)
                    and holds(person.get(GANGS, "w-0"), names.CONDITION_ACCEPTED)
                )
            )
            await operator.until_idle()
            assert [gates(pod) for pod in person.pods] == [[GATE], [GATE]]
        async with StandIn(person.client, "default").serving():
            await person.until_ready(2)


async def test_a_gang_that_loses_a_member_before_it_is_scheduled_is_recreated_where_required(
    core_cluster: Cluster, person: Onlooker, place: Place
) -> None:
    rules = {"memberLost": "RecreateGang"}
    async with (
        StandIn(person.client, "default", release=rules).serving(),
        running_operator(core_cluster),
    ):
        await person.create(pcs("w", clique("a", 3, minAvailable=2, podSpec=SOMEWHERE)))
        await person.until(
            lambda: (
                holds(person.get(GANGS, "w-0"), names.CONDITION_RELEASED)
                and len(person.pods) == 3
                and not any(map(gates, person.pods))
            )
        )
        before = {index: pod.metadata.uid for index, pod in person.pods_of("w-0-a").items()}
        await person.delete(person.pods_of("w-0-a")["1"], PODS)

        def members_are_new() -> bool:
            now = person.pods_of("w-0-a")
            fresh = [i for i in ("0", "1") if i in now and now[i].metadata.uid != before[i]]
            return fresh == ["0", "1"] and not any(map(gates, now.values()))

        await person.until(members_are_new)
        assert person.pods_of("w-0-a")["2"].metadata.uid == before["2"], "surplus is no member"
        await place.open()
        await person.until_ready(3)
        # Placed: from now on a lost member is replaced, and nothing else.
        placed = {index: pod.metadata.uid for index, pod in person.pods_of("w-0-a").items()}
        await person.delete(person.pods_of("w-0-a")["0"], PODS)
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("0")) is not None
                and pod.metadata.uid != placed["0"]
                and is_ready(pod)
            )
        )
        now = {index: pod.metadata.uid for index, pod in person.pods_of("w-0-a").items()}
        assert (now["1"], now["2"]) == (placed["1"], placed["2"])


async def test_members_that_are_recreated_are_distinguished_from_the_former_ones(
    core_cluster: Cluster, person: Onlooker, place: Place
) -> None:
    app = "example.com/app"
    backend = StandIn(
        person.client,
        "default",
        preparation={"mode": "Static", "members": {"labels": {app: "{gang}-{incarnation}"}}},
        release={"memberLost": "RecreateGang"},
    )

    def apps() -> list[str]:
        return sorted(pod.metadata.labels[app] for pod in person.pods if not gates(pod))

    def is_counted(times: int) -> bool:
        gang = person.get(GANGS, "w-0")
        counted = gang.status.get("incarnation", 0) if gang is not None else 0
        return counted == times and apps() == [f"w-0-{times}"] * 2

    async with backend.serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, podSpec=SOMEWHERE)))
        await person.until(lambda: is_counted(0))
        await person.until(lambda: holds(person.get(GANGS, "w-0"), names.CONDITION_RELEASED))
        await person.delete(person.pods_of("w-0-a")["0"], PODS)
        await person.until(lambda: is_counted(1))
        await place.open()
        await person.until_ready(2)
        # One of two is lost: its scheduler still has the other, and the gang is no new one.
        lost = person.pods_of("w-0-a")["0"]
        await person.delete(lost, PODS)
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("0")) is not None
                and pod.metadata.uid != lost.metadata.uid
                and is_ready(pod)
            )
        )
        assert is_counted(1)
        # One after the other: when the second goes, the first one's successor waits by itself.
        await asyncio.to_thread(place.close)
        lost = person.pods_of("w-0-a")["0"]
        await person.delete(lost, PODS)
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("0")) is not None
                and pod.metadata.uid != lost.metadata.uid
                and not gates(pod)
            )
        )
        await person.delete(person.pods_of("w-0-a")["1"], PODS)
        await person.until(lambda: is_counted(2))
        await place.open()
        await person.until_ready(2)
        assert is_counted(2)


async def test_a_lost_member_is_only_replaced_where_nothing_else_is_required(
    core_cluster: Cluster, person: Onlooker, place: Place
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, podSpec=SOMEWHERE)))
        await person.until(lambda: len(person.pods) == 2 and not any(map(gates, person.pods)))
        before = {index: pod.metadata.uid for index, pod in person.pods_of("w-0-a").items()}
        await person.delete(person.pods_of("w-0-a")["1"], PODS)
        await place.open()
        await person.until(
            lambda: (
                (pod := person.pods_of("w-0-a").get("1")) is not None
                and pod.metadata.uid != before["1"]
            )
        )
        await person.until_ready(2)
        assert person.pods_of("w-0-a")["0"].metadata.uid == before["0"]


async def test_annotations_go_from_members_once_they_are_bound(
    core_cluster: Cluster, person: Onlooker, place: Place
) -> None:
    tasks, kept = "example.com/tasks", "example.com/kept"
    patch = {"annotations": {tasks: "{gang}", kept: "{gang}"}}
    backend = StandIn(
        person.client,
        "default",
        preparation={"mode": "Static", "members": patch, "surplus": patch},
        release={"afterBound": {"dropAnnotations": [tasks]}},
    )
    async with backend.serving(), running_operator(core_cluster) as operator:
        await person.create(pcs("w", clique("a", 3, minAvailable=2, podSpec=SOMEWHERE)))
        await person.until(lambda: len(person.pods) == 3 and not any(map(gates, person.pods)))
        await operator.until_idle()
        assert all(tasks in pod.metadata.annotations for pod in person.pods), "none is bound yet"
        await place.open()
        await person.until_ready(3)
        await person.until(
            lambda: (
                [tasks in person.pods_of("w-0-a")[i].metadata.annotations for i in "012"]
                == [False, False, True]
            )
        )
        assert all(pod.metadata.annotations[kept] == "w-0" for pod in person.pods)
