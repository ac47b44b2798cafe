"""Which backend a gang is given to, and how people learn that none will do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import ObjectKey
from tests.core.kit import (
    Object,
    Onlooker,
    Operator,
    clique,
    condition,
    gates,
    holds,
    pcs,
    running_operator,
)
from tests.core.stand_in import Heart, StandIn

pytestmark = pytest.mark.cluster


def asking_for(*backends: str) -> Object:
    annotation = {names.ANNOTATION_SCHEDULER_BACKEND: ",".join(backends)}
    return pcs("w", clique("a", 2), annotations=annotation)


def blocked(operator: Operator, reason: str) -> float:
    return operator.metric("grove_gangs_blocked", reason=reason)


async def until_told(person: Onlooker, operator: Operator, reason: str) -> str:
    """The reason is a condition of the gang and of the set, a metric and an event; its text."""

    def is_told() -> bool:
        gang = condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED)
        whole = condition(person.get(SETS, "w"), "Ready")
        return (gang.get("status"), gang.get("reason")) == ("False", reason) and whole.get(
            "reason"
        ) == reason

    await person.until(is_told, seconds=10)
    assert blocked(operator, reason) == 1
    await person.until_event("w", reason)
    message = condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED)["message"]
    assert message in condition(person.get(SETS, "w"), "Ready")["message"]
    return str(message)


async def test_an_unknown_backend_is_named_with_those_that_are_known(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster) as operator,
    ):
        await person.create(asking_for("foo"))
        message = await until_told(person, operator, names.REASON_BACKEND_UNKNOWN)
        assert message.startswith("no backend 'foo'; known: ")
        assert "default" in message
        assert person.pods == []
        async with StandIn(person.client, "foo").serving():
            await person.until_ready(2, seconds=10)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
            assert blocked(operator, names.REASON_BACKEND_UNKNOWN) == 0
        await person.remove_backend("foo")


async def test_cliques_that_name_different_schedulers_are_refused_with_their_names(
    person: Onlooker,
) -> None:
    one, other = ({"schedulerName": f"{name}-scheduler"} for name in ("one", "other"))
    refused = await person.refusal(pcs("w", clique("a", podSpec=one), clique("b", podSpec=other)))
    assert (
        "spec.template.cliques: Invalid value: the schedulerName for all pods have to be the same,"
        ' or empty; found: ["one-scheduler", "other-scheduler"]'
    ) in refused


async def test_a_clique_that_names_no_scheduler_goes_with_the_others(
    core_cluster: Cluster, person: Onlooker
) -> None:
    really = {"spec": {"schedulerName": "default-scheduler"}}
    preparation = {"mode": "Static", "members": really}
    named = StandIn(person.client, "named", preparation=preparation)
    async with named.serving(), running_operator(core_cluster):
        spec = {"schedulerName": "named-scheduler"}
        await person.create(pcs("w", clique("a", podSpec=spec), clique("b")))
        await person.until_ready(2)
        said = condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED)
        assert said["message"] == "backend 'named' by schedulerName 'named-scheduler'"
    await person.remove_backend("named")


async def test_a_backend_that_may_schedule_pod_by_pod_takes_a_gang_and_reports_it(
    core_cluster: Cluster, person: Onlooker
) -> None:
    plain = [names.CAPABILITY_PLAIN_SCHEDULING]
    async with (
        StandIn(person.client, "lax", capabilities=plain).serving(),
        running_operator(core_cluster),
    ):
        await person.create(asking_for("lax"))
        await person.until_ready(2)
        said = condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED)
        assert "it schedules pod by pod, so a gang is not guaranteed" in said["message"]
        assert "not guaranteed" in await person.until_event("w", names.REASON_SELECTED)
    await person.remove_backend("lax")


async def test_a_backend_that_cannot_do_what_is_needed_is_not_given_the_gang(
    core_cluster: Cluster, person: Onlooker
) -> None:
    weak = StandIn(person.client, "weak", capabilities=["Priority"])
    async with weak.serving(), running_operator(core_cluster) as operator:
        await person.create(asking_for("weak"))
        message = await until_told(person, operator, names.REASON_UNSUPPORTED)
        assert message == "backend 'weak' does not support: Gang"
        await operator.until_idle()
        assert len(person.pods) == 2
        assert all(map(gates, person.pods)), "programmed or not, it is not released"
    await person.remove_backend("weak")


async def test_a_silent_backend_is_unavailable_within_ten_seconds_and_back_as_fast(
    core_cluster: Cluster, person: Onlooker
) -> None:
    heart = Heart(person.client, ObjectKey(person.namespace, "heart"), seconds=2)
    await heart.start()
    lease = {"namespace": person.namespace, "name": "heart"}
    backend = StandIn(person.client, "mortal", lease=lease)
    await backend.register()
    async with running_operator(core_cluster) as operator:
        await person.create(asking_for("mortal"))
        message = await until_told(person, operator, names.REASON_BACKEND_UNAVAILABLE)
        assert message == (
            f"backend 'mortal' is down: its Lease {person.namespace}/heart"
            f" was not renewed for 2 s. Start it: kubectl -n {person.namespace} scale deployment"
            " heart --replicas=2"
        )
        assert not await person.backend_holds("mortal", names.CONDITION_AVAILABLE)
        await person.until(lambda: len(person.pods) == 2, seconds=10)
        await operator.until_idle()
        assert all(map(gates, person.pods)), "nothing is lost, and nothing is released"
        async with backend.serving():
            await heart.beat()
            await person.until(
                lambda: holds(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED),
                seconds=2,
            )
            await person.until_ready(2)
        await heart.give_back()
        await person.until(
            lambda: not holds(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED), seconds=2
        )
        await person.until_ready(2)
    await person.remove_backend("mortal")


async def test_a_gang_that_is_not_released_moves_down_the_list_and_a_released_one_never(
    core_cluster: Cluster, person: Onlooker
) -> None:
    hearts = {
        name: Heart(person.client, ObjectKey(person.namespace, name), seconds=60)
        for name in ("first", "second")
    }
    for heart in hearts.values():
        await heart.start()

    def backend(name: str, gate: str) -> StandIn:
        lease = {"namespace": person.namespace, "name": name}
        labels = {"example.com/prepared-by": name}
        preparation = {"mode": "Static", "members": {"labels": labels}}
        return StandIn(
            person.client, name, lease=lease, schedulingGate=gate, preparation=preparation
        )

    first, second = backend("first", "example.com/one"), backend("second", "example.com/two")
    # The first has registered, but programs nothing: its gang waits, held.
    await first.register()
    async with second.serving(), running_operator(core_cluster) as operator:
        await person.create(asking_for("first", "second"))
        await person.until(lambda: [gates(pod) for pod in person.pods] == [["example.com/one"]] * 2)
        before = person.one(GANGS, "w-0").metadata.uid
        await hearts["first"].give_back()
        await person.until_ready(2)
        gang = person.one(GANGS, "w-0")
        assert gang.metadata.uid != before, "nothing of the first backend is left on it"
        assert gang.metadata.labels[names.LABEL_SCHEDULER_BACKEND] == "second"
        prepared = [pod.metadata.labels["example.com/prepared-by"] for pod in person.pods]
        assert prepared == ["second", "second"]
        said = condition(gang, names.CONDITION_BACKEND_SELECTED)
        assert "passed over: backend 'first' is down" in said["message"]
        await person.until_event("w", "BackendMoved")
        assert operator.metric("grove_gangs_moved_total") == 1
        # Released: it stays, though the first one is back and the second one gone.
        uids = {pod.metadata.uid for pod in person.pods}
        await hearts["first"].beat()
        await hearts["second"].give_back()
        await person.until(
            lambda: (
                condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED)["reason"]
                == names.REASON_BACKEND_UNAVAILABLE
            )
        )
        assert person.one(GANGS, "w-0").metadata.uid == gang.metadata.uid
        assert {pod.metadata.uid for pod in person.pods} == uids
    await person.remove_backend("first")
    await person.remove_backend("second")


@asynccontextmanager
async def released_on_the_second(cluster: Cluster, person: Onlooker) -> AsyncIterator[None]:
    """A gang that runs by its second choice, while its first one is there by now."""
    gates_ = {name: f"example.com/{name}" for name in ("first", "second")}
    first, second = (StandIn(person.client, name, schedulingGate=g) for name, g in gates_.items())
    async with second.serving(), running_operator(cluster):
        await person.create(asking_for("first", "second"))
        await person.until_ready(2)
        async with first.serving():
            await person.until(lambda: said_of_backend(person).endswith("pods were released"))
            yield
    await person.remove_backend("first")
    await person.remove_backend("second")


def said_of_backend(person: Onlooker) -> str:
    return str(
        condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED).get("message", "")
    )


def backend_of(item: LooseObject) -> str | None:
    return item.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)


async def test_a_released_gang_that_somebody_deletes_comes_back_on_its_backend(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with released_on_the_second(core_cluster, person):
        before, pods = person.one(GANGS, "w-0"), {pod.metadata.uid for pod in person.pods}
        labels: list[str | None] = []
        person.seen(GANGS, lambda gang: labels.append(backend_of(gang)))
        await person.delete(before, GANGS)
        await person.until(
            lambda: (
                (gang := person.get(GANGS, "w-0")) is not None
                and gang.metadata.uid != before.metadata.uid
                and holds(gang, names.CONDITION_INITIALIZED)
            )
        )
        assert set(labels) == {"second"}
        assert {pod.metadata.uid for pod in person.pods} == pods
        await person.scale(CLIQUES, "w-0-a", 3)
        await person.until_ready(3)
        assert {backend_of(pod) for pod in person.pods} == {"second"}


async def test_a_released_gang_that_somebody_labels_otherwise_is_put_right(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with released_on_the_second(core_cluster, person):
        before, pods = person.one(GANGS, "w-0"), {pod.metadata.uid for pod in person.pods}
        labels: list[str | None] = []
        person.seen(GANGS, lambda gang: labels.append(backend_of(gang)))
        bent = {"metadata": {"labels": {names.LABEL_SCHEDULER_BACKEND: "first"}}}
        await person.change(GANGS, "w-0", bent)
        await person.until(lambda: "first" in labels and labels[-1] == "second")
        assert person.one(GANGS, "w-0").metadata.uid == before.metadata.uid
        assert {pod.metadata.uid for pod in person.pods} == pods
