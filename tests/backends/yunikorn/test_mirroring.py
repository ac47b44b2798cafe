"""How a gang fares, as told by placeholders, pods and events, and by nothing that is over."""

import pytest

from backend_controllers.contract.declaration import Report
from backend_controllers.yunikorn.mirroring import mirror
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched
from tests.backends.yunikorn.kit import (
    MEMBERS,
    WAITS,
    GivenFacts,
    event,
    gang,
    group,
    not_scheduled,
    placeholder,
    pod,
    referring,
    since,
)

PLACED = tuple(
    pod(one.metadata.name, one.metadata.labels["grove.io/podclique"], node="n1") for one in MEMBERS
)
PREEMPTED = "Preempted by 7f3 from application big-0-11111111-0 in root.urgent"
LATER = "2026-11-16T09:20:00Z"
REJECTED = (
    "Application web-0-0b6c1d9e-0 scheduling failed, reason: ApplicationRejected:"
    " application rejected: no placement rule matched"
)


def said(
    *objects: tuple[Resource, Watched],
    pods: tuple[Pod, ...] = MEMBERS,
    of: ObservedPodGang | None = None,
) -> Report:
    it = referring(of or gang(conditions=[since("False")]), pods)
    return mirror(it, GivenFacts(*objects, pods=pods))


def test_a_scheduled_gang_has_nothing_to_report() -> None:
    assert said(pods=PLACED) == Report()


def test_before_all_members_are_released_nothing_is_reported() -> None:
    held = pod("web-0-b-xxxx3", "web-0-b", gates=("grove.io/podgang",))
    assert said(pods=(*MEMBERS[:2], held)) == Report()
    assert said(pods=MEMBERS[:2]) == Report()


def test_a_scheduler_that_does_nothing_is_reported_without_a_reason() -> None:
    words = said()
    assert words.reason == ""
    assert words.message.startswith("YuniKorn has not begun to reserve capacity")


def test_capacity_that_is_short_is_reported_with_what_is_reserved_for_each_group() -> None:
    words = said(
        placeholder("tg-1", node="n1"),
        placeholder("tg-2", "web-0-a", not_scheduled()),
        placeholder("tg-3", "web-0-b", node="n2"),
    )
    assert words.reason == "Unschedulable"
    assert words.message == (
        f"capacity is reserved for 2 of 3 pods (a 1/2, b 1/1) by placeholder pods: {WAITS}"
    )


def test_a_gang_of_one_group_does_not_list_it() -> None:
    of = gang(group("web-0-a", 2), conditions=[since("False")])
    words = said(placeholder("tg-1", "web-0-a", not_scheduled()), of=of, pods=MEMBERS[:2])
    assert words.message.startswith("capacity is reserved for 0 of 2 pods by placeholder pods: ")


def test_a_reservation_that_goes_on_has_no_reason() -> None:
    words = said(placeholder("tg-1", node="n1"), placeholder("tg-2"))
    assert words == Report(
        message="capacity is reserved for 1 of 3 pods (a 1/2, b 0/1), and YuniKorn is reserving more"
    )


def test_members_that_replace_placeholders_count_with_what_is_reserved() -> None:
    words = said(
        placeholder("tg-2", node="n2"),
        placeholder("tg-3", "web-0-b", node="n3"),
        pods=(PLACED[0], *MEMBERS[1:]),
    )
    assert words == Report(
        message="capacity is reserved for 3 of 3 pods (a 2/2, b 1/1), and pods are replacing the placeholders"
    )


@pytest.mark.parametrize(
    "other",
    [
        placeholder("tg-1", node="n1", going=True),
        placeholder("tg-1", node="n1", namespace="team-b"),
        placeholder("tg-1", node="n1", application="web-0-0b6c1d9e-4"),
        placeholder("tg-1", node="n1", application="web-0-ffffffff-0"),
    ],
)
def test_placeholders_of_others_and_of_former_times_hold_nothing(
    other: tuple[Resource, Watched],
) -> None:
    words = said(other, placeholder("tg-2", "web-0-a", not_scheduled()))
    assert words.message.startswith("capacity is reserved for 0 of 3 pods")


def test_placeholders_are_those_of_the_incarnation() -> None:
    of = gang(incarnation=4, conditions=[since("False")])
    words = said(placeholder("tg-1", node="n1", application="web-0-0b6c1d9e-4"), of=of)
    assert words.message.startswith("capacity is reserved for 1 of 3 pods")


def test_why_a_placeholder_has_no_node_is_taken_from_its_events() -> None:
    words = said(
        placeholder("tg-1", node="n1"),
        placeholder("tg-2", "web-0-a", not_scheduled()),
        event(
            "tg-2",
            "Unschedulable request 'u-1': failed plugin: 'NodeAffinity'\n"
            "node(s) didn't match Pod's node affinity/selector (8x); "
            "node(s) had untolerated taint(s) (5x); ",
        ),
        event("tg-2", "Unschedulable request 'u-1': of elsewhere (1x); ", namespace="team-b"),
    )
    assert words.reason == "Unschedulable"
    assert words.message.endswith(
        f": {WAITS}; node(s) didn't match Pod's node affinity/selector (8x);"
        " node(s) had untolerated taint(s) (5x)"
    )


