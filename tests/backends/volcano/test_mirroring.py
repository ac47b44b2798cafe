"""What is said about a gang that Volcano has not placed."""

from typing import Any

import msgspec
import pytest

from backend_controllers.contract.declaration import Report
from backend_controllers.volcano.mirroring import mirror
from shared_api.kube.podgangs import ObservedPodGangStatus
from shared_api.kube.pods import Pod
from tests.backends.volcano.kit import (
    GivenFacts,
    Object,
    gang,
    group,
    installed,
    not_scheduled,
    pod,
    pod_group,
    queue,
    told,
)

NO_CPU = "0/4 nodes are unavailable: 4 Insufficient cpu."
LATER = "Pod team-a/p can possibly be assigned to n1, once minAvailable is satisfied"
OLD, NEW = "2026-11-16T08:00:00Z", "2026-11-16T08:00:05Z"
COUNTS = (
    "1/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable;"
    " Pending: 1 Unschedulable, 2 Schedulable"
)


def said(*given: Any, pods: tuple[Pod, ...] = (), **options: Any) -> Report:
    facts = GivenFacts(*given, pods=pods)
    return mirror(installed(**options), gang(group("web-0-main", 3)), facts)


def waiting(*conditions: Object) -> tuple[Pod, ...]:
    return tuple(pod(f"p{index}", condition) for index, condition in enumerate(conditions))


SHORT = waiting(
    not_scheduled(LATER, "Schedulable"), not_scheduled(LATER, "Schedulable"), not_scheduled(NO_CPU)
)


def test_a_gang_that_does_not_fit_reports_how_much_of_it_does_and_why() -> None:
    words = said(pod_group(told("Unschedulable", COUNTS)), pods=SHORT)
    assert (words.reason, words.message) == (
        "Unschedulable",
        "fits 2 of 3: 0/4 nodes are available: 4 Insufficient cpu",
    )


VACATED = (
    "Pod team-a/p can possibly be assigned to n1, once resource is released and minAvailable is"
    " satisfied"
)


def test_pods_whose_node_is_being_vacated_fit_although_they_are_unschedulable() -> None:
    pods = waiting(*map(not_scheduled, (VACATED, VACATED, NO_CPU)))
    assert said(pods=pods).message.startswith("fits 2 of 3: 0/4 nodes are available")


def test_if_every_pod_has_a_place_the_gang_reports_why_that_is_not_enough() -> None:
    pods = waiting(*map(not_scheduled, (VACATED, VACATED, VACATED)))
    about_gang = pod_group(told("Unschedulable", f"{COUNTS}. Origin reason is p2: {NO_CPU}"))
    words = said(about_gang, pods=pods)
    assert words.reason == "Unschedulable"
    assert words.message == "0/4 nodes are available: 4 Insufficient cpu"
    without = said(pod_group(told("Unschedulable", COUNTS)), pods=pods)
    assert without.message == "each pod fits, but not yet all at once"


def test_how_much_of_several_groups_fits_is_not_claimed() -> None:
    asked = gang(group("a", 1), group("b", 1))
    pods = (
        pod("p0", not_scheduled(LATER, "Schedulable"), of="a"),
        pod("p1", not_scheduled(NO_CPU), of="b"),
    )
    words = mirror(installed(), asked, GivenFacts(pods=pods))
    assert words.message == "0/4 nodes are available: 4 Insufficient cpu"


def test_pods_that_repeat_what_is_reported_about_the_gang_add_nothing() -> None:
    about_gang = (
        "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 3 Unschedulable."
        f" Origin reason is web-0-main-x: {NO_CPU}"
    )
    pods = waiting(*(not_scheduled(text) for text in (NO_CPU, about_gang, about_gang)))
    assert said(pods=pods).message == "fits 0 of 3: 0/4 nodes are available: 4 Insufficient cpu"


def test_the_order_of_pods_does_not_change_what_is_reported() -> None:
    assert said(pods=SHORT) == said(pods=SHORT[::-1])


