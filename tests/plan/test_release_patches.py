"""The patches that ungate pods and remove annotations, and where a gang was released."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core_operator.plan.pods.gang_pods import (
    gang_groups,
    has_ungated_pod,
    released_on,
)
from core_operator.plan.release import (
    annotations_to_drop,
    ungate_patch,
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
    going,
    pod,
    podclique,
)
from tests.plan.release_kit import RECORD, gang_of, pods_in
from tests.plan.samples import record


@pytest.mark.parametrize(
    ("states", "begun"),
    [([], False), ([GATED, GATED], False), ([GATED, RELEASED], True), ([going(READY)], False)],
)
def test_a_gang_has_begun_once_a_scheduler_may_have_seen_it(
    states: list[PodState], begun: bool
) -> None:
    pods = pods_in(*states)
    groups = gang_groups(gang_of(pods, 1), pods, {CLIQUE: podclique()})
    assert has_ungated_pod(groups) == begun


def test_lifting_a_gate_names_its_place_and_its_pod() -> None:
    held = pod(0, replace(GATED, gates=("a/b", GATE, "c")))
    assert ungate_patch(held, GATE, {}) == [
        {"op": "test", "path": "/metadata/uid", "value": held.metadata.uid},
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": GATE},
        {"op": "remove", "path": "/spec/schedulingGates/1"},
    ]


def test_a_gate_is_removed_only_with_what_the_pod_was_prepared_with() -> None:
    steps = ungate_patch(
        pod(0, GATED), GATE, {"schedulerName": "s", "schedulingGroup": {"podGroupName": "w-0"}}
    )
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
def test_where_a_gang_was_released_is_reported_by_its_released_pods(
    states: Sequence[PodState], backend: str | None
) -> None:
    assert released_on(pod(n, state) for n, state in enumerate(states)) == backend
