"""Who evicted a gang, as its status reports it."""

import msgspec
import pytest

from backend_controllers.contract.declaration import Report
from backend_controllers.kai.evictions import gang_of_event
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGangStatus
from shared_api.kube.pods import Pod
from tests.backends.kai.kit import (
    AFTER,
    BEFORE,
    NAMESPACE,
    REASON,
    STARTED,
    evicted,
    gang,
    group,
    mirrored,
    not_scheduled,
    pod,
    pod_group,
    queue,
    two,
    unschedulable,
)

EVICTOR = "pg-big-0-8d9f0a54-3c5e-4a6b-9a3e-0d1f2c3b4a59"

PREEMPTED = "Pod team-a/p-0 was preempted by higher priority workload team-b/big-0"


def test_a_preempted_gang_reports_who_took_its_capacity() -> None:
    found = mirrored(pod_group(annotations=STARTED), evicted(AFTER, PREEMPTED, by=EVICTOR))
    assert found.disruption == "preempted by gang big-0 in namespace team-b (2 pods)"
    assert (found.reason, found.message) == ("Preempted", found.disruption)
    assert found.disruption_reason == "Preempted"


def test_why_a_preempted_gang_is_not_scheduled_again_goes_beside_it() -> None:
    found = mirrored(
        pod_group(unschedulable(REASON, at=AFTER), annotations=STARTED),
        evicted(AFTER, PREEMPTED, by="somebody"),
        pods=two(),
    )
    assert found.reason == "Unschedulable"
    assert found.disruption == "preempted by PodGroup somebody in namespace team-b (2 pods)"


@pytest.mark.parametrize(
    ("action", "message", "reason", "text"),
    [
        (
            "reclaim",
            "Pod a/b was preempted by workload c/d.\nteam uses <8 GPUs> with a quota of <4>.",
            "Reclaimed",
            "reclaimed for the share of another queue by gang big-0 in namespace team-b (2 pods):"
            " team uses <8 GPUs> with a quota of <4>",
        ),
        (
            "other",
            "whatever",
            "Evicted",
            "evicted by gang big-0 in namespace team-b (2 pods)",
        ),
    ],
)
def test_evictions_of_other_kinds(action: str, message: str, reason: str, text: str) -> None:
    found = mirrored(pod_group(annotations=STARTED), evicted(AFTER, message, action, EVICTOR))
    assert (found.reason, found.disruption) == (reason, text)
    assert found.disruption_reason == reason


def test_an_eviction_without_an_evictor_keeps_its_text() -> None:
    message = "(combined from similar events): Workload doesn't meet the minimum (2)."
    event = evicted(AFTER, message, "stalegangeviction")
    found = mirrored(pod_group(annotations=STARTED), event)
    assert found.reason == "StaleGangEvicted"
    assert found.disruption.endswith("(2 pods): Workload doesn't meet the minimum (2)")


def test_an_eviction_is_over_once_the_gang_was_started_again() -> None:
    event = evicted(BEFORE, PREEMPTED, by=EVICTOR)
    assert mirrored(pod_group(annotations=STARTED), event, pods=two()) == Report()


def test_times_are_compared_across_zones() -> None:
    started = {"kai.scheduler/last-start-timestamp": "2026-11-16T10:30:00+02:00"}
    event = evicted("2026-11-16T08:45:00Z", PREEMPTED, by=EVICTOR)
    assert mirrored(pod_group(annotations=started), event).reason == "Preempted"


def test_the_latest_eviction_is_reported() -> None:
    later = evicted("2026-11-16T11:00:00Z", "x", "consolidation")
    events = later, evicted(AFTER, PREEMPTED, by=EVICTOR)
    assert mirrored(pod_group(annotations=STARTED), *events).reason == "Consolidated"


def test_an_eviction_of_surplus_pods_does_not_disrupt_the_gang() -> None:
    event = evicted(AFTER, PREEMPTED, by=EVICTOR)
    assert mirrored(pod_group(annotations=STARTED), event, pods=two(node="n")) == Report()


def fallen(status: str, at: str, *references: str) -> ObservedPodGang:
    """A gang that fell below its minimum, and what its status says still or already."""
    said = {"type": "Scheduled", "status": status, "reason": "X", "message": ""}
    told = msgspec.convert(
        {"conditions": [said | {"lastTransitionTime": at}]}, ObservedPodGangStatus
    )
    pods = [{"namespace": NAMESPACE, "name": name} for name in references]
    made = gang({**group("web-0-main", 2), "podReferences": pods})
    return msgspec.structs.replace(made, status=told)


@pytest.mark.parametrize(
    ("at", "is_told"),
    [
        ("2026-11-16T10:00:01Z", True),
        ("2026-11-16T09:59:59Z", True),
        ("2026-11-16T10:30:00Z", False),
    ],
    ids=["just-then", "before-it", "long-after-it"],
)
def test_an_old_eviction_of_surplus_is_not_blamed_for_a_later_loss(at: str, is_told: bool) -> None:
    event = evicted(AFTER, PREEMPTED, by=EVICTOR)
    found = mirrored(pod_group(annotations=STARTED), event, of=fallen("False", at))
    assert bool(found.disruption) is is_told
    assert bool(found.disruption_reason) is is_told


@pytest.mark.parametrize(
    ("references", "leaving", "is_told"),
    [
        (("p-0", "p-1"), (), True),
        (("p-1", "p-5"), (pod("p-0", node="n-2"),), True),
        (("p-1", "p-3"), (), False),
        (("p-1",), (pod("p-3", node="n-2"),), False),
    ],
    ids=["gone", "going", "another-is-gone", "another-is-going"],
)
def test_an_eviction_of_a_pod_that_is_just_going_is_reported_at_once(
    references: tuple[str, ...], leaving: tuple[Pod, ...], is_told: bool
) -> None:
    it = fallen("True", "2026-11-16T09:30:00Z", *references)
    merged = f"(combined from similar events): {PREEMPTED}"
    for message in (PREEMPTED, merged):
        event = evicted(AFTER, message, by=EVICTOR)
        pods = (pod("p-1", node="n-1"),)
        found = mirrored(pod_group(annotations=STARTED), event, pods=pods, leaving=leaving, of=it)
        assert bool(found.disruption) is is_told


def test_an_eviction_is_over_once_the_gang_had_its_minimum_again() -> None:
    it = fallen("True", "2026-11-16T10:10:00Z", "p-0")
    event = evicted(AFTER, PREEMPTED, by=EVICTOR)
    assert mirrored(pod_group(annotations=STARTED), event, of=it) == Report()


TARGET = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "",
}


def test_a_marked_pod_that_the_gang_can_do_without_announces_nothing() -> None:
    surplus = pod("p-2", "web-0-main", TARGET, node="n-3")
    assert mirrored(pod_group(annotations=STARTED), pods=(*two(node="n-1"), surplus)) == Report()
    it = gang(group("web-0-main", 2), group("b", 1))
    pods = (*two(node="n-1"), surplus, pod("b-0", "b", not_scheduled("no room.")))
    assert mirrored(pod_group(annotations=STARTED), pods=pods, of=it).disruption == ""


def test_pods_that_are_marked_announce_the_eviction() -> None:
    found = mirrored(pod_group(annotations=STARTED), pods=two(TARGET, node="n-1"))
    assert found.disruption == "pod p-0 is being evicted: PreemptionByScheduler"
    assert found.reason == ""


def test_an_event_is_news_about_the_gang_whose_pod_group_it_names() -> None:
    assert gang_of_event(evicted(AFTER, "x")[1]) == (NAMESPACE, "web-0")
    assert gang_of_event(queue("team")[1]) is None
