"""Pods are created, replaced and given up one index at a time."""

import copy
import re
from dataclasses import replace

import pytest

from core_operator.plan.pods.pod_plan import (
    PodPlan,
    drifted_labels,
    is_made_for,
    is_settled,
    plan_pods,
)
from core_operator.plan.pods.preparation import Preparation
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.pods import Pod, PodStatus
from tests.plan.pod_samples import (
    BACKEND,
    BOUND,
    CLIQUE,
    FAILED,
    GATED,
    READY,
    RELEASED,
    SUCCEEDED,
    PodState,
    going,
    pod,
    podclique,
)

MADE_WITH = Preparation(BACKEND)
ENDED = PodStatus(phase="Failed")
NAME = re.compile(rf"{CLIQUE}-[bcdfghjklmnpqrstvwxz2456789]{{5}}")


def planned(replicas: int, *pods: Pod, minimum: int = 1, taken: tuple[str, ...] = ()) -> PodPlan:
    return plan_pods(podclique(replicas, minimum), pods, minimum, MADE_WITH, taken)


def created(plan: PodPlan) -> list[int]:
    return [new.index for new in plan.create]


def deleted(plan: PodPlan) -> list[str]:
    return [gone.metadata.name for gone in plan.delete]


def test_a_new_podclique_gets_all_its_pods_at_once() -> None:
    plan = planned(3)
    assert created(plan) == [0, 1, 2]
    assert (plan.delete, plan.keep) == ((), ())
    assert all(NAME.fullmatch(new.name) for new in plan.create)
    assert len({new.name for new in plan.create}) == 3


def test_nothing_is_done_about_pods_that_are_as_they_should_be() -> None:
    pods = (pod(0, READY), pod(1, BOUND), pod(2, GATED))
    plan = planned(3, *pods)
    assert (plan.create, plan.delete, plan.keep) == ((), (), pods)


@pytest.mark.parametrize("ended", [FAILED, SUCCEEDED])
def test_a_pod_that_ended_is_deleted_and_replaced_under_its_index(ended: PodState) -> None:
    plan = planned(3, pod(0, READY), pod(1, ended), pod(2, READY))
    assert (created(plan), deleted(plan)) == ([1], [f"{CLIQUE}-1"])


@pytest.mark.parametrize("state", [going(READY), going(GATED), going(FAILED)])
def test_a_pod_that_goes_away_counts_as_gone_and_is_not_deleted_again(state: PodState) -> None:
    plan = planned(2, pod(0, state), pod(1, READY))
    assert (created(plan), deleted(plan)) == ([0], [])


def test_holes_are_filled_from_below() -> None:
    assert created(planned(5, pod(1, READY), pod(4, READY))) == [0, 2, 3]


def test_a_repeated_creation_asks_for_the_same_name() -> None:
    first = planned(3, pod(0, READY))
    assert planned(3, pod(0, READY)) == first
    # A cache that shows only some of what was created before the crash.
    seen = pod(2, name=first.create[1].name)
    assert planned(3, pod(0, READY), seen).create == first.create[:1]


def test_a_replacement_has_another_name_as_long_as_its_predecessors_exist() -> None:
    fresh = planned(1).create[0].name
    old = pod(0, going(READY), name=fresh)
    second = planned(1, old).create[0].name
    third = planned(1, old, pod(0, FAILED, name=second)).create[0].name
    assert len({fresh, second, third}) == 3
    assert planned(1).create[0].name == fresh


def test_two_names_do_not_take_turns() -> None:
    first = planned(1).create[0].name
    second = planned(1, pod(0, FAILED, name=first)).create[0].name
    third = planned(1, pod(0, FAILED, name=second)).create[0].name
    assert third not in {first, second}


def test_a_podclique_recreated_under_the_same_name_has_other_pod_names() -> None:
    other = plan_pods(podclique(3, uid="another"), (), 1, MADE_WITH)
    assert not {n.name for n in other.create} & {n.name for n in planned(3).create}


