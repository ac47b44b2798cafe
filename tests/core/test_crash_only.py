"""The operator dies after every single write, and what comes out is the same."""

from collections.abc import Callable
from typing import Any

import pytest

from core_operator.caches import CLIQUES, GANGS, GROUPS, SETS
from core_operator.settings import Concurrency, Timing
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.resources import EVENTS, PODS, SERVICES
from shared_api.kube.transport import Request
from tests.core.kit import Object, Onlooker, clique, is_ready, pcs, running_operator, settings
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

Script = list[tuple[str, Callable[[Onlooker], Any], int]]


class Killed(BaseException):
    """As sudden as SIGKILL: nothing in the operator may catch it."""


class MortalClient(Client):
    """Its first write reaches the server; no answer is read, and nothing is sent after it."""

    _is_dead = False

    async def _send(self, request: Request) -> bytes:
        is_write = request.method != "GET" and request.resource != EVENTS.plural
        if self._is_dead:
            raise Killed
        answer = await super()._send(request)
        if is_write:
            self._is_dead = True
            raise Killed
        return answer


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
    ("set scaled up", lambda person: person.scale(SETS, "w", 2), 8),
]
PODS_EVER_MADE = 4 + 1 + 1 + 1 + 4


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
                # Written only by a gang that had to wait for another, which is a matter of luck.
                if (c["type"], c["status"]) != (names.CONDITION_RELEASED, "True")
            )
            counts = {k: v for k, v in item.status.items() if isinstance(v, int)}
            sizes = [len(g["podReferences"]) for g in item.spec.get("podgroups", [])]
            found[f"{kind.kind} {name}"] = (item.metadata.labels, told, counts, sizes)
    return found


def one_by_one() -> Any:
    """No two writes in flight, and none gathered."""
    return settings(
        concurrency=Concurrency(
            pod_clique_sets=1, pod_cliques=1, pod_gangs=1, statuses=1, writes=1
        ),
        timing=Timing(status_delay_seconds=0, progress_delay_seconds=0),
    )


async def until_nothing_is_left_to_do(
    cluster: Cluster, person: Onlooker, pods: int, client_type: type[Client]
) -> int:
    """Start operators until one lives with everything in place; how many died before."""
    died = 0
    while True:
        try:
            async with running_operator(cluster, one_by_one(), client_type) as operator:
                await person.until_ready(pods, seconds=60)
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
    core_cluster: Cluster, person: Onlooker, client: Client
) -> None:
    await play(core_cluster, person, Client)
    expected = outcome(person)
    assert len(person.history) == PODS_EVER_MADE
    await person.start_over()
    died = await play(core_cluster, person, MortalClient)
    assert all(died), "every step of the script takes writes"
    assert sum(died) > 40
    assert outcome(person) == expected
    assert len(person.history) == PODS_EVER_MADE, "no pod was made twice"
    assert all(map(is_ready, person.pods))
