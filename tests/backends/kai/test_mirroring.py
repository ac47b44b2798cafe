"""What is said about a gang that KAI has placed, has not placed, or has evicted."""

from typing import Any

import msgspec
import pytest

from backend_controllers.contract.declaration import Words
from backend_controllers.kai.api import BINDINGS
from backend_controllers.kai.evictions import gang_of_event
from backend_controllers.kai.features import Features
from backend_controllers.kai.mirroring import mirror
from shared_api.kube.podgangs import PodGang, PodGangStatus
from shared_api.kube.pods import Pod
from tests.backends.kai.kit import (
    EARLIER,
    HOST,
    NAMESPACE,
    RACK,
    UID,
    V0_13,
    V0_17,
    ZONE,
    GivenFacts,
    Object,
    binding,
    evicted,
    gang,
    group,
    not_scheduled,
    on_topology,
    pack,
    pod,
    pod_group,
    queue,
    speech,
    topology,
    unschedulable,
)

NODES = "no nodes with enough resources were found: 4 node(s) didn't have enough resources: GPUs"
REASON = {
    "reason": "PodSchedulingErrors",
    "message": "Resources were found for 1 pods from all sub-groups while sub-group web-0-main"
    " requires 2 pods for gang scheduling. Additional pods cannot be scheduled in this sub-group"
    f" due to: {NODES}.",
}
STARTED = {"kai.scheduler/last-start-timestamp": "2026-11-16T09:00:00Z"}
BEFORE, AFTER = "2026-11-16T08:00:00Z", "2026-11-16T10:00:00Z"


def words(*objects: Any, pods: tuple[Pod, ...] = (), **kwargs: Any) -> Words:
    features = kwargs.pop("features", V0_17)
    it = kwargs.pop("of", None) or gang()
    return mirror(speech(features), it, GivenFacts(*objects, pods=pods, **kwargs))


def two(*conditions: Object, **fields: Any) -> tuple[Pod, ...]:
    return (
        pod("p-0", "web-0-main", *conditions, **fields),
        pod("p-1", "web-0-main", *conditions, **fields),
    )


def test_before_kai_has_looked_there_is_nothing_to_say() -> None:
    assert words() == Words()
    assert words(pod_group(), pods=two()) == Words()


def test_a_gang_that_does_not_fit_says_how_far_it_fits() -> None:
    found = words(pod_group(unschedulable(REASON)), pods=two())
    assert found == Words("Unschedulable", f"group 'web-0-main' fits 1 of 2: {NODES}")


def test_the_newest_condition_counts_wherever_it_stands() -> None:
    old = {"reason": "OverLimit", "message": "limit is 3"}
    conditions = [unschedulable(REASON, number=10), unschedulable(old, number=9)]
    assert words(pod_group(*conditions), pods=two()).reason == "Unschedulable"
    assert words(pod_group(*reversed(conditions)), pods=two()).reason == "Unschedulable"


def test_a_condition_without_reasons_is_read_from_its_text() -> None:
    condition = unschedulable() | {"message": "OverLimit: limit is 3.."}
    assert words(pod_group(condition), pods=two()) == Words("OverLimit", "limit is 3")


def test_a_condition_that_was_cleared_says_nothing() -> None:
    condition = unschedulable(REASON) | {"status": "False"}
    assert words(pod_group(condition), pods=two()) == Words()


def test_a_placed_gang_is_not_called_unschedulable_by_a_condition_that_stayed() -> None:
    assert words(pod_group(unschedulable(REASON)), pods=two(node="n-1")) == Words()


def test_a_condition_from_before_the_last_start_is_over() -> None:
    stale = pod_group(unschedulable(REASON, at=BEFORE), annotations=STARTED)
    assert words(stale, pods=two()) == Words()
    fresh = pod_group(unschedulable(REASON, at=AFTER), annotations=STARTED)
    assert words(fresh, pods=two()).reason == "Unschedulable"


def test_pods_speak_where_the_condition_is_over() -> None:
    stale = pod_group(unschedulable(REASON, at=BEFORE), annotations=STARTED)
    assert words(stale, pods=two(not_scheduled(f"{NODES}."))) == Words("Unschedulable", NODES)


