"""Koordinator knows a gang only while nothing of it could be bound without the rest."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.koordinator.translation import translate
from backend_controllers.koordinator.visibility import (
    AWAITS_AGAIN,
    AWAITS_UNGATED,
    UNREACHABLE,
    Visibility,
    visibility_of,
)
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from tests.backends.koordinator.kit import Known, gang, installed, members, pod, written
from tests.plan.samples import QUICK

GANG = gang()
BEFORE = written(GANG)
FREE, HELD, BOUND = members(GANG), members(GANG, gated=True), members(GANG, node="n")


@pytest.mark.parametrize(
    ("pods", "visibility"),
    [
        ((), Visibility.HIDDEN),
        (HELD, Visibility.HIDDEN),
        ((*FREE[:2], HELD[2]), Visibility.HIDDEN),
        (FREE[:2], Visibility.HIDDEN),
        (FREE, Visibility.VISIBLE),
        (BOUND, Visibility.VISIBLE),
    ],
    ids=["none", "held", "partly held", "one missing", "free", "bound"],
)
def test_a_new_gang_is_reported_when_every_member_is_free(
    pods: tuple[Pod, ...], visibility: Visibility
) -> None:
    assert visibility_of(GANG, Known(pods)) is visibility


@pytest.mark.parametrize(
    ("pods", "leaving", "visibility"),
    [
        ((), (), Visibility.BLOCKED),
        (HELD, (), Visibility.BLOCKED),
        ((*FREE[:2], HELD[2]), (), Visibility.BLOCKED),
        (FREE, (), Visibility.VISIBLE),
        (FREE, BOUND, Visibility.BLOCKED),
        (FREE, FREE, Visibility.VISIBLE),
        ((*BOUND[:2], HELD[2]), (), Visibility.VISIBLE),
        ((*BOUND[:2],), BOUND[2:], Visibility.VISIBLE),
    ],
    ids=[
        "all lost",
        "all recreated",
        "partly released",
        "all released",
        "the lost ones keep their nodes",
        "the lost ones had none",
        "one of three recreated",
        "one of three is going",
    ],
)
def test_a_gang_that_is_known_is_blocked_while_it_is_lost(
    pods: tuple[Pod, ...], leaving: tuple[Pod, ...], visibility: Visibility
) -> None:
    assert visibility_of(GANG, Known(pods, leaving, BEFORE)) is visibility


def test_pods_of_a_former_gang_of_that_name_hold_nothing() -> None:
    former = gang(uid="former")
    facts = Known(FREE, members(former, node="n"), BEFORE)
    assert visibility_of(GANG, facts) is Visibility.VISIBLE


def test_surplus_counts_for_nothing() -> None:
    of = gang({"w-0-a": 1}, pods=2)
    surplus = pod(of, "w-0-a", 1, node="n")
    held = pod(of, "w-0-a", 0, gated=True)
    assert visibility_of(of, Known((surplus, held))) is Visibility.HIDDEN
    two = gang({"w-0-a": 2}, pods=3)
    alone = Known((pod(two, "w-0-a", 2, node="n"), pod(two, "w-0-a", gated=True)), (), written(two))
    assert visibility_of(two, alone) is Visibility.BLOCKED
    still_held = pod(of, "w-0-a", 1, gated=True)
    assert visibility_of(of, Known((still_held, pod(of, "w-0-a")))) is Visibility.VISIBLE


def test_a_gang_of_one_has_no_half_that_could_be_seen() -> None:
    of = gang({"w-0-a": 1})
    held = (pod(of, "w-0-a", gated=True),)
    assert visibility_of(of, Known(held)) is Visibility.HIDDEN
    assert visibility_of(of, Known(held, (), written(of))) is Visibility.VISIBLE


def test_a_blocked_gang_requests_more_pods_than_there_can_be() -> None:
    translation = translate(installed(), GANG, Known(HELD, (), BEFORE))
    assert translation.awaits == AWAITS_AGAIN
    minimums = [cast("Any", item.manifest["spec"])["minMember"] for item in translation.objects]
    assert minimums == [UNREACHABLE, UNREACHABLE]


def test_what_is_not_known_yet_has_no_objects() -> None:
    translation = translate(installed(), GANG, Known(HELD))
    assert (translation.objects, translation.awaits) == ((), AWAITS_UNGATED)


STATES = st.sampled_from(["absent", "gated", "free", "bound"])


def _pods(of: ObservedPodGang, states: list[str]) -> tuple[Pod, ...]:
    made = (
        pod(of, group.name, index, gated=state == "gated", node="n" if state == "bound" else "")
        for group, offset in zip(of.spec.podgroups, (0, 2), strict=True)
        for index, state in enumerate(states[offset : offset + group.min_replicas])
        if state != "absent"
    )
    return tuple(made)


@QUICK
@given(st.lists(STATES, min_size=3, max_size=3), st.booleans(), st.booleans())
def test_a_start_from_nothing_is_never_seen_in_part(
    states: list[str], known: bool, leaving: bool
) -> None:
    facts = Known(_pods(GANG, states), BOUND if leaving else (), BEFORE if known else {})
    translation = translate(installed(), GANG, facts)
    scheduled = [
        item
        for item in translation.objects
        if cast("Any", item.manifest["spec"])["minMember"] != UNREACHABLE
    ]
    assert bool(scheduled) is not bool(translation.awaits)
    if scheduled and "bound" not in states:
        assert set(states) == {"free"}
        assert not (known and leaving)
    if set(states) <= {"free", "bound"} and not leaving:
        assert len(scheduled) == 2
