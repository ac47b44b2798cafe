"""What breaks gangs on the real YuniKorn, and does not here."""

import asyncio

import pytest

from backend_controllers.generic.kinds import GANGS
from backend_controllers.yunikorn.api import KEY_GROUPS, KEY_PLACEHOLDER_OF
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.backends.suite.stage import CPU, SECONDS, Stage
from tests.core.kit import gates

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(300)]


def placeholders(stage: Stage) -> list[LooseObject]:
    """The placeholders that are there to stay."""
    return [pod for pod in stage.person.pods if KEY_PLACEHOLDER_OF in pod.metadata.labels]


def ever_made(stage: Stage, gang: str) -> set[str]:
    """The placeholders that there ever were for a gang."""
    return {
        name
        for name, pod in stage.person.history
        if pod.metadata.labels.get(KEY_PLACEHOLDER_OF) == gang
    }


def uids(stage: Stage, gang: str) -> set[str]:
    return {pod.metadata.uid for pod in stage.pods(gang)}


def incarnation(stage: Stage, gang: str) -> int:
    found = stage.person.get(GANGS, gang)
    return int(found.status.get("incarnation", 0)) if found is not None else 0


async def test_placeholders_hold_capacity_and_are_never_members(stage: Stage) -> None:
    await stage.add_nodes(2)
    # Somebody may put our label on anything.
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "labels": {KEY_PLACEHOLDER_OF: "w-0"}},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "schedulingGates": [{"name": "example.com/never"}],
        },
    }
    await stage.person.create(stranger)
    await stage.create("w", {"a": 2, "b": 1})
    await stage.person.until(
        lambda: (
            "capacity is reserved for 2 of 3 pods"
            in stage.said("w-0", "Scheduled").get("message", "")
        ),
        SECONDS,
    )
    made = [pod for pod in placeholders(stage) if pod.metadata.name != "stranger"]
    assert len(made) == 3
    for pod in made:
        assert not pod.metadata.labels.keys() & {names.LABEL_PODGANG, names.LABEL_PODCLIQUE}
    message = stage.said("w-0", "Scheduled")["message"]
    assert "(a 2/2, b 0/1)" in message or "(a 1/2, b 1/1)" in message
    await stage.add_nodes(1)
    await stage.until_runs("w")
    await stage.person.until(
        lambda: [pod.metadata.name for pod in placeholders(stage)] == ["stranger"], SECONDS
    )
    assert len(ever_made(stage, "w-0") - {"stranger"}) == 3


async def test_a_gang_that_loses_its_first_pod_while_capacity_is_reserved_gets_further(
    stage: Stage,
) -> None:
    await stage.add_nodes(1)
    await stage.create("w", {"a": 2})
    await stage.until_short("w", nodes=1, fits=1, of=2)
    before = uids(stage, "w-0")
    first = {owner.name for pod in placeholders(stage) for owner in pod.metadata.owner_references}
    assert len(first) == 1
    await stage.person.delete(stage.person.one(PODS, first.pop()), PODS)

    def is_anew() -> bool:
        now = uids(stage, "w-0")
        return incarnation(stage, "w-0") == 1 and len(now) == 2 and not now & before

    await stage.person.until(is_anew, SECONDS)
    await stage.add_nodes(1)
    await stage.until_runs("w")
    assert not placeholders(stage)


async def test_a_gang_that_is_lost_whole_comes_back_whole(stage: Stage) -> None:
    await stage.add_nodes(2)
    await stage.create("w", {"a": 2})
    await stage.until_runs("w")
    before, first = uids(stage, "w-0"), ever_made(stage, "w-0")
    for pod in stage.pods("w-0"):
        await stage.person.delete(pod, PODS)
    await stage.person.until(
        lambda: stage.runs("w") and not uids(stage, "w-0") & before and len(stage.pods("w-0")) == 2,
        SECONDS,
    )
    # Room was reserved for it again, under another name.
    assert incarnation(stage, "w-0") == 1
    assert len(ever_made(stage, "w-0") - first) == 2


async def test_a_lost_member_of_a_gang_that_runs_is_replaced_without_a_reservation(
    stage: Stage,
) -> None:
    await stage.add_nodes(2)
    await stage.create("w", {"a": 2})
    await stage.until_runs("w")
    before, reserved = uids(stage, "w-0"), ever_made(stage, "w-0")
    await stage.person.delete(stage.pods("w-0")[0], PODS)
    await stage.person.until(
        lambda: (
            stage.runs("w")
            and len(uids(stage, "w-0") & before) == 1 == len(uids(stage, "w-0") - before)
        ),
        SECONDS,
    )
    assert incarnation(stage, "w-0") == 0
    assert ever_made(stage, "w-0") == reserved


async def test_a_restarted_scheduler_reserves_nothing_for_gangs_that_run(stage: Stage) -> None:
    await stage.add_nodes(2)
    await stage.create("w", {"a": 2})
    await stage.until_runs("w")
    await stage.person.until(
        lambda: all(KEY_GROUPS not in pod.metadata.annotations for pod in stage.pods("w-0")),
        SECONDS,
    )
    before, reserved = uids(stage, "w-0"), ever_made(stage, "w-0")
    await stage.bed.stop_scheduler()
    await stage.bed.start_scheduler()
    # What comes after it shows that the scheduler has looked at everything.
    await stage.add_nodes(1)
    await stage.create("next", {"a": 1})
    await stage.until_runs("next")
    assert stage.runs("w")
    assert uids(stage, "w-0") == before
    assert ever_made(stage, "w-0") == reserved


async def test_pods_above_the_minimum_come_after_it_and_need_no_placeholder(stage: Stage) -> None:
    await stage.add_nodes(2)
    await stage.create_of("w", [stage.clique("a", 3, minAvailable=2)])
    await stage.person.until(
        lambda: (
            stage.said("w-0", "Ready").get("status") == "True"
            and len(stage.pods("w-0")) == 3
            and not any(map(gates, stage.pods("w-0")))
        ),
        SECONDS,
    )
    assert len(ever_made(stage, "w-0")) == 2
    await stage.add_nodes(1)
    await stage.person.until(lambda: len(set(stage.bound("w-0"))) == 3, SECONDS)
    assert len(ever_made(stage, "w-0")) == 2


async def test_a_namespace_that_refuses_placeholders_is_reported(stage: Stage) -> None:
    await stage.add_nodes(2)
    level = "pod-security.kubernetes.io/enforce=restricted"
    kubectl = stage.bed.cluster.kubectl
    await asyncio.to_thread(kubectl, "label", "namespace", stage.namespace, level)
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": CPU}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    await stage.create_of("w", [stage.clique("a", 2, podSpec={"containers": [container]})])
    await stage.person.until(
        lambda: (
            "schedules the pods one by one: it could not create placeholders"
            in stage.said("w-0", "Programmed").get("message", "")
            + stage.said("w-0", "Scheduled").get("message", "")
        ),
        SECONDS,
    )


async def test_names_as_long_as_they_can_be_run(stage: Stage) -> None:
    await stage.add_nodes(2)
    name, role = "n" * 30, "r" * 15
    await stage.create(name, {role: 2})
    await stage.until_runs(name)
    assert not placeholders(stage)
    assert isinstance(stage.person.one(PODS, stage.pods(f"{name}-0")[0].metadata.name), LooseObject)