def test_names_that_others_have_are_avoided() -> None:
    wanted = planned(1).create[0].name
    stranger = pod(0, READY, name=wanted, owner="somebody-else")
    by_sight, by_word = planned(1, stranger), planned(1, taken=(wanted,))
    assert by_sight.create[0].name == by_word.create[0].name != wanted


def test_pods_of_other_controllers_are_neither_counted_nor_deleted() -> None:
    foreign = pod(0, READY, owner="somebody-else")
    unowned = Pod(metadata=Metadata(name="x", labels=foreign.metadata.labels), status=ENDED)
    plan = planned(1, foreign, pod(0, FAILED, name="dead", owner="somebody-else"), unowned)
    assert (created(plan), plan.delete, plan.keep) == ([0], (), ())


def test_pods_gated_for_another_backend_are_recreated() -> None:
    elsewhere = replace(GATED, backend="other")
    plan = planned(3, pod(0, elsewhere), pod(1, GATED), pod(2, elsewhere))
    assert (created(plan), deleted(plan)) == ([0, 2], [f"{CLIQUE}-0", f"{CLIQUE}-2"])
    assert not {new.name for new in plan.create} & set(deleted(plan))


@pytest.mark.parametrize("state", [RELEASED, BOUND, READY])
def test_released_pods_are_never_recreated_for_a_backend(state: PodState) -> None:
    plan = planned(1, pod(0, replace(state, backend="other")))
    assert (plan.create, plan.delete) == ((), ())


def test_of_two_pods_with_one_index_the_one_that_is_further_stays() -> None:
    pods = (pod(0, BOUND, name="late"), pod(0, READY, name="early"), pod(0, GATED, name="new"))
    plan = planned(2, *pods)
    assert deleted(plan) == ["late", "new"]
    assert created(plan) == [1]


@pytest.mark.parametrize("label", [None, "", "-1", "one", "1.0", "²"])
def test_a_pod_without_a_proper_index_is_replaced(label: str | None) -> None:
    odd = pod(label, READY, name="odd")
    assert odd.index is None
    plan = planned(1, odd)
    assert (created(plan), deleted(plan)) == ([0], ["odd"])


def test_an_index_is_never_read_from_a_name() -> None:
    plan = planned(2, pod(1, READY, name=f"{CLIQUE}-0"))
    assert created(plan) == [0]


@pytest.mark.parametrize(
    ("states", "replicas", "minimum", "gone"),
    [
        # All alike: the highest index.
        ([READY] * 4, 2, 1, {2, 3}),
        ([GATED] * 4, 3, 1, {3}),
        # The unscheduled before the unready, those before the ready.
        ([READY, RELEASED, BOUND, READY], 3, 1, {1}),
        ([READY, RELEASED, BOUND, READY], 2, 1, {1, 2}),
        ([READY, READY, BOUND, READY], 3, 1, {2}),
        # Surplus before members, as long as the minimum stays ready.
        ([BOUND, READY, READY, READY, READY], 4, 2, {4}),
        # A member is never given up: what serves in its stead stays until it serves.
        ([BOUND, READY, READY, READY], 3, 3, set()),
        ([RELEASED, BOUND, BOUND, BOUND], 3, 3, set()),
        ([READY, READY, READY, READY], 3, 3, {3}),
        # Who asks for less than the minimum gets it.
        ([READY] * 3, 1, 3, {1, 2}),
    ],
)
def test_scaling_in_gives_up_the_least_useful(
    states: list[PodState], replicas: int, minimum: int, gone: set[int]
) -> None:
    pods = [pod(index, state) for index, state in enumerate(states)]
    plan = plan_pods(podclique(replicas), pods, minimum, MADE_WITH)
    assert {p.index for p in plan.delete} == gone
    assert plan.create == ()


def test_a_member_that_is_missing_is_made_although_there_are_pods_enough() -> None:
    pods = [pod(1, READY), pod(2, READY)]
    plan = plan_pods(podclique(2), pods, 2, MADE_WITH)
    assert ([new.index for new in plan.create], plan.delete) == ([0], ())
    # Once it serves, the one that stood in for it goes.
    plan = plan_pods(podclique(2), [*pods, pod(0, READY)], 2, MADE_WITH)
    assert (plan.create, [gone.index for gone in plan.delete]) == ((), [2])