def test_a_queue_that_is_full_is_another_reason() -> None:
    full = "Request 'u-1' does not fit in queue 'root.team' (requested vcore:1, available vcore:0)"
    words = said(placeholder("tg-2", "web-0-a", not_scheduled()), event("tg-2", full))
    assert words.reason == "QueueQuotaExceeded"
    assert "does not fit in queue 'root.team'" in words.message
    again = event("tg-2", "Request 'u-1' has become schedulable in queue 'root.team'", LATER)
    words = said(placeholder("tg-2", "web-0-a", not_scheduled()), event("tg-2", full), again)
    assert words.reason == "Unschedulable"
    assert "does not fit" not in words.message
    skipped = said(placeholder("tg-2", "web-0-a", not_scheduled("over", "SchedulingSkipped")))
    assert skipped.reason == "QueueQuotaExceeded"


def test_what_was_reported_while_members_were_gated_is_over() -> None:
    gated = not_scheduled("blocked due to non-empty scheduling gates", "SchedulingGated")
    free = tuple(
        pod(one.metadata.name, one.metadata.labels["grove.io/podclique"], gated) for one in MEMBERS
    )
    assert said(pods=free) == said()


def test_a_lost_member_of_a_running_gang_serves_for_itself() -> None:
    waiting = pod("web-0-a-xxxx9", "web-0-a", not_scheduled())
    words = said(pods=(*PLACED[1:], waiting))
    assert (words.reason, words.message) == ("Unschedulable", WAITS)


def test_surplus_that_is_scheduled_does_not_silence_a_member_that_is_not() -> None:
    waiting = pod("web-0-a-xxxx9", "web-0-a", not_scheduled())
    surplus = pod("web-0-a-xxxx8", "web-0-a", node="n1", index="2")
    words = said(pods=(*PLACED[1:], waiting, surplus))
    assert (words.reason, words.message) == ("Unschedulable", WAITS)


@pytest.mark.parametrize(
    ("status", "event_at", "counts"),
    [
        ("True", "2026-11-16T09:10:00Z", True),
        ("False", "2026-11-16T08:59:50Z", True),
        ("False", "2026-11-16T08:00:00Z", False),
    ],
)
def test_a_preemption_is_reported_if_it_came_with_the_loss(
    status: str, event_at: str, counts: bool
) -> None:
    of = gang(conditions=[since(status)])
    words = said(event("web-0-a-xxxx7", PREEMPTED, event_at), of=of, pods=MEMBERS[:1])
    told = "preempted by application big-0-11111111-0 in queue root.urgent"
    assert words.disruption == (told if counts else "")


def test_a_preemption_of_another_gangs_pod_is_not_reported() -> None:
    assert said(event("web-0-c-xxxx7", PREEMPTED)).disruption == ""
    assert said(event("web-0-a-xxxx7", PREEMPTED, namespace="team-b")).disruption == ""
    assert said(event("web-0-a-xxxx7", PREEMPTED), pods=PLACED).disruption == ""


def test_a_preemption_for_a_quota_is_reported_too() -> None:
    message = "Preempted by Quota change enforcement process in root.team"
    words = said(event("web-0-a-xxxx7", message), pods=())
    assert words.disruption == "preempted by Quota change enforcement process in root.team"


def test_a_rejected_gang_reports_it_until_its_new_pods_are_looked_at() -> None:
    words = said(event("web-0-a-xxxx7", REJECTED), pods=())
    assert words.reason == "ApplicationRejected"
    assert "application rejected: no placement rule matched" in words.message
    assert "Check that its queue exists" in words.message
    assert said(event("web-0-a-xxxx7", REJECTED)).reason == ""


def test_a_rejected_gang_whose_pods_were_left_as_they_are_reports_what_to_do() -> None:
    words = said(event("web-0-a-xxxx1", REJECTED))
    assert words.reason == "ApplicationRejected"
    assert words.message.endswith("Delete these pods: YuniKorn does not try them again")


def test_a_reservation_that_was_given_up_reports_it() -> None:
    message = "Application web-0-0b6c1d9e-0 scheduling failed, reason: ResourceReservationTimeout"
    assert said(event("web-0-a-xxxx7", message), pods=()).reason == "ReservationTimedOut"


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("PlaceholderCreateFailed", "could not create placeholders"),
        ("TaskGroupsError", "could not parse the task groups"),
    ],
)
def test_pods_that_are_scheduled_one_by_one_report_it_scheduled_or_not(
    action: str, why: str
) -> None:
    fallen = event("web-0-a-xxxx1", "fall back to normal scheduling", action=action)
    waiting = said(fallen)
    assert waiting.reason == "GangNotGuaranteed"
    assert why in waiting.message
    (remark,) = said(fallen, pods=PLACED).remarks
    assert why in remark
    former = event("web-0-a-xxxx0", "fall back to normal scheduling", action=action)
    assert said(former, pods=PLACED) == Report(), "that pod is gone, and with it what befell it"
