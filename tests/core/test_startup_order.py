"""The order in which cliques start, kept by real processes on the process node."""

from pathlib import Path
from typing import Any

import pytest

import startup_wait.__main__
from core_operator.settings import CoreSettings, StartupOrder
from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import place_on_process_node
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    holds,
    is_ready,
    pcs,
    running_operator,
    settings,
)
from tests.core.schedulers import DEFAULT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

WAITER = StartupOrder(command=["python", startup_wait.__main__.__file__])
SECONDS = 60.0
IN_ORDER = "CliqueStartupTypeInOrder"
EXPLICIT = "CliqueStartupTypeExplicit"


def ordered() -> CoreSettings:
    return settings(startup_order=WAITER)


class Switches:
    """Files that make the pods of a clique ready: its readiness probe looks for one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def clique(self, name: str, replicas: int = 1, **spec: Any) -> Object:
        """A clique of processes that are ready when its switch is on."""
        probe = {"exec": {"command": ["test", "-e", str(self._directory / name)]}}
        container = {
            "name": "main",
            "image": "registry.example.com/app:1",
            "command": ["sleep", "3600"],
            "readinessProbe": {**probe, "periodSeconds": 1},
        }
        pod = {"kind": "Pod", "spec": {"containers": [container]}}
        return clique(name, replicas, podSpec=place_on_process_node(pod)["spec"], **spec)

    def on(self, *names_: str) -> None:
        for name in names_:
            (self._directory / name).touch()


@pytest.fixture
def switches(tmp_path: Path) -> Switches:
    return Switches(tmp_path)


def has_started(pod: LooseObject) -> bool:
    return any(status.get("started") for status in pod.status.get("containerStatuses", ()))


def is_held(pod: LooseObject) -> bool:
    """Tell whether a pod is on its node and waits there, by a process of its own."""
    waiting = [status["state"] for status in pod.status.get("initContainerStatuses", ())]
    return any("running" in state for state in waiting) and not has_started(pod)


def all_of(person: Onlooker, *podcliques: str) -> list[LooseObject]:
    return [pod for name in podcliques for pod in person.pods_of(name).values()]


def moment(pod: LooseObject, kind: str) -> str:
    """When a condition of a pod last changed."""
    conditions = pod.status["conditions"]
    return str(next(c["lastTransitionTime"] for c in conditions if c["type"] == kind))


async def test_cliques_start_in_order_and_each_gang_keeps_its_own(
    core_cluster: Cluster, person: Onlooker, switches: Switches
) -> None:
    group = {"name": "s", "cliqueNames": ["b", "c"], "replicas": 2, "minAvailable": 1}
    workload = pcs(
        "w",
        switches.clique("a", 2, minAvailable=1),
        switches.clique("b"),
        switches.clique("c"),
        podCliqueScalingGroups=[group],
        cliqueStartupType=IN_ORDER,
    )
    async with (
        DEFAULT.serving(core_cluster, person.client),
        running_operator(core_cluster, ordered()) as operator,
    ):
        await person.create(workload)
        # The scaled gang's `b` waits for nobody: `a` is not in its gang. All others are held.
        held = ("w-0-s-0-b", "w-0-s-0-c", "w-0-s-1-c")
        await person.until(
            lambda: (
                [is_held(pod) for pod in all_of(person, *held)] == [True] * 3
                and [has_started(pod) for pod in all_of(person, "w-0-a", "w-0-s-1-b")] == [True] * 3
            ),
            SECONDS,
        )
        await person.until(
            lambda: "1 waiting for w-0-a to be ready" in told(person.one(SETS, "w")), SECONDS
        )
        switches.on("a")
        await person.until(lambda: all(map(has_started, all_of(person, "w-0-s-0-b"))), SECONDS)
        assert all(map(is_held, all_of(person, "w-0-s-0-c", "w-0-s-1-c")))
        switches.on("b")
        await person.until(
            lambda: all(map(has_started, all_of(person, "w-0-s-0-c", "w-0-s-1-c"))), SECONDS
        )
        switches.on("c")
        await person.until_ready(6, SECONDS)
        # One write for each pod that had to wait.
        assert operator.writes.seen["patch", PODS.plural] == 6 + 3


def told(item: LooseObject) -> str:
    return " ".join(c.get("message", "") for c in item.status.get("conditions", []))


async def test_an_explicit_order_waits_for_the_minimum_and_for_all_predecessors(
    core_cluster: Cluster, person: Onlooker, switches: Switches
) -> None:
    workload = pcs(
        "w",
        switches.clique("c", startsAfter=["a", "b"]),
        switches.clique("a", 2, minAvailable=2),
        switches.clique("b"),
        cliqueStartupType=EXPLICIT,
    )
    async with (
        DEFAULT.serving(core_cluster, person.client),
        running_operator(core_cluster, ordered()) as operator,
    ):
        await person.create(workload)
        await person.until(lambda: sum(map(has_started, person.pods)) == 3, SECONDS)
        switches.on("a")
        await person.until(lambda: all(map(is_ready, all_of(person, "w-0-a"))), SECONDS)
        await operator.until_idle(SECONDS)
        assert all(map(is_held, all_of(person, "w-0-c")))
        switches.on("b", "c")
        await person.until_ready(4, SECONDS)
        last = person.pods_of("w-0-c")["0"]
        for predecessor in all_of(person, "w-0-a", "w-0-b"):
            assert moment(predecessor, "Ready") <= moment(last, "Initialized")
        # What was ready once does not hold anybody again: neither a pod that is replaced ...
        await person.delete(last, PODS)
        await person.until(
            lambda: (
                (found := person.pods_of("w-0-c").get("0")) is not None
                and found.metadata.uid != last.metadata.uid
                and is_ready(found)
            ),
            SECONDS,
        )


async def test_a_restarted_operator_lets_those_go_whose_turn_came_while_it_was_away(
    core_cluster: Cluster, person: Onlooker, switches: Switches
) -> None:
    workload = pcs("w", switches.clique("a"), switches.clique("b"), cliqueStartupType=IN_ORDER)
    async with DEFAULT.serving(core_cluster, person.client):
        async with running_operator(core_cluster, ordered()):
            await person.create(workload)
            await person.until(lambda: any(map(is_held, person.pods)), SECONDS)
        switches.on("a", "b")
        await person.until(lambda: all(map(is_ready, all_of(person, "w-0-a"))), SECONDS)
        assert all(map(is_held, all_of(person, "w-0-b")))
        async with running_operator(core_cluster, ordered()):
            await person.until_ready(2, SECONDS)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"), SECONDS)


async def test_pods_of_sets_without_an_order_are_made_as_the_user_wrote_them(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with (
        DEFAULT.serving(core_cluster, person.client),
        running_operator(core_cluster) as operator,
    ):
        await person.create(pcs("w", clique("a"), clique("b")))
        await person.until_ready(2, SECONDS)
        await operator.until_idle(SECONDS)
        assert person.names(GANGS) == ["w-0"]
        for pod in person.pods:
            assert "initContainers" not in pod.spec
            assert names.ANNOTATION_STARTUP_ORDER not in pod.metadata.annotations
        assert operator.writes.seen["patch", PODS.plural] == 2


async def test_orders_that_cannot_be_are_refused(person: Onlooker) -> None:
    circle = pcs(
        "w",
        clique("a", startsAfter=["b"]),
        clique("b", startsAfter=["a"]),
        cliqueStartupType=EXPLICIT,
    )
    assert "must not have circular dependencies" in await person.refusal(circle)
    unknown = pcs("w", clique("a", startsAfter=["x"]), cliqueStartupType=EXPLICIT)
    assert "unknown clique names found" in await person.refusal(unknown)
