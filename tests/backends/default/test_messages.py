"""What kube-scheduler says, as it was seen, and what is left of it for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.default.messages import cleaned, names_nodes

NO_VICTIMS = "No preemption victims found for incoming preemptor"
UNSUPPORTED = (
    "workload aware preemption is not supported for pod groups with scheduling constraints"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # 1.35, a pod.
        (
            "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu. no new"
            " claims to deallocate, preemption: 0/5 nodes are available: 1 Preemption is not helpful"
            " for scheduling, 4 No preemption victims found for incoming pod.",
            "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu",
        ),
        # 1.36, a pod that found no node.
        (
            "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu. no new"
            " claims to deallocate, preemption: not eligible due to workload aware preemption enabled",
            "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu",
        ),
        (
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not"
            " eligible due to placement-based pod group scheduling limitation",
            "0/2 nodes are available: 2 Insufficient cpu",
        ),
        # 1.36, a pod that waits for the others: noise while the gates go one by one.
        (
            "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or"
            " more plugins asked to wait and no plugin rejected pod",
            "",
        ),
        # 1.36, the group.
        (
            "0/1 placements are available, first placement status: pod group is unschedulable,"
            f" {NO_VICTIMS}",
            "",
        ),
        (
            "0/2 placements are available, first placement status: pod group is unschedulable,"
            f" {UNSUPPORTED}",
            "0/2 placements are available",
        ),
        (f"no feasible placements found, {UNSUPPORTED}", "no feasible placements found"),
        # 1.37, the group.
        (
            "pod group is unschedulable, 0/1 placements are available, first placement status:"
            " minCount (5) cannot be satisfied: 4 scheduled, 0 remaining, pod group preemption:"
            f" {NO_VICTIMS}",
            "4 of 5 pods fit",
        ),
        (
            "pod group is unschedulable, 0/2 placements are available, first placement status:"
            " minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption:"
            f" {NO_VICTIMS}, pod group preemption: {NO_VICTIMS}",
            "0/2 placements are available, 2 of 3 pods fit",
        ),
        (
            "pod group is unschedulable, 0/1 placements are available, first placement status:"
            " minCount (3) cannot be satisfied: 1 scheduled, 1 remaining, pod group preemption: found"
            " a placement for podgroup, preempting 3 victims",
            "1 of 3 pods fit, 1 not tried, preempting 3 victims",
        ),
        # Others' plugins say what they like.
        (
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
        ),
        ("10/1 placements are available", "10/1 placements are available"),
    ],
)
def test_noise_goes_and_numbers_stay(said: str, told: str) -> None:
    assert cleaned(said) == told


def test_clash_of_priorities_is_reported_with_what_to_do() -> None:
    told = cleaned(
        "all pods in a single pod group should have the same priority as the pod group's priority,"
        " got 0 and 1000"
    )
    assert "got 0 and 1000" in told
    assert "priorityClassName" in told


def test_only_messages_about_nodes_name_nodes() -> None:
    assert names_nodes("0/5 nodes are available: 4 Insufficient cpu")
    assert not names_nodes("0/2 placements are available")


@given(st.text(alphabet="ab ,.;:012()/", max_size=60))
def test_cleaning_twice_changes_nothing_more(said: str) -> None:
    assert cleaned(cleaned(said)) == cleaned(said)
