"""A gang is released whole, once it is complete and its backend has programmed it."""

import copy
from dataclasses import replace

import pytest

from core_operator.plan.pods.gang_pods import (
    BaseState,
    base_state,
    gang_groups,
)
from core_operator.plan.release import (
    WaitingFor,
    plan_release,
)
from tests.plan.pod_samples import (
    BOUND,
    CLIQUE,
    FAILED,
    GATE,
    GATED,
    READY,
    RELEASED,
    PodState,
    condition,
    gang,
    going,
    pod,
    podclique,
)
from tests.plan.release_kit import (
    AFTER_RELEASE,
    AFTER_SCHEDULED,
    PROGRAMMED,
    RECORD,
    gang_of,
    indexes,
    pods_in,
    released,
)


def test_a_whole_and_programmed_gang_is_released_at_once() -> None:
    pods = pods_in(GATED, GATED, GATED)
    plan = released(pods, gang_of(pods, 2, PROGRAMMED))
    assert plan.ungate == tuple(pods)
    assert plan.initialized
    assert not plan.released
    assert (plan.reason, plan.message) == (WaitingFor.NOTHING, "")


@pytest.mark.parametrize(
    ("conditions", "reason", "waiting"),
    [
        ((), WaitingFor.PROGRAM, "backend example has not programmed the gang"),
        (
            (condition("Programmed", "False"), condition("Accepted")),
            WaitingFor.PROGRAM,
            "backend example has not programmed the gang",
        ),
    ],
)
def test_a_gang_waits_for_its_backend(
    conditions: tuple[object, ...], reason: WaitingFor, waiting: str
) -> None:
    pods = pods_in(GATED, GATED)
    plan = released(pods, gang_of(pods, 2, *conditions))
    assert plan.ungate == ()
    assert plan.initialized
    assert (plan.reason, plan.message) == (reason, waiting)


def test_a_gang_waits_for_all_its_pods() -> None:
    pods = pods_in(GATED, GATED, going(GATED), FAILED)
    plan = released(pods, gang_of(pods, 1, PROGRAMMED), wanted=4)
    assert plan.ungate == ()
    assert not plan.initialized
    assert (plan.reason, plan.message) == (WaitingFor.PODS, "2/4 pods exist")


def test_a_gang_waits_for_its_podcliques() -> None:
    plan = released([], gang_of([], 1, PROGRAMMED), wanted=0)
    assert not plan.initialized
    assert plan.message == f"PodClique {CLIQUE} does not exist"


def test_a_gang_waits_until_its_pods_are_referenced() -> None:
    pods = pods_in(GATED, GATED)
    plan = released(pods, gang_of(pods[:1], 1, PROGRAMMED))
    assert plan.ungate == ()
    assert not plan.initialized
    assert (plan.reason, plan.message) == (
        WaitingFor.REFERENCES,
        "1/2 pods are referenced by the PodGang",
    )


def test_a_foreign_object_with_our_labels_neither_counts_nor_is_released() -> None:
    ours, stranger = pod(0), pod(1, owner="somebody-else")
    of = gang_of([ours, stranger], 2, PROGRAMMED)
    assert released([ours, stranger], of, wanted=2).message == "1/2 pods exist"
    assert released([ours, stranger], of, wanted=1).ungate == (ours,)


def test_pods_for_a_backend_that_the_gang_has_left_do_not_count() -> None:
    pods = pods_in(GATED, replace(GATED, backend="other"))
    plan = released(pods, gang_of(pods, 2, PROGRAMMED))
    assert plan.ungate == ()
    assert plan.message == "1/2 pods exist"


def test_an_interrupted_release_is_finished_whatever_the_backend_reports_now() -> None:
    pods = pods_in(RELEASED, GATED, RELEASED, GATED)
    of = gang_of(pods, 4, condition("Programmed", "Unknown"), condition("Initialized"))
    plan = released(pods, of)
    assert indexes(plan.ungate) == ["1", "3"]
    assert plan.initialized


def test_the_replacement_of_a_lost_pod_is_released_when_it_is_referenced() -> None:
    pods = pods_in(READY, GATED, READY)
    of = gang_of(pods, 2, condition("Initialized"))
    assert indexes(released(pods, of, wanted=5).ungate) == ["1"]
    unreferenced = gang_of([pods[0], pods[2]], 2, condition("Initialized"))
    plan = released(pods, unreferenced)
    assert plan.ungate == ()
    assert plan.reason is WaitingFor.REFERENCES


