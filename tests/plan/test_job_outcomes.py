"""Whether jobs have ended, are restarted, or go on: the plan, from statuses alone."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.job_outcomes import JobDecision, plan_jobs, removal_time
from core_operator.plan.jobs.indexes import from_text, to_text
from core_operator.plan.jobs.runs import JobOutcome, ending_of
from core_operator.plan.layout.expansion import expand
from shared_api import names
from shared_api.models import PodClique, PodCliqueScalingGroup, PodCliqueSet
from tests.plan.samples import QUICK, clique, group, pod_clique_set, pod_spec

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMPLETED, FAILED = names.CONDITION_COMPLETED, names.CONDITION_FAILED
NEVER = pod_spec(restartPolicy="Never")
LEADER = {"completion": {"success": {"completedNames": ["leader"]}, "failure": {"maxRestarts": 1}}}


def condition(kind: str, message: str = "pod x failed") -> dict[str, object]:
    moment = "2026-03-01T11:00:00Z"
    entry = {"status": "True", "reason": "X", "message": message, "lastTransitionTime": moment}
    return {"type": kind, **entry}


def job_set(
    *names_: str,
    policy: Mapping[str, object] | None = None,
    status: Mapping[str, object] | None = None,
    **more: Any,
) -> PodCliqueSet:
    pcs = pod_clique_set(*(clique(name, pod=NEVER) for name in names_), **more)
    values: dict[str, object] = {**pcs.manifest(), "status": {**(status or {})}}
    if policy is not None:
        values["spec"] = {**pcs.spec.manifest(), "policy": {"completion": policy}}
    return PodCliqueSet.model_validate(values)


def reported(name: str, kind: str = "", attempt: int = 0, scheduled: int = 1) -> PodClique:
    conditions = [condition(kind)] if kind else []
    return PodClique.model_validate(
        {
            "metadata": {"name": name},
            "spec": {"roleName": "r", "podSpec": NEVER, "replicas": 1},
            "status": {
                "attempt": attempt,
                "conditions": conditions,
                "scheduledReplicas": scheduled,
            },
        }
    )


def live_group(name: str, **status: object) -> PodCliqueScalingGroup:
    return PodCliqueScalingGroup.model_validate(
        {
            "metadata": {"name": name},
            "spec": {"replicas": 2, "minAvailable": 1, "cliqueNames": ["leader", "worker"]},
            "status": status,
        }
    )


def planned(
    pcs: PodCliqueSet, *cliques: PodClique, groups: tuple[PodCliqueScalingGroup, ...] = ()
) -> JobDecision:
    return plan_jobs(
        pcs,
        expand(pcs, {}),
        {one.metadata.name: one for one in cliques},
        {one.metadata.name: one for one in groups},
        NOW,
    )


def test_a_set_is_completed_only_when_all_its_replicas_are() -> None:
    pcs = job_set("a", replicas=2)
    one = planned(pcs, reported("w-0-a", COMPLETED), reported("w-1-a"))
    assert (set(one.record.completed), one.record.ending) == ({0}, None)
    both = planned(pcs, reported("w-0-a", COMPLETED), reported("w-1-a", COMPLETED))
    assert both.record.ending is not None
    assert both.record.ending.outcome is JobOutcome.COMPLETED


def test_a_replica_that_is_completed_stays_so_whatever_its_pods_report_later() -> None:
    pcs = job_set("a", replicas=2, status={"completedIndexes": "0"})
    plan = planned(pcs, reported("w-0-a", FAILED), reported("w-1-a"))
    assert (set(plan.record.completed), plan.record.ending) == ({0}, None)


def test_the_first_replica_without_a_restart_left_fails_the_set() -> None:
    plan = planned(job_set("a", replicas=2), reported("w-0-a"), reported("w-1-a", FAILED))
    assert plan.record.ending is not None
    assert plan.record.ending.outcome is JobOutcome.FAILED
    assert plan.record.ending.reason == names.REASON_RESTART_BUDGET_EXHAUSTED
    message = "replica 1 failed after 0 restarts, maxRestarts is 0: w-1-a: pod x failed"
    assert plan.record.ending.message == message


def test_a_failure_is_counted_once_and_not_again_for_the_next_attempt() -> None:
    policy = {"failure": {"maxRestarts": 2}}
    first = planned(job_set("a", policy=policy), reported("w-0-a", FAILED))
    assert first.record.restarts == (1,)
    assert [one.message for one in first.restarts] == [
        "replica 0 is restarted, 1 of 2 times: w-0-a: pod x failed"
    ]
    # The PodClique still reports the former attempt.
    counted = job_set("a", policy=policy, status={"replicaRestartCounts": [1]})
    again = planned(counted, reported("w-0-a", FAILED, attempt=0))
    assert (again.record.restarts, again.restarts, again.record.ending) == ((1,), (), None)
    second = planned(counted, reported("w-0-a", FAILED, attempt=1))
    assert second.record.restarts == (2,)


def test_the_count_of_restarts_survives_that_somebody_removes_it_from_the_status() -> None:
    policy = {"failure": {"maxRestarts": 2}}
    plan = planned(job_set("a", policy=policy), reported("w-0-a", attempt=2))
    assert plan.record.restarts == (2,)


def test_only_the_named_cliques_must_complete_and_any_failure_counts() -> None:
    pcs = job_set("a", "b", policy={"success": {"completedNames": ["a"]}})
    assert planned(pcs, reported("w-0-a", COMPLETED), reported("w-0-b")).record.ending is not None
    failed = planned(pcs, reported("w-0-a"), reported("w-0-b", FAILED)).record.ending
    assert failed is not None
    assert failed.outcome is JobOutcome.FAILED
    # What is required is done, so the failure of the rest does not count any more.
    done = planned(pcs, reported("w-0-a", COMPLETED), reported("w-0-b", FAILED)).record.ending
    assert done is not None
    assert done.outcome is JobOutcome.COMPLETED


def grouped(**more: Any) -> PodCliqueSet:
    one = group("s", "leader", "worker", replicas=2, minimum=1, policy=LEADER)
    return job_set("leader", "worker", groups=(one,), **more)


def members(
    reports: Mapping[str, str], attempts: Mapping[str, int] | None = None
) -> list[PodClique]:
    parts = [f"w-0-s-{index}-{name}" for index in (0, 1) for name in ("leader", "worker")]
    found = attempts or {}
    return [reported(part, reports.get(part, ""), found.get(part, 0)) for part in parts]


def test_a_group_restarts_its_own_replica_and_nothing_else() -> None:
    plan = planned(grouped(), *members({"w-0-s-1-worker": FAILED}), groups=(live_group("w-0-s"),))
    assert plan.groups["w-0-s"].restarts == (0, 1)
    assert (plan.record.restarts, plan.record.ending) == ((), None)


def test_a_group_without_a_restart_left_restarts_the_replica_of_the_set() -> None:
    pcs = grouped(policy={"failure": {"maxRestarts": 1}})
    live = live_group("w-0-s", replicaRestartCounts=[0, 1], attempt=0)
    attempts = {"w-0-s-1-worker": 1, "w-0-s-1-leader": 1}
    plan = planned(pcs, *members({"w-0-s-1-worker": FAILED}, attempts), groups=(live,))
    assert plan.record.restarts == (1,)
    assert not plan.groups, "the group's record is about the attempt that ends"
    # In the next attempt of the set, what the group has recorded before does not count.
    restarted = grouped(
        policy={"failure": {"maxRestarts": 1}}, status={"replicaRestartCounts": [1]}
    )
    failed = live_group(
        "w-0-s", replicaRestartCounts=[0, 1], attempt=0, conditions=[condition(FAILED)]
    )
    after = planned(restarted, *members({}, attempts), groups=(failed,))
    assert after.record.ending is None
    assert (after.groups["w-0-s"].attempt, after.groups["w-0-s"].ending) == (1, None)


def test_a_group_is_completed_when_the_leaders_of_all_its_replicas_are() -> None:
    leaders = {"w-0-s-0-leader": COMPLETED, "w-0-s-1-leader": COMPLETED}
    plan = planned(grouped(), *members(leaders), groups=(live_group("w-0-s"),))
    assert set(plan.groups["w-0-s"].completed) == {0, 1}
    assert plan.record.ending is not None
    assert plan.record.ending.outcome is JobOutcome.COMPLETED


def test_max_runtime_counts_from_when_the_set_was_scheduled() -> None:
    policy = {"failure": {"maxRuntime": "1h"}}
    waiting = planned(job_set("a", policy=policy), reported("w-0-a", scheduled=0))
    assert (waiting.record.started, waiting.deadline) == (None, None)
    started = planned(job_set("a", policy=policy), reported("w-0-a"))
    assert (started.record.started, started.deadline) == (NOW, NOW + timedelta(hours=1))
    late = job_set("a", policy=policy, status={"jobStartTime": NOW - timedelta(hours=1)})
    plan = planned(late, reported("w-0-a"))
    assert plan.record.ending is not None
    assert plan.record.ending.reason == names.REASON_MAX_RUNTIME_EXCEEDED


def test_a_set_that_has_ended_is_not_evaluated_again() -> None:
    status = {"conditions": [condition(FAILED, "why")], "completedIndexes": "0"}
    pcs = job_set("a", "b", replicas=2, status=status, policy={"failure": {"maxRestarts": 9}})
    plan = planned(pcs, *(reported(f"w-{index}-a", COMPLETED) for index in (0, 1)))
    assert plan.record.ending is not None
    assert (plan.record.ending.outcome, plan.record.ending.message) == (JobOutcome.FAILED, "why")
    assert (set(plan.record.completed), plan.restarts) == ({0}, ())
    assert not plan.groups
    ended = [ending_of(pcs, index) for index in (0, 1)]
    outcomes = [one.outcome for one in ended if one is not None]
    assert outcomes == [JobOutcome.COMPLETED, JobOutcome.FAILED], "what was done before stays so"


def test_a_finished_set_is_removed_its_ttl_after_it_has_ended() -> None:
    policy = {"ttlSecondsAfterFinished": 60}
    status = {"conditions": [condition(COMPLETED)]}
    ended = datetime(2026, 3, 1, 11, tzinfo=UTC)
    assert removal_time(job_set("a", policy=policy, status=status), NOW) == ended + timedelta(
        seconds=60
    )
    assert removal_time(job_set("a", policy=policy), NOW) == NOW + timedelta(seconds=60)
    assert removal_time(job_set("a", status=status), NOW) is None


@QUICK
@given(st.frozensets(st.integers(0, 40)))
def test_indexes_are_read_as_they_were_written(indexes: frozenset[int]) -> None:
    assert from_text(to_text(indexes), 41) == indexes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0-2,5", {0, 1, 2, 5}),
        ("3-1", set()),
        ("x,1,-", {1}),
        ("0-99999999999", set()),
        ("", set()),
    ],
)
def test_a_status_may_hold_any_text_and_no_index_is_beyond_the_size(
    text: str, found: set[int]
) -> None:
    assert from_text(text, 8) == found
    assert from_text("0-999999999", 3) == {0, 1, 2}
