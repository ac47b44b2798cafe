"""Conflicts with KAI's podgrouper, as the status of a gang reports them."""

from backend_controllers.contract.declaration import Report
from tests.backends.kai.kit import (
    EARLIER,
    NODES,
    OF_GROVE,
    STARTED,
    UID,
    V0_13,
    mirrored,
    not_scheduled,
    pod,
    pod_group,
    two,
)

CAPTURED = {"pod-group-name": "pg-web-0-a-5b7c"}


def test_pods_that_the_podgrouper_took_are_the_reason_and_the_fix_is_reported() -> None:
    found = mirrored(pod_group(), pods=two(annotations=CAPTURED), features=V0_13)
    assert found.reason == "PodGrouperClash"
    assert "pg-web-0-a-5b7c" in found.message
    assert "--namespace-label-selector" in found.message
    newer = mirrored(pod_group(), pods=two(annotations=CAPTURED))
    assert "kai.scheduler/skip-podgrouper=true on the PodCliqueSet" in newer.message


def test_a_clash_beside_a_scheduled_gang_is_a_remark() -> None:
    found = mirrored(pod_group(), pods=two(annotations=CAPTURED, node="n-1"))
    assert found.reason == ""
    assert "pg-web-0-a-5b7c" in found.remarks[0]


def test_a_podgrouper_that_writes_into_our_pod_group_is_noticed() -> None:
    found = mirrored(pod_group(minMember=2), pods=two(node="n-1"), features=V0_13)
    assert f"has changed PodGroup pg-web-0-{UID}" in found.remarks[0]
    assert found.remarks[0].endswith("then delete the PodGroup to recreate it")


def test_a_gang_that_is_being_bound_does_not_blame_the_podgrouper() -> None:
    chosen = two(made="2026-11-16T08:00:00Z")
    found = mirrored(pod_group(annotations=STARTED, minMember=2), pods=chosen, features=V0_13)
    assert (found.reason, found.message.partition(",")[0]) == ("", "KAI chose the nodes")
    assert "has changed PodGroup" in found.remarks[0]


def test_pods_of_an_earlier_gang_of_this_name_were_not_taken_by_the_podgrouper() -> None:
    assert mirrored(pod_group(), pods=two(annotations=EARLIER, node="n-1")) == Report()
    waits = pod("p-1", "web-0-main", not_scheduled(f"{NODES}."))
    found = mirrored(pod_group(), pods=(pod("p-0", annotations=EARLIER, node="n-1"), waits))
    assert found == Report("Unschedulable", NODES)


def test_pods_that_grove_created_were_not_taken_by_the_podgrouper() -> None:
    assert mirrored(pod_group(), pods=two(annotations=OF_GROVE, node="n-1")) == Report()
    waits = pod("p-1", "web-0-main", not_scheduled(f"{NODES}."))
    found = mirrored(pod_group(), pods=(pod("p-0", annotations=OF_GROVE, node="n-1"), waits))
    assert found == Report("Unschedulable", NODES)
