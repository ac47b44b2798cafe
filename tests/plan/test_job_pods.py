"""Pods of jobs: which are kept, created and deleted in which attempt, and what they count for."""

from dataclasses import replace

import pytest
from msgspec import structs

from core_operator.plan.jobs.cliques import clique_ending, done_indexes
from core_operator.plan.jobs.runs import SERVICE, Ending, JobOutcome, Run
from core_operator.plan.pods.gang_pods import gang_groups
from core_operator.plan.pods.pod_plan import plan_pods
from core_operator.plan.pods.preparation import Preparation
from core_operator.plan.statuses.podclique import SetPolicy, podclique_status
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique
from tests.plan.pod_samples import BACKEND, CLIQUE, NOW, READY, PodState, gang, pod, podclique

SUCCEEDED = PodState(gates=(), node="n1", phase="Succeeded")
FAILED = PodState(gates=(), node="n1", phase="Failed")
JOB = Run(ends=True, with_jobs=True)


def job(replicas: int, **status: object) -> PodClique:
    found = podclique(replicas)
    spec = {**found.spec.pod_spec, "restartPolicy": "Never"}
    changed = found.model_copy(update={"spec": found.spec.model_copy(update={"pod_spec": spec})})
    return PodClique.model_validate({**changed.manifest(), "status": status}) if status else changed


def of_attempt(attempt: int, one: Pod) -> Pod:
    labels = {**one.metadata.labels, names.LABEL_ATTEMPT: str(attempt)}
    return structs.replace(one, metadata=structs.replace(one.metadata, labels=labels))


def created(run: Run, *pods: Pod, replicas: int = 3) -> list[int]:
    plan = plan_pods(job(replicas), pods, replicas, Preparation(BACKEND, run=run))
    return [new.index for new in plan.create]


def test_a_pod_that_ended_keeps_its_index_in_a_job_and_loses_it_in_a_service() -> None:
    pods = (pod(0, SUCCEEDED), pod(1, FAILED), pod(2, READY))
    assert created(JOB, *pods) == []
    assert created(SERVICE, *pods) == [0, 1]
    plan = plan_pods(job(3), pods, 3, Preparation(BACKEND, run=JOB))
    assert plan.delete == ()


def test_an_index_that_is_done_needs_no_pod_any_more() -> None:
    assert created(replace(JOB, done=frozenset({0})), pod(1, READY)) == [2]
    assert created(replace(JOB, done=frozenset({0, 1, 2}))) == []


def test_pods_of_an_earlier_attempt_do_not_count_and_new_ones_have_other_names() -> None:
    second = replace(JOB, attempt=1)
    old = (pod(0, READY), pod(1, SUCCEEDED), pod(2, FAILED))
    assert created(second, *old) == [0, 1, 2]
    assert created(second, *(of_attempt(1, one) for one in old)) == []
    first = plan_pods(job(1), (), 1, Preparation(BACKEND, run=JOB)).create[0]
    next_ = plan_pods(job(1), (), 1, Preparation(BACKEND, run=second)).create[0]
    assert (first.attempt, next_.attempt) == (0, 1)
    assert first.name != next_.name


@pytest.mark.parametrize("label", ["", "x", "-1", "9" * 5000])
def test_a_label_that_is_no_attempt_means_the_first(label: str) -> None:
    one = pod(0, READY)
    labels = {**one.metadata.labels, names.LABEL_ATTEMPT: label}
    broken = structs.replace(one, metadata=structs.replace(one.metadata, labels=labels))
    assert replace(JOB, attempt=1).is_obsolete(broken)
    assert not JOB.is_obsolete(broken)


def test_a_gang_stays_scheduled_while_its_pods_end_one_after_the_other() -> None:
    clique, of = job(3), gang((CLIQUE, 3, ()))
    pods = (pod(0, SUCCEEDED), pod(1, READY), pod(2, FAILED))
    (group,) = gang_groups(of, pods, {CLIQUE: clique}, None, {CLIQUE: JOB})
    assert (group.is_scheduled, group.bound, group.ready) == (True, 3, 2)
    (group,) = gang_groups(of, pods, {CLIQUE: clique})
    assert not group.is_scheduled, "in a service two pods are lost"


def test_a_pod_that_is_replaced_in_a_job_does_not_wait_for_those_that_are_done() -> None:
    clique, of = job(4), gang((CLIQUE, 4, ()))
    run = replace(JOB, done=frozenset({0, 1}))
    pods = (pod(1, SUCCEEDED), pod(2, READY), pod(3, PodState()))
    (group,) = gang_groups(of, pods, {CLIQUE: clique}, None, {CLIQUE: run})
    assert group.required(4) == 2
    (group,) = gang_groups(of, (*pods[:2], pod(3, READY)), {CLIQUE: clique}, None, {CLIQUE: run})
    assert group.required(4) == 4, "nothing has to be scheduled"


def ending(clique: PodClique, run: Run, *pods: Pod) -> Ending | None:
    return clique_ending(clique, pods, run, done_indexes(clique, pods, run))


def test_a_clique_is_completed_when_every_index_succeeded_and_failed_when_a_pod_failed() -> None:
    assert ending(job(2), JOB, pod(0, SUCCEEDED), pod(1, READY)) is None
    done = ending(job(2), JOB, pod(0, SUCCEEDED), pod(1, SUCCEEDED))
    assert done is not None
    assert done.outcome is JobOutcome.COMPLETED
    failed = ending(job(2), JOB, pod(0, SUCCEEDED), pod(1, FAILED))
    assert failed is not None
    assert failed.outcome is JobOutcome.FAILED
    assert failed.message.startswith(f"pod {pod(1, FAILED).metadata.name} failed: ")


def test_a_pod_that_is_being_deleted_has_not_failed() -> None:
    deleted = replace(FAILED, terminating=True)
    assert ending(job(2), JOB, pod(0, READY), pod(1, deleted)) is None


def test_how_pods_end_after_their_replica_has_ended_does_not_count() -> None:
    over = replace(JOB, ending=Ending(JobOutcome.COMPLETED, "X", "done"))
    assert ending(job(2), over, pod(0, READY), pod(1, FAILED)) is None


def test_an_outcome_is_kept_until_the_next_attempt() -> None:
    entry = {
        "type": "Failed",
        "status": "True",
        "reason": "PodFailed",
        "message": "m",
        "lastTransitionTime": "2026-03-01T11:00:00Z",
    }
    failed = job(1, attempt=0, conditions=[entry])
    kept = ending(failed, JOB)
    assert kept is not None
    assert kept.outcome is JobOutcome.FAILED
    assert ending(failed, replace(JOB, attempt=1)) is None


def test_a_service_reports_nothing_about_jobs() -> None:
    status = podclique_status(podclique(1), (pod(0, READY),), None, NOW)
    assert {"attempt", "completedIndexes"}.isdisjoint(status)


def test_a_clique_with_a_job_counts_what_is_done_as_ready() -> None:
    policy = SetPolicy(run=JOB)
    pods = (pod(0, SUCCEEDED), pod(1, READY))
    status = podclique_status(job(2), pods, None, NOW, policy=policy)
    assert (status["attempt"], status["completedIndexes"]) == (0, "0")
    conditions = status["conditions"]
    assert isinstance(conditions, list)
    ready = next(one for one in conditions if isinstance(one, dict) and one["type"] == "Ready")
    assert ready["status"] == "True"
    assert ready["message"] == "2/2 pods ready or done, 1 succeeded"
