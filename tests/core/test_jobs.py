"""Workloads that end: completion, failure, restarts of the whole gang, and time limits."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.resources import PODS
from tests.core.job_kit import (
    COMPLETED,
    FAILED,
    attempts,
    fail,
    gang_ended,
    has_completed,
    job,
    job_set,
    pods_by_phase,
    succeed,
)
from tests.core.kit import clique, condition, holds, is_ready
from tests.core.stage import Stage, on_stage

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

LEADER = {"success": {"completedNames": ["leader"]}, "failure": {"maxRestarts": 1}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


async def until_attempt(stage: Stage, name: str, count: int, attempt: int) -> None:
    """Wait until so many pods of an attempt are ready, and no others are left."""
    await stage.until_ready(name, count)
    await stage.until(lambda: attempts(stage.pods(name)) == {str(attempt)})
    await stage.until_ready(name, count)


async def test_a_set_is_completed_when_all_its_pods_succeeded(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("done", job("worker", 3)))
    await stage.until_ready("done", 3)
    before = stage.uids("done")
    pods = person.pods_of("done-0-worker")
    await succeed(person, [pods["0"]])
    await stage.until(
        lambda: person.one(CLIQUES, "done-0-worker").status.get("completedIndexes") == "0"
    )
    assert not condition(person.get(SETS, "done"), COMPLETED), "two pods are still running"
    # A pod that is done is not missing.
    await stage.until(lambda: holds(person.get(SETS, "done"), "Ready"))
    await succeed(person, [pods["1"], pods["2"]])
    await stage.until(lambda: has_completed(person, "done"))
    assert holds(person.get(CLIQUES, "done-0-worker"), COMPLETED)
    await stage.until(lambda: gang_ended(person, "done-0"))
    await stage.operator.until_idle()
    assert stage.uids("done") == before, "no pod was recreated, and none deleted"
    assert pods_by_phase(stage.pods("done")) == {"Succeeded": 3}
    ready = condition(person.get(SETS, "done"), "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "Completed")
    assert "replicas completed" in await person.until_event("done", "JobCompleted")


async def test_a_finished_pod_that_is_deleted_is_not_recreated(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("swept", job("worker", 2)))
    await stage.until_ready("swept", 2)
    pods = person.pods_of("swept-0-worker")
    await succeed(person, [pods["0"]])
    await stage.until(
        lambda: person.one(CLIQUES, "swept-0-worker").status.get("completedIndexes") == "0"
    )
    await person.delete(pods["0"], PODS)
    await stage.until(lambda: len(stage.pods("swept")) == 1)
    await succeed(person, [pods["1"]])
    await stage.until(lambda: has_completed(person, "swept"))
    await person.delete(pods["1"], PODS)
    await stage.until(lambda: not stage.pods("swept"))
    await stage.operator.until_idle()
    assert not stage.pods("swept")
    assert has_completed(person, "swept")


async def test_a_pod_that_is_deleted_before_it_is_done_is_replaced_and_no_failure(
    stage: Stage,
) -> None:
    person = stage.person
    await person.create(job_set("lost", job("worker", 3)))
    await stage.until_ready("lost", 3)
    pods = person.pods_of("lost-0-worker")
    await succeed(person, [pods["0"]])
    await stage.until(
        lambda: person.one(CLIQUES, "lost-0-worker").status.get("completedIndexes") == "0"
    )
    await person.delete(pods["1"], PODS)
    await stage.until(
        lambda: (
            (found := person.pods_of("lost-0-worker").get("1")) is not None
            and found.metadata.uid != pods["1"].metadata.uid
            and is_ready(found)
        )
    )
    await succeed(person, [person.pods_of("lost-0-worker")[index] for index in ("1", "2")])
    await stage.until(lambda: has_completed(person, "lost"))
    assert "replicaRestartCounts" not in person.one(SETS, "lost").status


async def test_a_failed_pod_restarts_the_whole_gang_until_the_budget_is_used_up(
    stage: Stage,
) -> None:
    person = stage.person
    group = {"name": "sg", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    await person.create(
        job_set(
            "again",
            job("a", 2),
            job("b", 1),
            policy={"failure": {"maxRestarts": 1}},
            podCliqueScalingGroups=[group],
        )
    )
    await stage.until_ready("again", 4)
    first = {pod.metadata.uid for pod in stage.pods("again")}
    await succeed(person, [person.pods_of("again-0-a")["1"]])
    await stage.until(
        lambda: person.one(CLIQUES, "again-0-a").status.get("completedIndexes") == "1"
    )
    await fail(person, person.pods_of("again-0-a")["0"], code=7)
    note = await person.until_event("again", "GangRestartTriggered")
    assert "replica 0 is restarted, 1 of 1 times" in note
    assert "exited with 7 (Error)" in note
    await until_attempt(stage, "again", 4, attempt=1)
    second = {pod.metadata.uid for pod in stage.pods("again")}
    assert not first & second, "all pods of the replica were recreated, the finished one too"
    assert person.one(SETS, "again").status["replicaRestartCounts"] == [1]
    await stage.until(lambda: not condition(person.get(CLIQUES, "again-0-a"), FAILED))
    await fail(person, person.pods_of("again-0-sg-1-b")["0"])
    await stage.until(lambda: holds(person.get(SETS, "again"), FAILED))
    failed = condition(person.get(SETS, "again"), FAILED)
    assert failed["reason"] == names.REASON_RESTART_BUDGET_EXHAUSTED
    assert "after 1 restart, maxRestarts is 1" in failed["message"]
    assert condition(person.get(SETS, "again"), COMPLETED)["status"] == "False"
    await stage.until(lambda: pods_by_phase(stage.pods("again")) == {"Failed": 1})
    await stage.until(
        lambda: all(gang_ended(person, gang, FAILED) for gang in ("again-0", "again-0-sg-0"))
    )
    await stage.operator.until_idle()
    assert pods_by_phase(stage.pods("again")) == {"Failed": 1}, "the failed pod stays for its logs"
    assert holds(person.get(SETS, "again"), "Stalled")


async def test_a_group_restarts_one_replica_alone_within_its_own_budget(stage: Stage) -> None:
    person = stage.person
    group = {
        "name": "sg",
        "cliqueNames": ["leader", "worker"],
        "replicas": 2,
        "minAvailable": 1,
        "policy": {"completion": LEADER},
    }
    manifest = job_set("alone", job("leader"), job("worker", 2), podCliqueScalingGroups=[group])
    await person.create(manifest)
    await stage.until_ready("alone", 6)
    before = stage.uids("alone")
    await fail(person, person.pods_of("alone-0-sg-1-worker")["0"])
    await stage.until(
        lambda: person.one(GROUPS, "alone-0-sg").status.get("replicaRestartCounts") == [0, 1]
    )
    await stage.until(lambda: attempts(stage.pods("alone")) == {"0", "1"})
    await stage.until_ready("alone", 6)
    now = stage.uids("alone")
    changed = {name for name in before if before[name] != now[name]}
    assert changed == {"alone-0-sg-1-leader", "alone-0-sg-1-worker"}
    # The leader of a replica decides; its workers are ended with it.
    await succeed(person, person.pods_of("alone-0-sg-1-leader").values())
    await stage.until(
        lambda: person.one(GROUPS, "alone-0-sg").status.get("completedIndexes") == "1"
    )
    await stage.until(lambda: not person.pods_of("alone-0-sg-1-worker"))
    await stage.until(lambda: gang_ended(person, "alone-0-sg-0"))
    assert all(map(is_ready, person.pods_of("alone-0-sg-0-worker").values()))
    assert not condition(person.get(SETS, "alone"), COMPLETED)
    await succeed(person, person.pods_of("alone-0-sg-0-leader").values())
    await stage.until(lambda: holds(person.get(GROUPS, "alone-0-sg"), COMPLETED))
    await stage.until(lambda: has_completed(person, "alone"))
    await stage.until(lambda: pods_by_phase(stage.pods("alone")) == {"Succeeded": 2})


async def test_a_clique_that_serves_is_ended_when_the_job_beside_it_is_done(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("mixed", clique("ps", 2), job("worker", 1, "OnFailure")))
    await stage.until_ready("mixed", 3)
    await succeed(person, person.pods_of("mixed-0-worker").values())
    await stage.until(lambda: has_completed(person, "mixed"))
    await stage.until(lambda: not person.pods_of("mixed-0-ps"))
    await stage.until(lambda: gang_ended(person, "mixed-0"))
    await stage.operator.until_idle()
    assert not person.pods_of("mixed-0-ps")
    assert not condition(person.get(CLIQUES, "mixed-0-ps"), COMPLETED), "it served"
    assert holds(person.get(CLIQUES, "mixed-0-ps"), "Ready")


async def test_jobs_that_take_longer_than_max_runtime_fail(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("slow", job("worker", 2), policy={"failure": {"maxRuntime": "3s"}}))
    await stage.until_ready("slow", 2)
    await stage.until(lambda: holds(person.get(SETS, "slow"), FAILED))
    failed = condition(person.get(SETS, "slow"), FAILED)
    assert failed["reason"] == names.REASON_MAX_RUNTIME_EXCEEDED
    assert "Raise policy.completion.failure.maxRuntime" in failed["message"]
    await stage.until(lambda: not stage.pods("slow"))


async def test_a_finished_set_is_deleted_after_its_ttl(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("swift", job("worker"), policy={"ttlSecondsAfterFinished": 1}))
    await stage.until_ready("swift", 1)
    await succeed(person, stage.pods("swift"))
    await stage.until(lambda: person.get(SETS, "swift") is None)
    await stage.until(lambda: not stage.pods("swift") and person.get(GANGS, "swift-0") is None)


async def test_changed_templates_are_not_applied_to_a_job(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("fixed", job("worker", 2), policy={"failure": {"maxRestarts": 1}}))
    await stage.until_ready("fixed", 2)
    await stage.until(lambda: "currentGenerationHash" in person.one(SETS, "fixed").status)
    before = stage.uids("fixed")
    changed = job("worker", 2)
    changed["spec"]["podSpec"]["containers"][0]["image"] = "registry.example.com/app:2"
    await stage.change("fixed", [changed])
    kind = names.CONDITION_UPDATE_IGNORED
    await stage.until(lambda: holds(person.get(SETS, "fixed"), kind))
    assert "Delete the PodCliqueSet" in condition(person.get(SETS, "fixed"), kind)["message"]
    await stage.operator.until_idle()
    assert stage.uids("fixed") == before
    # Also the next attempt has the templates that the job started with.
    await fail(person, person.pods_of("fixed-0-worker")["0"])
    await until_attempt(stage, "fixed", 2, attempt=1)
    images = {pod.spec["containers"][0]["image"] for pod in stage.pods("fixed")}
    assert images == {"registry.example.com/app:1"}


async def test_jobs_are_not_terminated_by_min_available(stage: Stage) -> None:
    person = stage.person
    await person.create(job_set("calm", job("worker", 2), clique("ps"), terminationDelay="1s"))
    await stage.until_ready("calm", 3)
    await succeed(person, [person.pods_of("calm-0-worker")["0"]])
    await stage.sicken(person.pods_of("calm-0-ps")["0"])
    await stage.until(
        lambda: person.one(CLIQUES, "calm-0-worker").status.get("completedIndexes") == "0"
    )
    await succeed(person, [person.pods_of("calm-0-worker")["1"]])
    await stage.until(lambda: has_completed(person, "calm"))
    assert stage.operator.metric("grove_gang_terminations_total") == 0
    for name in ("calm-0-worker", "calm-0-ps"):
        breached = condition(person.get(CLIQUES, name), names.CONDITION_MIN_AVAILABLE_BREACHED)
        assert breached["status"] == "False"
