"""The operator dies after every single write, or amid many, and what comes out is the same."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from core_operator.settings import CoreTiming
from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.http.transport import ApiRequest
from shared_api.kube.resources import EVENTS, PODS, SERVICES
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    condition,
    is_ready,
    pcs,
    running_operator,
    settings,
)
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

Script = list[tuple[str, Callable[[Onlooker], Any], int]]


class Killed(BaseException):
    """As sudden as SIGKILL: nothing in the operator may catch it."""


@dataclass
class _Life:
    free: asyncio.Semaphore
    on_the_way: int = 0
    is_over: bool = False


class Deaths:
    """How operators died: how often, and how many of their writes were on the way then."""

    def __init__(self, at_once: int) -> None:
        self.interrupted: list[int] = []
        self.at_once = at_once

    def client_type(self) -> type[Client]:
        """A client whose first answered write is its last.

        The answer is not read, nothing is sent after it, and what was on its way is cut off:
        it may have reached the server or not.
        """
        deaths = self

        class Mortal(Client):
            """Lives until a write of its own has happened."""

            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                # Shared with the same client at other urgencies, which dies with it.
                self._life = _Life(asyncio.Semaphore(deaths.at_once))

            async def _send(self, request: ApiRequest) -> bytes:
                if request.method == "GET" or request.resource == EVENTS.plural:
                    return await super()._send(request)
                life = self._life
                async with life.free:
                    if life.is_over:
                        raise Killed
                    life.on_the_way += 1
                    await super()._send(request)
                    deaths.interrupted.append(life.on_the_way)
                    life.is_over = True
                    raise Killed

        return Mortal


def workload() -> Object:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    return pcs("w", clique("a", 2), clique("b", 1), podCliqueScalingGroups=[group])


async def fail_a_pod(person: Onlooker) -> None:
    failed = {"phase": "Failed", "reason": "Evicted", "conditions": [], "containerStatuses": []}
    await person.change_status(PODS, person.pods_of("w-0-a")["1"].metadata.name, failed)


SCRIPT: Script = [
    ("created", lambda person: person.create(workload()), 4),
    ("clique scaled up", lambda person: person.scale(CLIQUES, "w-0-a", 3), 5),
    ("group scaled up", lambda person: person.scale(GROUPS, "w-0-s", 3), 6),
    ("pod evicted", fail_a_pod, 6),
    ("group scaled down", lambda person: person.scale(GROUPS, "w-0-s", 1), 4),
    ("clique scaled down", lambda person: person.scale(CLIQUES, "w-0-a", 2), 3),
    ("set scaled up", lambda person: person.scale(SETS, "w", 2), 7),
    ("set scaled down", lambda person: person.scale(SETS, "w", 1), 3),
    ("set scaled up again", lambda person: person.scale(SETS, "w", 2), 7),
]
PODS_EVER_MADE = 4 + 1 + 1 + 1 + 4 + 4


def outcome(person: Onlooker) -> Object:
    """Everything that a person could tell apart, without what differs from run to run."""
    found: Object = {}
    for kind in (SETS, CLIQUES, GROUPS, GANGS, SERVICES, PODS):
        for item in person.all(kind):
            name = item.metadata.name
            if kind is PODS:
                labels = item.metadata.labels
                name = f"{labels[names.LABEL_PODCLIQUE]}/{labels[names.LABEL_POD_INDEX]}"
            told = sorted(
                (c["type"], c["status"], c.get("reason"), c.get("message"))
                for c in item.status.get("conditions", [])
                # Whether a gang ever had to wait for another is a matter of luck; see below.
                if c["type"] != names.CONDITION_RELEASED
            )
            counts = {k: v for k, v in item.status.items() if isinstance(v, int)}
            sizes = [len(g["podReferences"]) for g in item.spec.get("podgroups", [])]
            found[f"{kind.kind} {name}"] = (item.metadata.labels, told, counts, sizes)
    return found


def said_of_release(person: Onlooker) -> set[tuple[bool, str]]:
    """What gangs say of their release, and whether they are ones that wait for another."""
    return {
        (names.LABEL_BASE_PODGANG in gang.metadata.labels, said["status"])
        for gang in person.all(GANGS)
        if (said := condition(gang, names.CONDITION_RELEASED))
    }


NOTHING_GATHERED = settings(timing=CoreTiming(status_delay_seconds=0, progress_delay_seconds=0))
MANY = 16


async def until_nothing_is_left_to_do(
    cluster: Cluster, person: Onlooker, pods: int, client_type: type[Client]
) -> int:
    """Start operators until one lives with everything in place; how many died before."""
    died = 0
    while True:
        try:
            async with running_operator(cluster, NOTHING_GATHERED, client_type) as operator:
                await person.until_ready(pods)
                await operator.until_idle()
                if operator.writes.total() == 0 or client_type is Client:
                    return died
        except* Killed:
            died += 1


async def play(cluster: Cluster, person: Onlooker, client_type: type[Client]) -> list[int]:
    died = []
    async with StandIn(person.client, "default").serving():
        for _, act, pods in SCRIPT:
            await act(person)
            died.append(await until_nothing_is_left_to_do(cluster, person, pods, client_type))
    return died


async def test_an_operator_that_is_killed_after_every_write_comes_to_the_same_end(
    core_cluster: Cluster, person: Onlooker
) -> None:
    await play(core_cluster, person, Client)
    expected = outcome(person)
    assert len(person.history) == PODS_EVER_MADE
    for at_once, at_least in ((1, 40), (MANY, 15)):
        await person.start_over()
        deaths = Deaths(at_once)
        died = await play(core_cluster, person, deaths.client_type())
        assert all(died), "every step of the script takes writes"
        assert sum(died) > at_least
        assert (max(deaths.interrupted) > 1) == (at_once > 1), "others were on their way"
        assert outcome(person) == expected
        assert len(person.history) == PODS_EVER_MADE, "no pod was made twice"
        assert all(map(is_ready, person.pods))
        # Only gangs that wait for another say it, and none is left waiting.
        assert said_of_release(person) <= {(True, "True")}