def test_a_gang_of_which_a_part_has_nodes_is_explained_by_the_other_pods() -> None:
    part = pod("p-0", node="n-1"), pod("p-1", "web-0-main", not_scheduled(f"{NODES}."))
    assert words(pod_group(unschedulable(REASON)), pods=part).message == NODES


@pytest.mark.parametrize("pods", [two(gates=("grove.io/podgang",)), two()[:1], ()])
def test_while_members_are_missing_or_gated_old_words_are_not_repeated(
    pods: tuple[Pod, ...],
) -> None:
    assert words(pod_group(unschedulable(REASON)), pods=pods) == Words()


def test_pods_above_the_minimum_do_not_keep_a_gang_from_being_placed() -> None:
    surplus = pod("p-2", "web-0-main", not_scheduled(f"{NODES}."))
    assert words(pod_group(), pods=(*two(node="n-1"), surplus)) == Words()


def test_a_failed_pod_holds_no_place() -> None:
    pods = pod("p-0", node="n-1"), pod("p-1", node="n-1", phase="Failed")
    third = pod("p-2", "web-0-main", not_scheduled(f"{NODES}."))
    assert words(pod_group(), pods=(*pods, third)).reason == "Unschedulable"


def test_every_group_needs_its_own_minimum() -> None:
    it = gang(group("a", 1), group("b", 1))
    pods = pod("p-0", "a", node="n-1"), pod("p-1", "b", not_scheduled("no room."))
    assert words(pod_group(), pods=pods, of=it).message == "no room"


def test_a_missing_queue_is_said_before_anything_else_with_those_that_exist() -> None:
    found = words(queue("root"), queue("lab", "root"), queues=False)
    assert found.reason == "QueueDoesNotExist"
    assert "queue 'team' does not exist: create it" in found.message
    assert "label kai.scheduler/queue" in found.message
    assert found.message.endswith("queues that take gangs: lab")


def test_a_queue_with_children_is_no_place_for_gangs() -> None:
    found = words(queue("sub-b", "team"), queue("sub-a", "team"))
    assert found.reason == "QueueNotLeaf"
    assert "name one of sub-a, sub-b" in found.message


def test_a_queue_whose_parent_is_missing_does_not_exist_for_kai() -> None:
    found = words(queue("team", "mid"), queue("mid", "gone"), queues=False)
    assert found.reason == "QueueDoesNotExist"
    assert "the parent 'gone' of queue 'mid' does not exist" in found.message


def test_queues_in_a_circle_do_not_hang_the_mirror() -> None:
    assert words(queue("team", "team"), queues=False).reason == "QueueNotLeaf"


@pytest.mark.parametrize(
    ("objects", "reason", "text"),
    [
        ((), "TopologyDoesNotExist", "no ClusterTopologyBinding 'net'"),
        (
            ((BINDINGS, binding("net", ZONE, RACK)),),
            "TopologyDoesNotExist",
            "still to be made from ClusterTopologyBinding 'net'",
        ),
        (
            ((BINDINGS, binding("net", ZONE, RACK, kai="theirs")),),
            "TopologyDoesNotExist",
            "refers to Topology 'theirs', which does not exist",
        ),
        (
            (topology("net", ZONE, HOST),),
            "TopologyLevelDoesNotExist",
            f"Topology 'net' has no level {RACK}; it has {ZONE}, {HOST}",
        ),
        ((topology("net", ZONE, RACK),), "", ""),
    ],
)
def test_a_topology_that_is_missing_or_lacks_a_level_is_said(
    objects: tuple[Any, ...], reason: str, text: str
) -> None:
    it = gang(group("web-0-main", 2, pack(RACK)), metadata=on_topology())
    found = words(*objects, of=it)
    assert found.reason == reason
    assert text in found.message


def test_a_binding_that_failed_is_said_with_the_binders_words() -> None:
    message = "Failed to bind pod a/p-0 to node n-1: timed out."
    failed = {"type": "PodBound", "status": "False", "reason": "BindingError", "message": message}
    found = words(pod_group(unschedulable(REASON)), pods=two(failed))
    assert found == Words("BindingFailed", message.rstrip("."))