EQUAL = Preparation(BACKEND, 2, members="same", surplus="same")
"""What a backend publishes that does not distinguish members from surplus."""


def of_template(index: int, template: str) -> Pod:
    return pod(index, READY, labels={names.LABEL_POD_TEMPLATE_HASH: template})


def test_scaling_in_deletes_outdated_pods_first_wherever_they_are() -> None:
    current = podclique(2).metadata.labels[names.LABEL_POD_TEMPLATE_HASH]
    pods = [of_template(0, "old"), of_template(1, current), of_template(2, current)]
    plan = plan_pods(podclique(2), pods, 2, EQUAL)
    assert (plan.create, [gone.index for gone in plan.delete]) == ((), [0])
    # To a backend that does, the pods below the minimum are the gang.
    plan = plan_pods(podclique(2), pods, 2, MADE_WITH)
    assert [gone.index for gone in plan.delete] == [2]


def test_a_missing_index_stays_free_where_any_pods_make_up_the_minimum() -> None:
    pods = [pod(1, READY), pod(2, READY)]
    assert not is_settled(podclique(2), pods)
    assert plan_pods(podclique(2), pods, 2, EQUAL) == PodPlan((), (), tuple(pods))
    assert created(plan_pods(podclique(3), pods, 2, EQUAL)) == [0]


def test_a_replacement_never_has_the_name_of_a_pod_that_is_gone() -> None:
    first = planned(1).create[0].name
    second = plan_pods(podclique(1), (), 1, MADE_WITH, gone={0: "uid-1"}).create[0].name
    third = plan_pods(podclique(1), (), 1, MADE_WITH, gone={0: "uid-2"}).create[0].name
    assert len({first, second, third}) == 3
    # The same name as while the pod was still terminating: a repeated request cannot create two.
    terminating = pod(0, going(READY), name=first)
    gone = {0: terminating.metadata.uid}
    assert plan_pods(podclique(1), (), 1, MADE_WITH, gone=gone) == planned(1, terminating)


def test_nothing_is_done_for_a_podclique_that_goes_away() -> None:
    leaving = podclique(3, deletionTimestamp="2026-03-01T11:00:00Z")
    plan = plan_pods(leaving, (pod(0, READY), pod(1, FAILED)), 1, MADE_WITH)
    assert (plan.create, plan.delete) == ((), ())


def test_planning_leaves_its_inputs_alone() -> None:
    clique, pods = podclique(2), [pod(0, FAILED), pod(3, READY), pod(1, GATED), pod(2, READY)]
    before = copy.deepcopy((clique, pods))
    plan_pods(clique, pods, 1, MADE_WITH)
    assert (clique, pods) == before


@pytest.mark.parametrize(
    ("name", "made"),
    [("w-0-a-x7k2p", True), ("w-0-a", False), ("w-0-a-b-x7k2p", False), ("w-0-ab-x7k2p", False)],
)
def test_the_name_of_a_pod_shows_for_which_podclique_it_was_made(name: str, made: bool) -> None:
    assert is_made_for(pod(0, name=name), CLIQUE) is made


def test_labels_that_identify_the_owner_of_a_pod_are_restored_and_no_others() -> None:
    found = podclique(1)
    ours = {
        names.LABEL_PODCLIQUE: CLIQUE,
        names.LABEL_PODGANG: "w-0",
        names.LABEL_PART_OF: "w",
    }
    assert drifted_labels(found, pod(0, labels=ours)) == {}
    for key, value in ours.items():
        assert drifted_labels(found, pod(0, labels={**ours, key: "x"})) == {key: value}
    bent = {**ours, names.LABEL_POD_TEMPLATE_HASH: "older", "team": "x"}
    assert drifted_labels(found, pod(0, labels=bent)) == {}
