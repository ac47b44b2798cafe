"""Workloads that end, on every scheduler in every version that is served."""

import pytest

from core_operator.state.caches import CLIQUES, GANGS, SETS
from shared_api import names
from shared_api.kube.resources import PODS
from tests.backends.suite.leftovers import until_owns_nothing
from tests.backends.suite.stage import SECONDS, Stage
from tests.core.job_kit import COMPLETED, attempts, fail, has_completed, pods_by_phase, succeed
from tests.core.kit import Object, condition, holds, is_ready

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

NEVER = {"restartPolicy": "Never"}


async def create(stage: Stage, name: str, *cliques: Object, restarts: int = 0) -> None:
    policy = {"completion": {"failure": {"maxRestarts": restarts}}}
    await stage.create_of(name, [*cliques], policy=policy)


def job(stage: Stage, role: str, size: int) -> Object:
    return stage.clique(role, size, podSpec=NEVER)


def phase(stage: Stage, gang: str) -> str:
    found = stage.person.get(GANGS, gang)
    return str(found.status.get("phase", "")) if found is not None else ""


async def until_ended(stage: Stage, gang: str, outcome: str) -> None:
    """Wait until a gang has this phase; then nothing of it is left with its scheduler."""
    await stage.person.until(lambda: phase(stage, gang) == outcome, SECONDS)
    await until_owns_nothing(stage, gang)
    assert stage.said(gang, "Programmed")["reason"] == "Ended"


async def test_a_job_ends_and_the_next_one_gets_its_place(stage: Stage) -> None:
    await stage.add_nodes(3)
    person = stage.person
    await create(stage, "w", job(stage, "a", 2), stage.clique("ps", 1))
    await stage.until_runs("w")
    await create(stage, "next", job(stage, "a", 3))
    first, second = person.pods_of("w-0-a").values()
    await succeed(person, [first])
    await person.until(lambda: person.one(CLIQUES, "w-0-a").status.get("completedIndexes"), SECONDS)
    assert stage.said("w-0", "Scheduled")["status"] == "True", "a pod that is done is not missing"
    assert is_ready(person.one(PODS, second.metadata.name))
    await succeed(person, [second])
    await person.until(lambda: has_completed(person, "w"), SECONDS)
    await until_ended(stage, "w-0", "Succeeded")
    assert pods_by_phase(stage.pods("w-0")) == {"Succeeded": 2}, "the parameter server is gone"
    await stage.until_runs("next")


async def test_a_failed_pod_restarts_the_gang_whole_and_then_fails_it(stage: Stage) -> None:
    await stage.add_nodes(3)
    person = stage.person
    await create(stage, "w", job(stage, "a", 2), job(stage, "b", 1), restarts=1)
    await stage.until_runs("w")
    before = {pod.metadata.uid for pod in stage.pods("w-0")}
    await fail(person, person.pods_of("w-0-a")["0"])
    await person.until(lambda: attempts(stage.pods("w-0")) == {"1"} and stage.runs("w"), SECONDS)
    assert not before & {pod.metadata.uid for pod in stage.pods("w-0")}
    assert len(set(stage.bound("w-0"))) == 3
    await fail(person, person.pods_of("w-0-b")["0"], code=3)
    await person.until(lambda: holds(person.get(SETS, "w"), names.CONDITION_FAILED), SECONDS)
    await until_ended(stage, "w-0", "Failed")
    assert pods_by_phase(stage.pods("w-0")) == {"Failed": 1}
    assert "exited with 3" in condition(person.get(SETS, "w"), COMPLETED)["message"]


async def test_a_pod_that_is_lost_from_a_job_that_is_partly_done_is_replaced(
    stage: Stage,
) -> None:
    await stage.add_nodes(3)
    person = stage.person
    await create(stage, "w", job(stage, "a", 3))
    await stage.until_runs("w")
    pods = person.pods_of("w-0-a")
    await succeed(person, [pods["0"]])
    await person.until(
        lambda: person.one(CLIQUES, "w-0-a").status.get("completedIndexes") == "0", SECONDS
    )
    await person.delete(pods["1"], PODS)

    def is_replaced() -> bool:
        found = person.pods_of("w-0-a").get("1")
        is_new = found is not None and found.metadata.uid != pods["1"].metadata.uid
        return is_new and found is not None and is_ready(found)

    await person.until(is_replaced, SECONDS)
    assert person.one(PODS, pods["2"].metadata.name).metadata.uid == pods["2"].metadata.uid
    await succeed(person, [person.pods_of("w-0-a")[index] for index in ("1", "2")])
    await person.until(lambda: has_completed(person, "w"), SECONDS)
    await until_ended(stage, "w-0", "Succeeded")