def test_what_changes_by_chance_is_not_reported_again() -> None:
    flipping = (
        "0/4 nodes are unavailable: 1 node(s) had untolerated taint {a: }, 3 Insufficient cpu."
    )
    other = "0/4 nodes are unavailable: 1 node(s) were not ready, 3 Insufficient cpu."
    steady = "0/4 nodes are available: 3 Insufficient cpu, 1 node(s) excluded for several reasons"
    before = {
        "type": "Scheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": OLD,
    }
    asked = gang(group("web-0-main", 1))
    told_before = {**before, "message": f"0/1 pods scheduled: fits 0 of 1: {steady}, see the pods"}
    status = msgspec.convert({"conditions": [told_before]}, ObservedPodGangStatus)
    again = msgspec.structs.replace(asked, status=status)
    for text in (flipping, other):
        facts = GivenFacts(pods=waiting(not_scheduled(text)))
        assert steady in mirror(installed(), again, facts).message


def test_a_pod_that_has_its_node_counts_as_one_that_fits() -> None:
    pods = (pod("p0", node="n1"), *SHORT[1:])
    assert said(pods=pods).message.startswith("fits 2 of 3: ")


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        (SHORT[1:], "a member is missing"),
        ((*SHORT[1:], pod("p3", gates=("grove.io/podgang",))), "gated"),
    ],
)
def test_old_words_are_not_repeated_while_volcano_does_not_look(
    pods: tuple[Pod, ...], why: str
) -> None:
    assert said(pod_group(told("Unschedulable", COUNTS)), pods=pods) == Report(), why


def test_gated_surplus_pods_do_not_keep_words_back() -> None:
    extra = pod("p3", gates=("grove.io/podgang",))
    assert said(pods=(*SHORT, extra)).message.startswith("fits 2 of 3: ")


def test_without_a_word_from_pods_the_newest_condition_serves() -> None:
    pods = tuple(pod(f"p{index}") for index in range(3))
    unschedulable = told("Unschedulable", f"{COUNTS}. Origin reason is p2: {NO_CPU}", NEW)
    scheduled = told("Scheduled", at=OLD)
    words = said(pod_group(scheduled, unschedulable), pods=pods)
    assert words.message == "0/4 nodes are available: 4 Insufficient cpu"
    # Both stay True; the gang was placed after it was short, and a pod was lost since.
    later = told("Scheduled", at="2026-11-16T08:00:09Z")
    assert said(pod_group(later, unschedulable, phase="Running"), pods=pods) == Report()


def test_a_condition_from_before_the_release_is_not_repeated() -> None:
    gated = not_scheduled(
        "Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated"
    )
    pods = waiting(gated, gated, gated)
    assert said(pod_group(told("Unschedulable", COUNTS)), pods=pods) == Report()


def test_a_gang_that_was_not_let_into_its_queue_reports_it() -> None:
    pods = tuple(pod(f"p{index}") for index in range(3))
    minimum = {"memory": "2Gi", "cpu": "7"}
    words = said(pod_group(phase="Pending", minimum=minimum), pods=pods)
    assert words.reason == "NotEnqueued"
    assert "to queue 'default'" in words.message
    assert "less capacity than the gang's minimum (cpu 7, memory 2Gi)" in words.message
    assert said(pod_group(phase="Inqueue"), pods=pods) == Report()


def test_a_failed_binding_goes_before_everything_else() -> None:
    pods = (
        *SHORT[:2],
        pod("p2", not_scheduled("binding rejected: node is gone", "SchedulerError")),
    )
    words = said(pods=pods)
    assert (words.reason, words.message) == ("BindingFailed", "binding rejected: node is gone")


def test_a_queue_that_does_not_exist_is_named_with_those_that_do() -> None:
    words = said(queue("team"), queue("shut", "Closed"), pods=SHORT, default_queue="ghost")
    assert words.reason == "QueueDoesNotExist"
    assert words.message == (
        "queue 'ghost' does not exist. Create it, or set another with the annotation"
        " scheduling.volcano.sh/queue-name on the PodCliqueSet or its cliques (open queues:"
        " default, team)"
    )


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("Closed", "queue 'q' is Closed. Open it, or set another"),
        ("Closing", "queue 'q' is Closing. Open it, or set another"),
        ("", "Check that vc-controller-manager runs"),
    ],
)
def test_a_queue_that_is_not_open_is_reported(state: str, text: str) -> None:
    words = said(queue("q", state), pods=SHORT, default_queue="q")
    assert words.reason == "QueueNotOpen"
    assert text in words.message