def test_pods_that_kai_has_chosen_nodes_for_wait_for_the_binder() -> None:
    chosen = two(not_scheduled(f"{NODES}."), made="2026-11-16T08:00:00Z")
    stale = pod_group(unschedulable(REASON, at=BEFORE), annotations=STARTED)
    found = words(stale, pods=chosen)
    assert found == Words("", "KAI chose the nodes, its binder has not bound all pods yet")
    newer = pod_group(unschedulable(REASON, at=AFTER), annotations=STARTED)
    assert words(newer, pods=chosen).reason == "Unschedulable"


EVICTOR = "pg-big-0-8d9f0a54-3c5e-4a6b-9a3e-0d1f2c3b4a59"
PREEMPTED = "Pod team-a/p-0 was preempted by higher priority workload team-b/big-0"


def test_a_preempted_gang_says_who_took_its_room() -> None:
    found = words(pod_group(annotations=STARTED), evicted(AFTER, PREEMPTED, by=EVICTOR))
    assert found.disruption == "preempted by gang big-0 in namespace team-b (2 pods)"
    assert (found.reason, found.message) == ("Preempted", found.disruption)
    assert found.disruption_reason == "Preempted"


def test_why_a_preempted_gang_is_not_placed_again_goes_beside_it() -> None:
    found = words(
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
            "reclaimed for its queue's share by gang big-0 in namespace team-b (2 pods):"
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
    found = words(pod_group(annotations=STARTED), evicted(AFTER, message, action, EVICTOR))
    assert (found.reason, found.disruption) == (reason, text)
    assert found.disruption_reason == reason


def test_an_eviction_without_an_evictor_keeps_its_text() -> None:
    message = "(combined from similar events): Workload doesn't meet the minimum (2)."
    event = evicted(AFTER, message, "stalegangeviction")
    found = words(pod_group(annotations=STARTED), event)
    assert found.reason == "StaleGangEvicted"
    assert found.disruption.endswith("(2 pods): Workload doesn't meet the minimum (2)")


def test_an_eviction_is_over_once_the_gang_was_started_again() -> None:
    event = evicted(BEFORE, PREEMPTED, by=EVICTOR)
    assert words(pod_group(annotations=STARTED), event, pods=two()) == Words()


def test_times_are_compared_across_zones() -> None:
    started = {"kai.scheduler/last-start-timestamp": "2026-11-16T10:30:00+02:00"}
    event = evicted("2026-11-16T08:45:00Z", PREEMPTED, by=EVICTOR)
    assert words(pod_group(annotations=started), event).reason == "Preempted"


def test_the_latest_eviction_is_told() -> None:
    later = evicted("2026-11-16T11:00:00Z", "x", "consolidation")
    events = later, evicted(AFTER, PREEMPTED, by=EVICTOR)
    assert words(pod_group(annotations=STARTED), *events).reason == "Consolidated"


def test_an_eviction_of_surplus_pods_does_not_disrupt_the_gang() -> None:
    event = evicted(AFTER, PREEMPTED, by=EVICTOR)
    assert words(pod_group(annotations=STARTED), event, pods=two(node="n")) == Words()


def fallen(status: str, at: str, *references: str) -> PodGang:
    """A gang that fell below its minimum, and what its status says still or already."""
    said = {"type": "Scheduled", "status": status, "reason": "X", "message": ""}
    told = msgspec.convert({"conditions": [said | {"lastTransitionTime": at}]}, PodGangStatus)
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
    found = words(pod_group(annotations=STARTED), event, of=fallen("False", at))
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
def test_an_eviction_of_a_pod_that_is_just_going_is_told_at_once(
    references: tuple[str, ...], leaving: tuple[Pod, ...], is_told: bool
) -> None:
    it = fallen("True", "2026-11-16T09:30:00Z", *references)
    merged = f"(combined from similar events): {PREEMPTED}"
    for message in (PREEMPTED, merged):
        event = evicted(AFTER, message, by=EVICTOR)
        pods = (pod("p-1", node="n-1"),)
        found = words(pod_group(annotations=STARTED), event, pods=pods, leaving=leaving, of=it)
        assert bool(found.disruption) is is_told


def test_an_eviction_is_over_once_the_gang_had_its_minimum_again() -> None:
    it = fallen("True", "2026-11-16T10:10:00Z", "p-0")
    event = evicted(AFTER, PREEMPTED, by=EVICTOR)
    assert words(pod_group(annotations=STARTED), event, of=it) == Words()


TARGET = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "",
}


