"""What is reported about a gang that KAI has scheduled or has not."""

import pytest

from backend_controllers.contract.declaration import Report
from shared_api.kube.pods import Pod
from tests.backends.kai.kit import (
    AFTER,
    BEFORE,
    EARLIER,
    NODES,
    REASON,
    STARTED,
    gang,
    group,
    mirrored,
    not_scheduled,
    pod,
    pod_group,
    two,
    unschedulable,
)


def test_before_kai_has_looked_there_is_nothing_to_report() -> None:
    assert mirrored() == Report()
    assert mirrored(pod_group(), pods=two()) == Report()


def test_a_gang_that_does_not_fit_reports_how_far_it_fits() -> None:
    found = mirrored(pod_group(unschedulable(REASON)), pods=two())
    assert found == Report("Unschedulable", f"group 'web-0-main' fits 1 of 2: {NODES}")


def test_the_newest_condition_counts_wherever_it_stands() -> None:
    old = {"reason": "OverLimit", "message": "limit is 3"}
    conditions = [unschedulable(REASON, number=10), unschedulable(old, number=9)]
    assert mirrored(pod_group(*conditions), pods=two()).reason == "Unschedulable"
    assert mirrored(pod_group(*reversed(conditions)), pods=two()).reason == "Unschedulable"


def test_a_condition_without_reasons_is_read_from_its_text() -> None:
    condition = unschedulable() | {"message": "OverLimit: limit is 3.."}
    assert mirrored(pod_group(condition), pods=two()) == Report("OverLimit", "limit is 3")


def test_a_condition_that_was_cleared_reports_nothing() -> None:
    condition = unschedulable(REASON) | {"status": "False"}
    assert mirrored(pod_group(condition), pods=two()) == Report()


def test_a_scheduled_gang_is_not_called_unschedulable_by_a_condition_that_stayed() -> None:
    assert mirrored(pod_group(unschedulable(REASON)), pods=two(node="n-1")) == Report()


def test_a_condition_from_before_the_last_start_is_over() -> None:
    stale = pod_group(unschedulable(REASON, at=BEFORE), annotations=STARTED)
    assert mirrored(stale, pods=two()) == Report()
    fresh = pod_group(unschedulable(REASON, at=AFTER), annotations=STARTED)
    assert mirrored(fresh, pods=two()).reason == "Unschedulable"


def test_pods_speak_where_the_condition_is_over() -> None:
    stale = pod_group(unschedulable(REASON, at=BEFORE), annotations=STARTED)
    assert mirrored(stale, pods=two(not_scheduled(f"{NODES}."))) == Report("Unschedulable", NODES)


def test_a_gang_of_which_a_part_has_nodes_is_explained_by_the_other_pods() -> None:
    part = pod("p-0", node="n-1"), pod("p-1", "web-0-main", not_scheduled(f"{NODES}."))
    assert mirrored(pod_group(unschedulable(REASON)), pods=part).message == NODES


@pytest.mark.parametrize("pods", [two(gates=("grove.io/podgang",)), two()[:1], ()])
def test_while_members_are_missing_or_gated_old_words_are_not_repeated(
    pods: tuple[Pod, ...],
) -> None:
    assert mirrored(pod_group(unschedulable(REASON)), pods=pods) == Report()


def test_pods_above_the_minimum_do_not_keep_a_gang_from_being_scheduled() -> None:
    surplus = pod("p-2", "web-0-main", not_scheduled(f"{NODES}."))
    assert mirrored(pod_group(), pods=(*two(node="n-1"), surplus)) == Report()


def test_a_failed_pod_holds_no_place() -> None:
    pods = pod("p-0", node="n-1"), pod("p-1", node="n-1", phase="Failed")
    third = pod("p-2", "web-0-main", not_scheduled(f"{NODES}."))
    assert mirrored(pod_group(), pods=(*pods, third)).reason == "Unschedulable"


def test_every_group_needs_its_own_minimum() -> None:
    it = gang(group("a", 1), group("b", 1))
    pods = pod("p-0", "a", node="n-1"), pod("p-1", "b", not_scheduled("no room."))
    assert mirrored(pod_group(), pods=pods, of=it).message == "no room"


def test_a_binding_that_failed_is_reported_with_the_binders_message() -> None:
    message = "Failed to bind pod a/p-0 to node n-1: timed out."
    failed = {"type": "PodBound", "status": "False", "reason": "BindingError", "message": message}
    found = mirrored(pod_group(unschedulable(REASON)), pods=two(failed))
    assert found == Report("BindingFailed", message.rstrip("."))


def test_pods_that_kai_has_chosen_nodes_for_wait_for_the_binder() -> None:
    chosen = two(not_scheduled(f"{NODES}."), made="2026-11-16T08:00:00Z")
    stale = pod_group(unschedulable(REASON, at=BEFORE), annotations=STARTED)
    found = mirrored(stale, pods=chosen)
    assert found == Report("", "KAI chose the nodes, and its binder has not bound all pods yet")
    newer = pod_group(unschedulable(REASON, at=AFTER), annotations=STARTED)
    assert mirrored(newer, pods=chosen).reason == "Unschedulable"


def test_what_kai_reports_about_the_new_pod_group_counts_beside_pods_of_an_earlier_gang() -> None:
    pods = pod("p-0", annotations=EARLIER, node="n-1"), pod("p-1")
    found = mirrored(pod_group(unschedulable(REASON)), pods=pods)
    assert found == Report("Unschedulable", f"group 'web-0-main' fits 1 of 2: {NODES}")


def test_pods_of_an_earlier_gang_that_can_never_be_scheduled_are_named() -> None:
    found = mirrored(pod_group(), pods=two(annotations=EARLIER))
    assert found.reason == "PodsOfEarlierGang"
    assert found.message.endswith("Delete them to recreate them: p-0, p-1")
    assert found.remarks == ()


def test_so_many_pods_of_an_earlier_gang_that_a_condition_cuts_them_are_deleted_by_a_command() -> (
    None
):
    many = tuple(pod(f"p-{index}", annotations=EARLIER) for index in range(80))
    found = mirrored(pod_group(), pods=many)
    assert found.message.endswith(
        " kubectl -n team-a delete pods -l grove.io/podgang=web-0 --field-selector=spec.nodeName="
    )
    assert len(found.message) < 300
