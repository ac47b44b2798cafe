"""A gang that is not placed says why in the scheduler's words, and nothing that is old."""

from collections.abc import Sequence

import pytest

from backend_controllers.contract.declaration import Dialect, Report
from backend_controllers.default.membership import GATE
from backend_controllers.default.mirroring import ONE_BY_ONE, failures_of
from backend_controllers.default.served import (
    POD_GROUPS_V1ALPHA2,
    POD_GROUPS_V1BETA1,
    GroupCondition,
    GroupStatus,
    WorkloadPodGroup,
)
from shared_api.kube.metadata import Metadata
from shared_api.kube.pods import Pod, PodCondition
from shared_api.kube.resources import Resource
from tests.backends.default.kit import (
    TREE,
    UID,
    V135,
    V136,
    V137,
    Known,
    dialect,
    gang,
    pod,
)

V135_FORM, V136_FORM, V137_FORM, TREE_FORM = (dialect(*kinds) for kinds in (V135, V136, V137, TREE))
GANG = gang({"a": 2, "b": 1})
NODES = "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu"
NO_NODE = PodCondition(
    "PodScheduled", "False", "Unschedulable", f"{NODES}. no new claims to deallocate"
)
WAITS = PodCondition(
    "PodScheduled",
    "False",
    "Unschedulable",
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled",
)
GATED = PodCondition(
    "PodScheduled",
    "False",
    "SchedulingGated",
    "Scheduling is blocked due to non-empty scheduling gates",
)
PREEMPTED = PodCondition(
    "DisruptionTarget",
    "True",
    "PreemptionByScheduler",
    "default-scheduler: preempting to accommodate a higher priority podgroup",
)
FAILED_136 = GroupCondition(
    "PodGroupScheduled",
    "False",
    "Unschedulable",
    "0/1 placements are available, first placement status: pod group is unschedulable",
)
FAILED_137 = GroupCondition(
    "PodGroupInitiallyScheduled",
    "False",
    "Unschedulable",
    "pod group is unschedulable, 0/1 placements are available, first placement status: minCount (3)"
    " cannot be satisfied: 2 scheduled, 0 remaining",
)


def _pods(*conditions: PodCondition | None, nodes: Sequence[str] = ("", "", "")) -> tuple[Pod, ...]:
    places = (("a", 0), ("a", 1), ("b", 0))
    return tuple(
        pod(group, index, node=node, conditions=(said,) if said else ())
        for (group, index), said, node in zip(places, conditions, nodes, strict=True)
    )


def _group(name: str = "", *conditions: GroupCondition) -> WorkloadPodGroup:
    full = f"w-0-{UID}-{name}" if name else f"w-0-{UID}"
    return WorkloadPodGroup(Metadata(name=full), status=GroupStatus(conditions or None))


def _words(
    form: Dialect,
    pods: tuple[Pod, ...],
    *groups: WorkloadPodGroup,
    kind: Resource = POD_GROUPS_V1ALPHA2,
) -> Report:
    return form.mirror(GANG, Known(pods, {kind: groups}))


def test_1_35_has_only_the_pod_that_found_no_node() -> None:
    words = _words(V135_FORM, _pods(None, GATED, NO_NODE))
    assert words == Report("Unschedulable", NODES)


def test_1_36_takes_the_numbers_from_the_pods() -> None:
    words = _words(V136_FORM, _pods(WAITS, WAITS, NO_NODE), _group("", FAILED_136))
    assert words == Report("Unschedulable", NODES)


def test_1_37_has_numbers_of_the_group_and_of_the_nodes() -> None:
    group = _group("", FAILED_137)
    words = _words(V137_FORM, _pods(WAITS, WAITS, NO_NODE), group, kind=POD_GROUPS_V1BETA1)
    assert words == Report("Unschedulable", f"2 of 3 pods fit; {NODES}")


def test_groups_of_a_tree_are_named_where_they_differ() -> None:
    said = GroupCondition(
        FAILED_137.type, "False", "Unschedulable", FAILED_137.message.replace("(3)", "(4)")
    )
    groups = (_group("b", said), _group("a", FAILED_137))
    words = _words(TREE_FORM, _pods(None, None, NO_NODE), *groups, kind=POD_GROUPS_V1BETA1)
    assert words.message == f"a: 2 of 3 pods fit; b: 2 of 4 pods fit; {NODES}"


def test_many_groups_are_cut_short() -> None:
    groups = [
        _group(
            f"g{count}",
            GroupCondition(
                FAILED_137.type,
                "False",
                "Unschedulable",
                FAILED_137.message.replace("(3)", f"({count})"),
            ),
        )
        for count in range(3, 9)
    ]
    words = _words(TREE_FORM, _pods(None, None, None), *groups, kind=POD_GROUPS_V1BETA1)
    assert words.message.endswith("g6: 2 of 6 pods fit; and 2 more groups")


def test_errors_come_before_everything_else() -> None:
    error = GroupCondition(FAILED_137.type, "False", "SchedulerError", "got 0 and 1000")
    groups = (_group("a", FAILED_137), _group("b", error))
    words = _words(TREE_FORM, _pods(None, None, NO_NODE), *groups, kind=POD_GROUPS_V1BETA1)
    assert words == Report("SchedulerError", "got 0 and 1000")


