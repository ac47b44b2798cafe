"""A PodGang says which backend it has and whether its pods are there, and nothing twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import pytest

from core_operator.plan.jobs.runs import Ending, JobOutcome
from core_operator.plan.placement.backends import Choice, RegisteredBackend, choose, needs_of
from core_operator.plan.pods.gang_pods import BaseState, gang_groups
from core_operator.plan.release import plan_release
from core_operator.plan.statuses.podgang import ended_gang_status, gang_summary, podgang_status
from shared_api import names
from shared_api.models import PodGang, SchedulerBackendSpec
from tests.plan.pod_samples import (
    BOUND,
    CLIQUE,
    GATED,
    LATER,
    NOW,
    READY,
    RELEASED,
    PodState,
    condition,
    gang,
    pod,
    podclique,
)
from tests.plan.samples import clique, pod_clique_set, record

RECORD = record("")
RECREATE = record("", release={"memberLost": "RecreateGang"})
CHOSEN = Choice("example", "s", ok=True, reason="Selected", message="backend 'example' by default")
BASE = BaseState("w-0", bound=1, minimum=3, is_scheduled=False)


def gang_in(states: Sequence[PodState], conditions: Sequence[object] = ()) -> PodGang:
    return gang((CLIQUE, 2, [f"{CLIQUE}-{i}" for i in range(len(states))]), conditions=conditions)


def status_of(
    of: PodGang,
    *states: PodState,
    choice: Choice = CHOSEN,
    backend: SchedulerBackendSpec = RECORD,
    base: BaseState | None = None,
    now: datetime = NOW,
) -> dict[str, Any]:
    pods = [pod(index, state) for index, state in enumerate(states)]
    groups = gang_groups(of, pods, {CLIQUE: podclique(2)})
    release = plan_release(of, groups, backend, base)
    return cast("dict[str, Any]", podgang_status(of, choice, backend, release, now))


def said(status: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


def test_a_gang_whose_pods_are_being_created() -> None:
    assert status_of(gang_in([]), GATED) == {
        "conditions": [
            {
                "type": "BackendSelected",
                "status": "True",
                "reason": "Selected",
                "message": "backend 'example' by default",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            },
            {
                "type": "Initialized",
                "status": "False",
                "reason": "PodGangPodsCreationPending",
                "message": "not all of 2 pods exist and are referenced by the PodGang",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            },
        ],
        "coreBlocker": {
            "reason": "PodGangPodsCreationPending",
            "message": "not all of 2 pods exist and are referenced by the PodGang",
        },
    }


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        (condition("Accepted", "False", "Unsupported", "m"), None),
        (condition("Programmed", "False", "Conflict", "m"), None),
        (condition("Programmed", "False", "Awaiting", "m"), "PodGangPodsCreationPending"),
    ],
)
def test_the_condition_of_the_backend_is_shown_once_it_refuses_the_gang(
    refusal: object, shown: str | None
) -> None:
    told = status_of(gang_in([], [refusal]), GATED)
    assert told.get("coreBlocker", {}).get("reason") == shown
    dead = replace(CHOSEN, ok=False, reason="BackendUnavailable", message="down")
    told = status_of(gang_in([], [refusal]), GATED, choice=dead)
    assert told["coreBlocker"] == {"reason": "BackendUnavailable", "message": "down"}


def test_the_happy_path_is_reported_in_two_statuses() -> None:
    states: list[list[PodState]] = [
        [],
        [GATED],
        [GATED, GATED],
        [RELEASED, GATED],
        [RELEASED, RELEASED],
        [BOUND, BOUND],
        [READY, READY],
    ]
    told: list[dict[str, Any]] = []
    status: dict[str, Any] = {"conditions": []}
    for at in states:
        of = gang_in(at, [*status["conditions"], condition("Programmed")])
        status = status_of(of, *at, now=LATER if told else NOW)
        if status not in told:
            told.append(status)
    assert [said(one)["Initialized"][0] for one in told] == ["False", "True"]


def counted(told: dict[str, Any]) -> tuple[int | None, int | None]:
    return told.get("incarnation"), told.get("placedIncarnation")


def test_incarnations_are_counted_when_none_of_their_members_is_left() -> None:
    programmed = condition("Programmed")
    told: dict[str, Any] = {"conditions": []}
    counts = []
    for states in (
        [GATED],
        [GATED, GATED],
        [RELEASED, RELEASED],
        # Lost while it waited.
        [RELEASED],
        [GATED, GATED],
        [RELEASED, RELEASED],
        [BOUND, RELEASED],
        [BOUND, BOUND],
        # Lost one after the other.
        [BOUND, GATED],
        [BOUND, RELEASED],
        [GATED, RELEASED],
        [GATED, GATED],
    ):
        before = gang_in(states).manifest()
        conditions = [*told["conditions"], programmed]
        of = PodGang.model_validate({**before, "status": {**told, "conditions": conditions}})
        told = status_of(of, *states, backend=RECREATE)
        counts.append(counted(told))
    assert counts == [
        (None, None),
        (None, None),
        (None, None),
        (1, None),
        (1, None),
        (1, None),
        (1, 1),
        (1, 1),
        (1, 1),
        (1, 1),
        (2, 1),
        (2, 1),
    ]


def test_nothing_is_counted_where_the_record_does_not_ask_for_it() -> None:
    of = gang_in([BOUND, BOUND], [condition("Programmed")])
    assert counted(status_of(of, BOUND, BOUND)) == (None, None)
    lost = PodGang.model_validate(
        {**of.manifest(), "status": {"incarnation": 3, "placedIncarnation": 3}}
    )
    assert counted(status_of(lost, GATED)) == (3, 3), "what another backend made core count stays"


@pytest.mark.parametrize(
    ("wanted", "status", "reason", "message"),
    [
        (
            "a,b",
            "False",
            "BackendUnavailable",
            "backend 'a' is down: dead; no backend 'b'; known: a, c",
        ),
        ("b", "False", "BackendUnknown", "no backend 'b'; known: a, c"),
        (
            "a,c",
            "True",
            "Selected",
            "backend 'c' by annotation grove.io/scheduler-backend;"
            " passed over: backend 'a' is down: dead",
        ),
    ],
)
def test_why_a_backend_has_the_gang_or_has_not_is_reported_once(
    wanted: str, status: str, reason: str, message: str
) -> None:
    annotations = {names.ANNOTATION_SCHEDULER_BACKEND: wanted}
    pcs = pod_clique_set(clique("x"), metadata={"annotations": annotations})
    known = {
        "a": RegisteredBackend("a", record("a"), available=False, unavailable_reason="dead"),
        "c": RegisteredBackend("c", record("c"), available=True, unavailable_reason=""),
    }
    choice = choose(pcs, needs_of(pcs), known, "c", None, released=False)
    told = said(status_of(gang_in([]), choice=choice))
    assert told["BackendSelected"] == (status, reason, message)


def test_without_a_record_the_gang_is_not_initialized() -> None:
    choice = replace(CHOSEN, backend=None, ok=False, reason="BackendUnknown", message="m")
    status = cast("dict[str, Any]", podgang_status(gang_in([]), choice, None, None, NOW))
    assert said(status)["Initialized"][0] == "False"


def test_a_scaled_gang_reports_that_it_waits_and_later_that_it_was_released() -> None:
    states = [GATED, GATED]
    waiting = status_of(gang_in(states, [condition("Programmed")]), *states, base=BASE)
    assert said(waiting)["Released"] == (
        "False",
        "BaseGangNotScheduled",
        "base gang w-0 is not scheduled: 1/3 pods scheduled",
    )
    free = status_of(gang_in(states, waiting["conditions"]), RELEASED, RELEASED)
    assert said(free)["Released"][:2] == ("True", "Released")


@pytest.mark.parametrize(("states", "status"), [([RELEASED] * 2, "True"), ([GATED] * 2, "False")])
def test_a_backend_that_has_to_know_is_told_whether_the_release_was_complete(
    states: list[PodState], status: str
) -> None:
    told = said(status_of(gang_in(states), *states, backend=RECREATE))
    assert told["Released"][0] == status
    assert "Released" not in said(status_of(gang_in(states), *states))


def test_conditions_of_the_backend_are_not_ours_to_apply() -> None:
    theirs = [condition("Programmed"), condition("Scheduled"), condition("Ready")]
    told = said(status_of(gang_in([GATED], theirs), GATED))
    assert set(told) == {"BackendSelected", "Initialized"}


@pytest.mark.parametrize(
    ("states", "phase", "message"),
    [
        ([], "Pending", "gang w-0: 0/2 pods exist"),
        ([RELEASED, BOUND], "Pending", "gang w-0: 1/2 pods scheduled"),
        ([READY, BOUND], "Starting", "gang w-0: 1/2 pods ready; 1 starting"),
        ([READY, READY], "Running", None),
    ],
)
def test_a_gang_in_one_line(states: list[PodState], phase: str, message: str | None) -> None:
    of = gang_in(states)
    pods = [pod(index, state) for index, state in enumerate(states)]
    summary = gang_summary(of, gang_groups(of, pods, {CLIQUE: podclique(2)}))
    assert (summary.name, summary.phase.value) == ("w-0", phase)
    assert (summary.blocker.message if summary.blocker else None) == message


@pytest.mark.parametrize("reason", ["Conflict", "PodsRefused", "PodFieldsDropped"])
def test_a_gang_reports_what_keeps_its_podcliques_from_making_pods(reason: str) -> None:
    of = gang_in([GATED])
    stalled = condition("Stalled", "True", reason, "no such thing")
    cliques = {CLIQUE: podclique(2, status={"conditions": [stalled]})}
    summary = gang_summary(of, gang_groups(of, [pod(0, GATED)], cliques), cliques.values())
    assert summary.blocker is not None
    assert summary.blocker.stalled
    assert summary.blocker.message == f"gang w-0: {CLIQUE}: no such thing"


def test_what_a_podclique_repeats_of_its_gang_is_reported_once() -> None:
    of = gang_in([GATED])
    repeated = condition("Reconciling", "True", "PodsMissing", "1/2 pods exist")
    cliques = {CLIQUE: podclique(2, status={"conditions": [repeated]})}
    summary = gang_summary(of, gang_groups(of, [pod(0, GATED)], cliques), cliques.values())
    assert summary.blocker is not None
    assert summary.blocker.message == "gang w-0: 1/2 pods exist"


def test_a_gang_whose_jobs_have_ended_keeps_the_attempts_to_place_it() -> None:
    placement = {"attempts": [{"backend": "example", "from": "2026-03-01T12:00:00Z"}]}
    ran = PodGang.model_validate({**gang_in([]).manifest(), "status": {"placement": placement}})
    done = Ending(JobOutcome.COMPLETED, "CompletionCriteriaMet", "1/1 replicas completed")
    assert ended_gang_status(ran, done, NOW)["placement"] == placement
    assert "placement" not in ended_gang_status(gang_in([]), done, NOW)
