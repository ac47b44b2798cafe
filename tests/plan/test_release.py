"""Gates go when a gang is whole and its backend is done with it, and not before."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from core_operator.plan.gang_pods import (
    BaseState,
    base_state,
    gang_groups,
    has_begun,
    released_on,
)
from core_operator.plan.release import (
    Release,
    Waiting,
    annotations_to_drop,
    plan_release,
    ungate_patch,
)
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodGang, SchedulerBackendSpec
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
from tests.plan.samples import record

PROGRAMMED = condition("Programmed")
RECORD = record("")
AFTER_SCHEDULED = record("", release={"surplus": "AfterScheduled"})
AFTER_RELEASE = record("", release={"programs": "AfterRelease"})
RECREATE = record("", release={"memberLost": "RecreateGang"})


def gang_of(
    pods: Sequence[Pod], minimum: int, *conditions: object, backend: str = "example"
) -> PodGang:
    """A gang of one group in which all these pods are referenced."""
    names = [p.metadata.name for p in pods]
    return gang((CLIQUE, minimum, names), conditions=conditions, backend=backend)


def released(
    pods: Sequence[Pod],
    of: PodGang,
    backend: SchedulerBackendSpec = RECORD,
    *,
    wanted: int | None = None,
    base: BaseState | None = None,
) -> Release:
    replicas = len(pods) if wanted is None else wanted
    cliques: Mapping[str, PodClique] = {CLIQUE: podclique(replicas)} if replicas else {}
    return plan_release(of, gang_groups(of, pods, cliques), backend, base)


def pods_in(*states: PodState) -> list[Pod]:
    return [pod(index, state) for index, state in enumerate(states)]


def indexes(pods: Sequence[Pod]) -> list[str]:
    return [p.metadata.name.removeprefix(f"{CLIQUE}-") for p in pods]


def test_a_whole_and_programmed_gang_is_released_at_once() -> None:
    pods = pods_in(GATED, GATED, GATED)
    plan = released(pods, gang_of(pods, 2, PROGRAMMED))
    assert plan.ungate == tuple(pods)
    assert plan.initialized
    assert not plan.released
    assert (plan.reason, plan.waiting) == (Waiting.FOR_NOTHING, "")


@pytest.mark.parametrize(
    ("conditions", "reason", "waiting"),
    [
        ((), Waiting.FOR_PROGRAM, "backend example has not programmed the gang"),
        (
            (condition("Programmed", "False"), condition("Accepted")),
            Waiting.FOR_PROGRAM,
            "backend example has not programmed the gang",
        ),
    ],
)
def test_a_gang_waits_for_its_backend(
    conditions: tuple[object, ...], reason: Waiting, waiting: str
) -> None:
    pods = pods_in(GATED, GATED)
    plan = released(pods, gang_of(pods, 2, *conditions))
    assert plan.ungate == ()
    assert plan.initialized
    assert (plan.reason, plan.waiting) == (reason, waiting)


def test_a_gang_waits_for_all_its_pods() -> None:
    pods = pods_in(GATED, GATED, going(GATED), FAILED)
    plan = released(pods, gang_of(pods, 1, PROGRAMMED), wanted=4)
    assert plan.ungate == ()
    assert not plan.initialized
    assert (plan.reason, plan.waiting) == (Waiting.FOR_PODS, "2/4 pods exist")


def test_a_gang_waits_for_its_podcliques() -> None:
    plan = released([], gang_of([], 1, PROGRAMMED), wanted=0)
    assert not plan.initialized
    assert plan.waiting == f"PodClique {CLIQUE} does not exist"


def test_a_gang_waits_until_its_pods_are_referenced() -> None:
    pods = pods_in(GATED, GATED)
    plan = released(pods, gang_of(pods[:1], 1, PROGRAMMED))
    assert plan.ungate == ()
    assert not plan.initialized
    assert (plan.reason, plan.waiting) == (
        Waiting.FOR_REFERENCES,
        "1/2 pods are in the PodGang",
    )


def test_a_stranger_with_our_labels_neither_counts_nor_is_released() -> None:
    ours, stranger = pod(0), pod(1, owner="somebody-else")
    of = gang_of([ours, stranger], 2, PROGRAMMED)
    assert released([ours, stranger], of, wanted=2).waiting == "1/2 pods exist"
    assert released([ours, stranger], of, wanted=1).ungate == (ours,)


def test_pods_for_a_backend_that_the_gang_has_left_do_not_count() -> None:
    pods = pods_in(GATED, replace(GATED, backend="other"))
    plan = released(pods, gang_of(pods, 2, PROGRAMMED))
    assert plan.ungate == ()
    assert plan.waiting == "1/2 pods exist"


def test_an_interrupted_release_is_finished_whatever_the_backend_says_now() -> None:
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
    assert plan.reason is Waiting.FOR_REFERENCES


def test_initialized_stays_while_a_lost_pod_of_a_released_gang_is_replaced() -> None:
    pods = pods_in(READY, going(READY))
    assert released(pods, gang_of(pods, 1, condition("Initialized")), wanted=2).initialized
    gated = pods_in(GATED, going(GATED))
    assert not released(gated, gang_of(gated, 1, condition("Initialized")), wanted=2).initialized


def test_a_released_gang_waits_for_nothing() -> None:
    pods = pods_in(READY, READY)
    plan = released(pods, gang_of(pods, 2), wanted=3)
    assert (plan.ungate, plan.waiting, plan.released) == ((), "", True)


BASE_DOWN = BaseState(name="w-0", bound=2, minimum=3, is_placed=False)
BASE_UP = BaseState(name="w-0", bound=3, minimum=3, is_placed=True)


def test_a_scaled_gang_waits_for_the_minimum_of_its_base() -> None:
    pods = pods_in(GATED, GATED)
    of = gang_of(pods, 2, PROGRAMMED)
    plan = released(pods, of, base=BASE_DOWN)
    assert plan.ungate == ()
    assert plan.initialized
    assert plan.reason is Waiting.FOR_BASE
    assert plan.waiting == "waits for base gang w-0: 2/3 pods scheduled"
    assert released(pods, of, base=BASE_UP).ungate == tuple(pods)


def test_the_minimum_of_a_base_is_counted_group_by_group() -> None:
    pods = [pod(i, BOUND, clique="a") for i in range(3)] + [pod(0, RELEASED, clique="b")]
    base = gang(("a", 1, []), ("b", 1, []), name="w-0")
    cliques = {name: podclique(3, name=name) for name in ("a", "b")}
    assert base_state("w-0", gang_groups(base, pods, cliques)) == BaseState("w-0", 1, 2, False)
    pods.append(pod(1, BOUND, clique="b"))
    assert base_state("w-0", gang_groups(base, pods, cliques)) == BaseState("w-0", 2, 2, True)
    strangers = [pod(i, BOUND, clique=c, owner="else") for i, c in enumerate("ab")]
    assert not base_state("w-0", gang_groups(base, strangers, cliques)).is_placed
    assert not base_state("w-0", ()).is_placed


def test_surplus_goes_with_the_members_unless_the_record_says_otherwise() -> None:
    pods = pods_in(GATED, GATED, GATED)
    of = gang_of(pods, 2, PROGRAMMED)
    assert indexes(released(pods, of).ungate) == ["0", "1", "2"]
    held = released(pods, of, AFTER_SCHEDULED)
    assert indexes(held.ungate) == ["0", "1"]
    assert held.reason is Waiting.FOR_MINIMUM
    assert held.waiting == "1 surplus pods wait for the minimum: 0/2 pods scheduled"


@pytest.mark.parametrize(
    ("states", "ungated"),
    [
        ([RELEASED, RELEASED, GATED], []),
        ([BOUND, RELEASED, GATED], []),
        ([BOUND, READY, GATED], ["2"]),
        ([BOUND, GATED, GATED], ["1"]),
    ],
)
def test_held_surplus_goes_once_the_minimum_is_bound(
    states: list[PodState], ungated: list[str]
) -> None:
    pods = pods_in(*states)
    plan = released(pods, gang_of(pods, 2, PROGRAMMED), AFTER_SCHEDULED)
    assert indexes(plan.ungate) == ungated


def test_a_backend_that_programs_after_the_release_only_has_to_accept() -> None:
    pods = pods_in(GATED, GATED)
    waiting = released(pods, gang_of(pods, 2, PROGRAMMED), AFTER_RELEASE)
    assert waiting.ungate == ()
    assert waiting.reason is Waiting.FOR_ACCEPTANCE
    assert waiting.waiting == "backend example has not accepted the gang"
    accepted = gang_of(pods, 2, condition("Accepted"))
    assert released(pods, accepted, AFTER_RELEASE).ungate == tuple(pods)


@pytest.mark.parametrize(
    ("states", "ungated"),
    [
        ([GATED, GATED], []),
        ([RELEASED, GATED], []),
        ([GATED, GATED, READY], []),
        ([BOUND, GATED], ["1"]),
        ([RELEASED, RELEASED, GATED], ["2"]),
    ],
    ids=["all lost", "one lost while it waits", "surplus runs", "one of two", "surplus is held"],
)
def test_a_gang_that_was_lost_is_released_again_only_when_it_is_withdrawn(
    states: list[PodState], ungated: list[str]
) -> None:
    pods, accepted = pods_in(*states), condition("Accepted")
    known = gang_of(pods, 2, accepted, PROGRAMMED)
    plan = released(pods, known, AFTER_RELEASE)
    assert indexes(plan.ungate) == ungated
    if not ungated:
        assert plan.reason is Waiting.FOR_WITHDRAWAL
        assert plan.waiting == "backend example has not withdrawn the lost gang"
    withdrawn = gang_of(pods, 2, accepted, condition("Programmed", "False"))
    free = released(pods, withdrawn, AFTER_RELEASE)
    assert indexes(free.ungate) == [str(i) for i, state in enumerate(states) if state is GATED]
    # Where objects come first, they are there all the time.
    usual = released(pods, known)
    assert indexes(usual.ungate) == indexes(free.ungate)


def test_a_gang_of_one_is_released_again_at_once() -> None:
    pods = pods_in(GATED)
    known = gang_of(pods, 1, condition("Accepted"), PROGRAMMED)
    assert indexes(released(pods, known, AFTER_RELEASE).ungate) == ["0"]


def test_only_our_gate_decides_who_is_released() -> None:
    pods = [pod(0, replace(GATED, gates=("quota",))), pod(1, replace(GATED, gates=(GATE, "q")))]
    plan = released(pods, gang_of(pods, 2, PROGRAMMED))
    assert indexes(plan.ungate) == ["1"]


def test_a_gang_that_lost_a_member_before_placement_is_made_anew_on_request() -> None:
    pods = pods_in(RELEASED, GATED, BOUND, RELEASED)
    of = gang_of(pods, 3, PROGRAMMED, condition("Released"))
    assert released(pods, of).recreate == ()
    plan = released(pods, of, RECREATE)
    # Index 3 is surplus, index 2 is bound: both stay.
    assert indexes(plan.recreate) == ["0"]
    assert plan.ungate == ()
    assert plan.reason is Waiting.FOR_FRESH_MEMBERS


RELEASED_ONCE = condition("Released")


@pytest.mark.parametrize(
    ("states", "conditions", "now", "placed", "afresh"),
    [
        # Lost while none was placed.
        ((RELEASED, GATED), (RELEASED_ONCE,), None, None, True),
        ((), (RELEASED_ONCE,), 3, None, True),
        # Lost one after the other: the condition tells of the first loss alone.
        ((GATED, GATED), (), None, 0, True),
        ((RELEASED, GATED), (), 2, 2, True),
        ((RELEASED, RELEASED), (), 2, 2, True),
        # A surplus pod is no member.
        ((RELEASED, GATED, BOUND), (), None, 0, True),
        # Its scheduler still has something of the gang, and goes on with it.
        ((BOUND, GATED), (RELEASED_ONCE,), None, 0, False),
        ((BOUND, RELEASED), (), None, 0, False),
        # It waits to be placed.
        ((RELEASED, RELEASED), (RELEASED_ONCE,), None, None, False),
        ((RELEASED, RELEASED), (RELEASED_ONCE,), 1, 0, False),
        ((GATED, GATED), (), 1, 0, False),
    ],
)
def test_a_gang_that_was_seen_and_of_which_nothing_is_placed_is_another_one_from_then_on(
    states: tuple[PodState, ...],
    conditions: tuple[object, ...],
    now: int | None,
    placed: int | None,
    afresh: bool,
) -> None:
    pods = pods_in(*states)
    of = gang_of(pods, 2, PROGRAMMED, *conditions)
    assert of.status is not None
    status = of.status.model_copy(update={"incarnation": now, "placed_incarnation": placed})
    of = of.model_copy(update={"status": status})
    plan = released(pods, of, RECREATE, wanted=max(2, len(pods)))
    assert plan.afresh is afresh
    assert not released(pods, of, wanted=2).afresh, "only where the record asks for it"
    if afresh:
        # Members that wait by themselves would be of the former one.
        waiting = [i for i, state in enumerate(states[:2]) if state is RELEASED]
        assert indexes(plan.recreate) == [str(i) for i in waiting]
        assert plan.ungate == ()
        assert plan.reason is Waiting.FOR_FRESH_MEMBERS


def test_an_interrupted_release_is_not_taken_for_a_lost_member() -> None:
    pods = pods_in(RELEASED, GATED)
    plan = released(pods, gang_of(pods, 2, PROGRAMMED), RECREATE)
    assert (indexes(plan.recreate), indexes(plan.ungate)) == ([], ["1"])


def test_members_made_anew_wait_for_the_backend_again() -> None:
    pods = pods_in(GATED, BOUND)
    of = gang_of(pods, 2, condition("Released", "False"), condition("Programmed", "False"))
    assert released(pods, of, RECREATE).reason is Waiting.FOR_PROGRAM


def test_a_member_lost_after_placement_is_only_replaced() -> None:
    pods = pods_in(READY, GATED, READY)
    plan = released(pods, gang_of(pods, 2, condition("Released")), RECREATE)
    assert (plan.recreate, indexes(plan.ungate)) == ((), ["1"])


@pytest.mark.parametrize(
    ("states", "begun"),
    [([], False), ([GATED, GATED], False), ([GATED, RELEASED], True), ([going(READY)], False)],
)
def test_a_gang_has_begun_once_a_scheduler_may_have_seen_it(
    states: list[PodState], begun: bool
) -> None:
    pods = pods_in(*states)
    groups = gang_groups(gang_of(pods, 1), pods, {CLIQUE: podclique()})
    assert has_begun(groups) == begun


def test_lifting_a_gate_names_its_place_and_its_pod() -> None:
    held = pod(0, replace(GATED, gates=("a/b", GATE, "c")))
    assert ungate_patch(held, GATE, {}) == [
        {"op": "test", "path": "/metadata/uid", "value": held.metadata.uid},
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": GATE},
        {"op": "remove", "path": "/spec/schedulingGates/1"},
    ]


def test_a_gate_is_lifted_only_with_what_the_pod_was_prepared_with() -> None:
    fields: JsonObject = {"schedulerName": "s", "schedulingGroup": {"podGroupName": "w-0"}}
    steps = ungate_patch(pod(0, GATED), GATE, fields)
    assert steps[2:] == [
        {"op": "test", "path": "/spec/schedulerName", "value": "s"},
        {"op": "test", "path": "/spec/schedulingGroup/podGroupName", "value": "w-0"},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


def test_annotations_are_dropped_from_bound_members_only() -> None:
    drop = record("", release={"afterBound": {"dropAnnotations": ["tasks", "more"]}})
    carrying = (("tasks", "[]"), ("kept", "1"))
    pods = pods_in(
        replace(BOUND, annotations=carrying),
        replace(RELEASED, annotations=carrying),
        BOUND,
        replace(READY, annotations=carrying),
    )
    groups = gang_groups(gang_of(pods, 3), pods, {CLIQUE: podclique(4)})
    assert annotations_to_drop(groups, drop) == ((pods[0], ("tasks",)),)
    assert annotations_to_drop(groups, RECORD) == ()


def test_planning_leaves_its_inputs_alone() -> None:
    pods = pods_in(GATED, RELEASED, BOUND)
    of = gang_of(pods, 2, PROGRAMMED)
    cliques = {CLIQUE: podclique(3)}
    before = copy.deepcopy((pods, of, cliques))
    plan_release(of, gang_groups(of, pods, cliques), RECORD, BASE_UP)
    assert (pods, of, cliques) == before


@pytest.mark.parametrize(
    ("states", "backend"),
    [
        ([], None),
        ([GATED, replace(GATED, backend="x")], None),
        ([GATED, replace(RELEASED, backend="x")], "x"),
        ([BOUND, replace(BOUND, backend="bent"), READY], "example"),
        ([FAILED, going(BOUND), replace(GATED, backend="x")], None),
        ([replace(BOUND, backend="")], None),
    ],
)
def test_where_a_gang_was_released_is_told_by_its_released_pods(
    states: Sequence[PodState], backend: str | None
) -> None:
    assert released_on(pod(n, state) for n, state in enumerate(states)) == backend
