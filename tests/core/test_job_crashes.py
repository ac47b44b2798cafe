"""The operator dies after every write of a completion and of a restart, and the end is the same."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client
from tests.core.job_kit import (
    COMPLETED,
    FAILED,
    attempts,
    fail,
    gang_ended,
    job,
    job_set,
    pods_by_phase,
    succeed,
)
from tests.core.kit import Onlooker, clique, holds, is_ready, running_operator
from tests.core.stand_in import StandIn
from tests.core.test_crash_only import NOTHING_GATHERED, Deaths, Killed, outcome

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

Act = Callable[[Onlooker], Any]
Reached = Callable[[Onlooker], bool]


async def start(person: Onlooker) -> None:
    policy = {"failure": {"maxRestarts": 1}}
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    await person.create(
        job_set(
            "w",
            job("a", 2),
            job("b"),
            clique("ps"),
            policy=policy,
            podCliqueScalingGroups=[group],
        )
    )


def runs(attempt: int) -> Reached:
    """Tell whether all five pods of an attempt run, and no other is left."""
    return lambda person: (
        len(person.pods) == 5
        and all(map(is_ready, person.pods))
        and attempts(person.pods) == {str(attempt)}
    )


def has_ended(condition: str, phases: dict[str, int]) -> Reached:
    gangs = ("w-0", "w-0-s-0")
    return lambda person: (
        holds(person.get(SETS, "w"), condition)
        and pods_by_phase(person.pods) == phases
        and all(gang_ended(person, gang, condition) for gang in gangs)
    )


async def fail_one(person: Onlooker) -> None:
    await fail(person, person.pods_of("w-0-a")["1"])


async def finish(person: Onlooker) -> None:
    pods = [*person.pods_of("w-0-a").values()]
    for index in (0, 1):
        pods += person.pods_of(f"w-0-s-{index}-b").values()
    await succeed(person, pods)


SUCCEEDS: list[tuple[Act, Reached]] = [
    (start, runs(0)),
    (fail_one, runs(1)),
    (finish, has_ended(COMPLETED, {"Succeeded": 4})),
]
FAILS: list[tuple[Act, Reached]] = [
    (start, runs(0)),
    (fail_one, runs(1)),
    (fail_one, has_ended(FAILED, {"Failed": 1})),
]


async def play(
    cluster: Cluster, person: Onlooker, script: list[tuple[Act, Reached]], client_type: type[Client]
) -> list[int]:
    """Take each step with as many operators as it needs; how many died in each."""
    died: list[int] = []
    async with StandIn(person.client, "default").serving():
        for act, reached in script:
            await act(person)
            died.append(0)
            while True:
                try:
                    async with running_operator(cluster, NOTHING_GATHERED, client_type) as operator:
                        await person.until(lambda reached=reached: reached(person))  # type: ignore[misc]
                        await operator.until_idle()
                        if operator.writes.total() == 0 or client_type is Client:
                            break
                except* Killed:
                    died[-1] += 1
    return died


def told(person: Onlooker) -> str:
    """Everything that a person could tell apart, without the names of pods, which differ."""
    return re.sub(r"pod \S+ failed", "a pod failed", repr(sorted(outcome(person).items())))


@pytest.mark.parametrize("script", [SUCCEEDS, FAILS], ids=["completed", "failed"])
async def test_an_operator_that_is_killed_after_every_write_ends_jobs_in_the_same_way(
    core_cluster: Cluster, person: Onlooker, script: list[tuple[Act, Reached]]
) -> None:
    await play(core_cluster, person, script, Client)
    expected, made = told(person), len(person.history)
    assert made == 10, "two attempts of five pods"
    await person.start_over()
    died = await play(core_cluster, person, script, Deaths(1).client_type())
    assert all(died), "every step takes writes"
    assert sum(died) > 30
    assert told(person) == expected
    assert len(person.history) == made, "no pod was made twice"
    assert person.one(SETS, "w").status["replicaRestartCounts"] == [1]
    assert {gang.metadata.name for gang in person.all(GANGS)} == {"w-0", "w-0-s-0"}
    assert not any(names.LABEL_ATTEMPT not in pod.metadata.labels for pod in person.pods)
