"""A PodClique counts its pods and says what they wait for."""

import copy
from datetime import datetime
from typing import Any, cast

import pytest

from core_operator.plan.statuses.podclique import SetPolicy, podclique_status
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.plan.statuses.update_progress import TargetRevision
from shared_api.models import PodClique, PodCliqueStatus, PodGang
from tests.plan.pod_samples import (
    BOUND,
    FAILED,
    GATED,
    LATER,
    NOW,
    READY,
    RELEASED,
    PodState,
    condition,
    gang,
    going,
    pod,
    podclique,
)

GANG = gang(("w-0-a", 2, []), conditions=[condition("Programmed")])
CRASHING = PodState(gates=(), node="n", crashed=True)
STARTED = PodState(gates=(), node="n", started=True)


def status_of(
    clique: PodClique,
    *states: PodState,
    now: datetime = NOW,
    of: PodGang | None = GANG,
    problem: Blocker | None = None,
) -> dict[str, Any]:
    pods = [pod(index, state) for index, state in enumerate(states)]
    return cast("dict[str, Any]", podclique_status(clique, pods, of, now, problem))


def said(status: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    PodCliqueStatus.model_validate(status)
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


def counts(status: dict[str, Any]) -> tuple[int, int, int, int]:
    return (
        status["replicas"],
        status["scheduleGatedReplicas"],
        status["scheduledReplicas"],
        status["readyReplicas"],
    )


def test_everything_ready() -> None:
    assert status_of(podclique(2, 2), READY, READY) == {
        "conditions": [
            {
                "type": "MinAvailableBreached",
                "status": "False",
                "reason": "SufficientReadyPods",
                "message": "2 pods ready or starting, minimum 2",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
                "observedGeneration": 4,
            },
            {
                "type": "PodCliqueScheduled",
                "status": "True",
                "reason": "SufficientScheduledPods",
                "message": "2 pods scheduled, minimum 2",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
                "observedGeneration": 4,
            },
            {
                "type": "Ready",
                "status": "True",
                "reason": "Ready",
                "message": "2/2 pods ready",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
                "observedGeneration": 4,
            },
        ],
        "observedGeneration": 4,
        "replicas": 2,
        "readyReplicas": 2,
        "updatedReplicas": 0,
        "scheduleGatedReplicas": 0,
        "scheduledReplicas": 2,
        "hpaPodSelector": "app.kubernetes.io/managed-by=grove-operator,"
        "app.kubernetes.io/part-of=w,grove.io/podclique=w-0-a",
    }


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], (0, 0, 0, 0)),
        ([GATED, GATED, RELEASED], (3, 2, 0, 0)),
        ([BOUND, READY, RELEASED], (3, 0, 2, 1)),
        ([READY, going(READY), FAILED], (1, 0, 1, 1)),
    ],
)
def test_pods_are_counted_by_how_far_they_are(
    states: list[PodState], expected: tuple[int, int, int, int]
) -> None:
    assert counts(status_of(podclique(3), *states)) == expected


def test_pods_of_others_are_not_counted() -> None:
    status = podclique_status(podclique(1), [pod(0, READY, owner="else")], GANG, NOW)
    assert status["replicas"] == 0


@pytest.mark.parametrize(
    ("states", "minimum", "expected"),
    [
        (
            [READY, READY, RELEASED],
            2,
            {
                "Ready": ("True", "Ready", "2/3 pods ready; 2/3 pods scheduled"),
                "Reconciling": ("True", "PodsNotScheduled", "2/3 pods scheduled"),
            },
        ),
        (
            [READY, BOUND, BOUND],
            2,
            {
                "Ready": ("False", "PodsNotReady", "1/3 pods ready; 2 starting"),
                "Reconciling": ("True", "PodsNotReady", "1/3 pods ready; 2 starting"),
            },
        ),
        (
            [READY],
            2,
            {
                "Ready": ("False", "PodsMissing", "1/3 pods ready; 1/3 pods exist"),
                "Reconciling": ("True", "PodsMissing", "1/3 pods exist"),
            },
        ),
        ([READY, READY, READY], 2, {"Ready": ("True", "Ready", "3/3 pods ready")}),
    ],
)
def test_ready_means_the_minimum_and_reconciling_means_not_all(
    states: list[PodState], minimum: int, expected: dict[str, tuple[str, str, str]]
) -> None:
    told = said(status_of(podclique(3, minimum), *states))
    assert {kind: told[kind] for kind in told if kind in {"Ready", "Reconciling", "Stalled"}} == (
        expected
    )