def test_initialized_stays_while_a_lost_pod_of_a_released_gang_is_replaced() -> None:
    pods = pods_in(READY, going(READY))
    assert released(pods, gang_of(pods, 1, condition("Initialized")), wanted=2).initialized
    gated = pods_in(GATED, going(GATED))
    assert not released(gated, gang_of(gated, 1, condition("Initialized")), wanted=2).initialized


def test_a_released_gang_waits_for_nothing() -> None:
    pods = pods_in(READY, READY)
    plan = released(pods, gang_of(pods, 2), wanted=3)
    assert (plan.ungate, plan.message, plan.released) == ((), "", True)


BASE_DOWN = BaseState(name="w-0", bound=2, minimum=3, is_scheduled=False)
BASE_UP = BaseState(name="w-0", bound=3, minimum=3, is_scheduled=True)


def test_a_scaled_gang_waits_for_the_minimum_of_its_base() -> None:
    pods = pods_in(GATED, GATED)
    of = gang_of(pods, 2, PROGRAMMED)
    plan = released(pods, of, base=BASE_DOWN)
    assert plan.ungate == ()
    assert plan.initialized
    assert plan.reason is WaitingFor.BASE_GANG
    assert plan.message == "base gang w-0 is not scheduled: 2/3 pods scheduled"
    assert released(pods, of, base=BASE_UP).ungate == tuple(pods)


def test_the_minimum_of_a_base_is_counted_group_by_group() -> None:
    pods = [pod(i, BOUND, clique="a") for i in range(3)] + [pod(0, RELEASED, clique="b")]
    base = gang(("a", 1, []), ("b", 1, []), name="w-0")
    cliques = {name: podclique(3, name=name) for name in ("a", "b")}
    assert base_state("w-0", gang_groups(base, pods, cliques)) == BaseState("w-0", 1, 2, False)
    pods.append(pod(1, BOUND, clique="b"))
    assert base_state("w-0", gang_groups(base, pods, cliques)) == BaseState("w-0", 2, 2, True)
    strangers = [pod(i, BOUND, clique=c, owner="else") for i, c in enumerate("ab")]
    assert not base_state("w-0", gang_groups(base, strangers, cliques)).is_scheduled
    assert not base_state("w-0", ()).is_scheduled


def test_surplus_goes_with_the_members_unless_the_record_reports_otherwise() -> None:
    pods = pods_in(GATED, GATED, GATED)
    of = gang_of(pods, 2, PROGRAMMED)
    assert indexes(released(pods, of).ungate) == ["0", "1", "2"]
    held = released(pods, of, AFTER_SCHEDULED)
    assert indexes(held.ungate) == ["0", "1"]
    assert held.reason is WaitingFor.MINIMUM
    assert (
        held.message
        == "1 surplus pods are gated until the minimum is scheduled: 0/2 pods scheduled"
    )


@pytest.mark.parametrize(
    ("states", "ungated"),
    [
        ([RELEASED, RELEASED, GATED], []),
        ([BOUND, RELEASED, GATED], []),
        ([BOUND, READY, GATED], ["2"]),
        ([BOUND, GATED, GATED], ["1"]),
    ],
)
def test_gated_surplus_goes_once_the_minimum_is_bound(
    states: list[PodState], ungated: list[str]
) -> None:
    pods = pods_in(*states)
    plan = released(pods, gang_of(pods, 2, PROGRAMMED), AFTER_SCHEDULED)
    assert indexes(plan.ungate) == ungated


def test_a_backend_that_programs_after_the_release_only_has_to_accept() -> None:
    pods = pods_in(GATED, GATED)
    waiting = released(pods, gang_of(pods, 2, PROGRAMMED), AFTER_RELEASE)
    assert waiting.ungate == ()
    assert waiting.reason is WaitingFor.ACCEPTANCE
    assert waiting.message == "backend example has not accepted the gang"
    accepted = gang_of(pods, 2, condition("Accepted"))
    assert released(pods, accepted, AFTER_RELEASE).ungate == tuple(pods)


def test_only_our_gate_decides_who_is_released() -> None:
    pods = [pod(0, replace(GATED, gates=("quota",))), pod(1, replace(GATED, gates=(GATE, "q")))]
    plan = released(pods, gang_of(pods, 2, PROGRAMMED))
    assert indexes(plan.ungate) == ["1"]


def test_planning_leaves_its_inputs_alone() -> None:
    pods = pods_in(GATED, RELEASED, BOUND)
    of = gang_of(pods, 2, PROGRAMMED)
    cliques = {CLIQUE: podclique(3)}
    before = copy.deepcopy((pods, of, cliques))
    plan_release(of, gang_groups(of, pods, cliques), RECORD, BASE_UP)
    assert (pods, of, cliques) == before