def test_a_marked_pod_that_the_gang_can_do_without_announces_nothing() -> None:
    surplus = pod("p-2", "web-0-main", TARGET, node="n-3")
    assert words(pod_group(annotations=STARTED), pods=(*two(node="n-1"), surplus)) == Words()
    it = gang(group("web-0-main", 2), group("b", 1))
    pods = (*two(node="n-1"), surplus, pod("b-0", "b", not_scheduled("no room.")))
    assert words(pod_group(annotations=STARTED), pods=pods, of=it).disruption == ""


def test_pods_that_are_marked_announce_the_eviction() -> None:
    found = words(pod_group(annotations=STARTED), pods=two(TARGET, node="n-1"))
    assert found.disruption == "pod p-0 is being evicted: PreemptionByScheduler"
    assert found.reason == ""


def test_an_event_is_news_about_the_gang_whose_pod_group_it_names() -> None:
    assert gang_of_event(evicted(AFTER, "x")[1]) == (NAMESPACE, "web-0")
    assert gang_of_event(queue("team")[1]) is None


CAPTURED = {"pod-group-name": "pg-web-0-a-5b7c"}


def test_pods_that_the_podgrouper_took_are_the_reason_and_the_fix_is_told() -> None:
    found = words(pod_group(), pods=two(annotations=CAPTURED), features=V0_13)
    assert found.reason == "PodGrouperClash"
    assert "pg-web-0-a-5b7c" in found.message
    assert "--namespace-label-selector" in found.message
    newer = words(pod_group(), pods=two(annotations=CAPTURED))
    assert "kai.scheduler/skip-podgrouper=true on the PodCliqueSet" in newer.message


def test_a_clash_beside_a_placed_gang_is_a_remark() -> None:
    found = words(pod_group(), pods=two(annotations=CAPTURED, node="n-1"))
    assert found.reason == ""
    assert "pg-web-0-a-5b7c" in found.remarks[0]


def test_a_podgrouper_that_writes_into_our_pod_group_is_noticed() -> None:
    found = words(pod_group(minMember=2), pods=two(node="n-1"), features=V0_13)
    assert f"has written into PodGroup pg-web-0-{UID}" in found.remarks[0]
    assert found.remarks[0].endswith("and delete the PodGroup for it to be made anew")


def test_a_gang_that_is_being_bound_does_not_blame_the_podgrouper() -> None:
    chosen = two(made="2026-11-16T08:00:00Z")
    found = words(pod_group(annotations=STARTED, minMember=2), pods=chosen, features=V0_13)
    assert (found.reason, found.message.partition(",")[0]) == ("", "KAI chose the nodes")
    assert "has written into PodGroup" in found.remarks[0]


def test_pods_of_an_earlier_gang_of_this_name_were_not_taken_by_the_podgrouper() -> None:
    assert words(pod_group(), pods=two(annotations=EARLIER, node="n-1")) == Words()
    waits = pod("p-1", "web-0-main", not_scheduled(f"{NODES}."))
    found = words(pod_group(), pods=(pod("p-0", annotations=EARLIER, node="n-1"), waits))
    assert found == Words("Unschedulable", NODES)


def test_what_kai_says_of_the_new_pod_group_counts_beside_pods_of_an_earlier_gang() -> None:
    pods = pod("p-0", annotations=EARLIER, node="n-1"), pod("p-1")
    found = words(pod_group(unschedulable(REASON)), pods=pods)
    assert found == Words("Unschedulable", f"group 'web-0-main' fits 1 of 2: {NODES}")


def test_pods_of_an_earlier_gang_that_can_never_be_placed_are_named() -> None:
    found = words(pod_group(), pods=two(annotations=EARLIER))
    assert found.reason == "PodsOfEarlierGang"
    assert found.message.endswith("delete p-0, p-1 for them to be made anew")
    assert found.remarks == ()


def test_without_topologies_in_the_cluster_none_is_looked_for() -> None:
    class Unwatched(GivenFacts):
        def get(self, resource: Any, namespace: str, name: str) -> Any:
            assert resource.plural not in ("topologies", "clustertopologybindings")
            return super().get(resource, namespace, name)

    it = gang(group("web-0-main", 2, pack(RACK)), metadata=on_topology())
    assert mirror(speech(Features(topology=False)), it, Unwatched()) == Words()