def test_a_failure_that_waiting_does_not_cure_stalls_the_podclique() -> None:
    problem = Blocker(BlockingReason.PODS_REFUSED, "spec.containers[0].image: Required value")
    told = said(status_of(podclique(3), problem=problem))
    assert told["Stalled"] == ("True", "PodsRefused", problem.message)
    assert told["Ready"] == ("False", "PodsRefused", f"0/3 pods ready; {problem.message}")
    assert "Reconciling" not in told


def test_a_gang_without_a_backend_is_the_reason_of_its_podcliques() -> None:
    unknown = condition("BackendSelected", "False", "BackendUnknown", "no backend 'x'; known: y")
    told = said(status_of(podclique(3), of=gang(("w-0-a", 1, []), conditions=[unknown])))
    assert told["Stalled"] == ("True", "BackendUnknown", "no backend 'x'; known: y")


@pytest.mark.parametrize(
    ("states", "status", "reason"),
    [
        ([READY, RELEASED], "True", "ScheduledReplicasBelowMinAvailable"),
        ([READY, BOUND], "False", "SufficientReadyPods"),
        ([READY, CRASHING], "True", "InsufficientReadyPods"),
        ([READY, STARTED], "True", "InsufficientReadyPods"),
        ([READY, READY, CRASHING], "False", "SufficientReadyPods"),
    ],
)
def test_the_minimum_is_breached_as_grove_judges_it(
    states: list[PodState], status: str, reason: str
) -> None:
    once_ready = status_of(podclique(3, 2), READY, READY)
    told = said(status_of(podclique(3, 2, status=once_ready), *states))
    assert told["MinAvailableBreached"][:2] == (status, reason)


def test_the_same_state_seen_later_is_the_same_status() -> None:
    first = status_of(podclique(3, 2), READY, BOUND, GATED)
    before = copy.deepcopy(first)
    again = status_of(podclique(3, 2, status=first), READY, BOUND, GATED, now=LATER)
    assert again == first == before


def test_only_conditions_whose_status_changed_are_dated_again() -> None:
    first = status_of(podclique(2, 2), READY, RELEASED)
    second = status_of(podclique(2, 2, status=first), READY, BOUND, now=LATER)
    dates = {c["type"]: c["lastTransitionTime"] for c in second["conditions"]}
    assert dates["Ready"] == "2026-03-01T12:00:00Z"
    assert dates["PodCliqueScheduled"] == "2026-03-01T12:05:00Z"


def test_members_of_a_scaling_group_publish_no_selector() -> None:
    member = podclique(1, labels={"grove.io/podcliquescalinggroup": "w-0-s"})
    assert "hpaPodSelector" not in status_of(member, READY)


def test_the_current_template_is_that_of_all_pods_or_still_the_old_one() -> None:
    hashed = {"grove.io/pod-template-hash": "hash"}
    pods = [pod(0, READY, labels=hashed), pod(1, READY, labels=hashed)]
    whole = podclique_status(podclique(2), pods, GANG, NOW)
    assert (whole["updatedReplicas"], whole["currentPodTemplateHash"]) == (2, "hash")
    old = podclique(2, status={"currentPodTemplateHash": "old"})
    part = podclique_status(old, [pods[0], pod(1, READY)], GANG, NOW)
    assert (part["updatedReplicas"], part["currentPodTemplateHash"]) == (1, "old")


def test_pods_are_updated_if_they_have_the_template_that_the_set_wants() -> None:
    hashed = {"grove.io/pod-template-hash": "hash"}
    pods = [pod(0, READY, labels=hashed), pod(1, READY, labels=hashed)]
    policy = SetPolicy(revision=TargetRevision("set", "next"))
    waiting = podclique_status(podclique(2), pods, GANG, NOW, policy=policy)
    assert (waiting["updatedReplicas"], waiting["currentPodTemplateHash"]) == (0, "hash")
    assert "updateProgress" not in waiting, "its update has not begun"