def test_text_of_most_pods_is_reported() -> None:
    other = PodCondition("PodScheduled", "False", "Unschedulable", "0/5 nodes are available: x")
    assert _words(V135_FORM, _pods(other, NO_NODE, NO_NODE)).message == NODES


def test_nothing_is_reported_while_the_gates_of_the_gang_go() -> None:
    pods = _pods(WAITS, WAITS, WAITS)
    assert _words(V136_FORM, pods, _group("", FAILED_136)) == Report()
    held = (*_pods(WAITS, WAITS, None)[:2], pod("b", 0, gates=(GATE,), conditions=(GATED,)))
    assert _words(V137_FORM, held, _group("", FAILED_137), kind=POD_GROUPS_V1BETA1) == Report()


def test_gate_of_another_is_named() -> None:
    held = pod("b", 0, gates=("example.com/quota",), conditions=(GATED,))
    words = _words(V136_FORM, (*_pods(None, None, None)[:2], held))
    assert words.reason == "SchedulingGated"
    assert words.message == "pods have foreign scheduling gates: example.com/quota (1 pods)"


@pytest.mark.parametrize("form", [V135_FORM, V136_FORM, V137_FORM])
def test_scheduled_gang_has_no_old_message(form: Dialect) -> None:
    pods = _pods(NO_NODE, NO_NODE, NO_NODE, nodes=("n", "n", "n"))
    assert _words(form, pods, _group("", FAILED_136)) == Report()


def test_success_that_was_once_noted_does_not_hide_what_pods_report() -> None:
    latched = GroupCondition("PodGroupScheduled", "True", "Scheduled", "was placed")
    pods = _pods(None, None, NO_NODE, nodes=("n", "n", ""))
    assert _words(V136_FORM, pods, _group("", latched)) == Report("Unschedulable", NODES)


def test_messages_of_a_pod_that_got_a_node_are_old() -> None:
    pods = _pods(NO_NODE, None, None, nodes=("n", "", ""))
    assert _words(V135_FORM, pods) == Report()


def test_surplus_pods_report_nothing_about_the_gang() -> None:
    surplus = pod("b", 1, conditions=(NO_NODE,))
    written = gang({"a": 1, "b": 1}, pods=2)
    assert V136_FORM.mirror(written, Known((pod("a", 0), pod("b", 0), surplus))) == Report()


def test_any_pods_of_a_group_make_up_its_minimum_in_a_tree() -> None:
    written = gang({"a": 1, "b": 1}, pods=2)
    waiting = pod("a", 0, conditions=(NO_NODE,)), pod("b", 0, conditions=(NO_NODE,))
    placed = pod("a", 1, node="n"), pod("b", 1, node="n")
    assert TREE_FORM.mirror(written, Known((*waiting, *placed))) == Report()
    assert V137_FORM.mirror(written, Known((*waiting, *placed))).reason == "Unschedulable"


def test_surplus_of_a_scheduled_group_of_a_tree_does_not_speak_for_the_gang() -> None:
    written = gang({"a": 1, "b": 1}, pods=2)
    other = PodCondition("PodScheduled", "False", "Unschedulable", "0/5 nodes are available: x")
    surplus = pod("a", 0, conditions=(other,)), pod("a", 1, node="n")
    words = TREE_FORM.mirror(written, Known((*surplus, pod("b", 0, conditions=(NO_NODE,)))))
    assert words == Report("Unschedulable", NODES)


def test_a_surplus_pod_that_somebody_holds_does_not_hide_why_a_tree_is_not_scheduled() -> None:
    written = gang({"a": 1}, pods=2)
    held = pod("a", 1, gates=("example.com/quota",), conditions=(GATED,))
    free = pod("a", 0, conditions=(NO_NODE,))
    assert TREE_FORM.mirror(written, Known((free, held))) == Report("Unschedulable", NODES)
    both = pod("a", 0, gates=("example.com/quota",), conditions=(GATED,)), held
    assert TREE_FORM.mirror(written, Known(both)).reason == "SchedulingGated"


def test_success_of_a_group_is_left_to_its_pods() -> None:
    placed = GroupCondition("PodGroupScheduled", "True", "Scheduled", "placed")
    assert failures_of(_group("")) == failures_of(_group("", placed)) == ()
    assert failures_of(_group("", FAILED_136)) == (FAILED_136,)


def test_disruptions_are_left_to_those_who_see_every_event() -> None:
    pods = _pods(PREEMPTED, PREEMPTED, None, nodes=("n", "n", "n"))
    assert _words(V136_FORM, pods) == Report()


@pytest.mark.parametrize(
    ("judged", "nodes", "split"),
    [
        ((), ("n", "", ""), True),
        ((), ("", "", ""), False),
        ((GroupCondition("PodGroupScheduled", "True", "Scheduled"),), ("n", "", ""), False),
    ],
    ids=["half-bound", "nothing-bound", "was-judged"],
)
def test_scheduler_without_gang_scheduling_is_found_out(
    judged: tuple[GroupCondition, ...], nodes: tuple[str, str, str], split: bool
) -> None:
    words = _words(V136_FORM, _pods(None, NO_NODE, NO_NODE, nodes=nodes), _group("", *judged))
    assert (words.remarks == (ONE_BY_ONE,)) is split


def test_gang_without_groups_of_the_scheduler_is_not_suspected() -> None:
    words = _words(V135_FORM, _pods(None, NO_NODE, NO_NODE, nodes=("n", "", "")))
    assert words == Report("Unschedulable", NODES)
