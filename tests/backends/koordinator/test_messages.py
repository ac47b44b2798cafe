"""Koordinator's explanations as people read them; equal situations give equal texts."""

import pytest

from backend_controllers.koordinator.messages import explain

FULL = (
    'GangGroup "t/w-0-a-1,t/w-0-b-2" gets rejected due to member Pod "t/{pod}" is unschedulable'
    ' with reason "0/2 nodes are available: 2 Insufficient cpu.", alreadyWaitForBound: {waiting}.'
)
TREE = (
    "no candidate topology nodes can accommodate job, desiredOfferSlot: 5, topology topologyNode"
    " RackLayer/r1: 4;topology topologyNode RackLayer/r0: 2, 0/6 nodes are available: 6"
    " Insufficient cpu."
)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], ("", "")),
        (
            [FULL.format(pod="w-0-a-x", waiting=4)],
            ("Unschedulable", "fits 4 of 5: 0/2 nodes are available: 2 Insufficient cpu"),
        ),
        (
            ["0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible."],
            ("Unschedulable", "0/2 nodes are available: 2 Insufficient cpu"),
        ),
        (
            [TREE],
            ("TopologyUnsatisfied", "fits 4 of 5 pods in RackLayer/r1, the best of 2 domains"),
        ),
        (
            ["no candidate topology nodes can accommodate job, desiredOfferSlot: 5, , none"],
            ("TopologyUnsatisfied", "no domain has capacity for 5 pods"),
        ),
        (["  something   new\n"], ("Unschedulable", "something new")),
    ],
)
def test_explanations_are_cleaned_and_keep_their_numbers(
    messages: list[str], expected: tuple[str, str]
) -> None:
    assert explain(messages, 5) == expected


def test_which_member_found_no_capacity_changes_nothing() -> None:
    assert explain([FULL.format(pod="a", waiting=4)], 5) == explain(
        [FULL.format(pod="b", waiting=4)], 5
    )


def test_a_missing_network_is_reported_with_what_to_do() -> None:
    reason, message = explain(["no cluster network topology"], 2)
    assert reason == "NetworkTopologyUnknown"
    assert "--enable-network-topology-manager" in message


def test_those_that_were_turned_away_report_how_many_fit() -> None:
    alone = "0/2 nodes are available: 2 Insufficient cpu. preemption: not helpful."
    assert explain([alone, alone, FULL.format(pod="a", waiting=1)], 2)[1].startswith(
        "fits 1 of 2: "
    )


def test_what_the_tried_member_reports_wins_over_those_that_were_turned_away() -> None:
    assert explain(["0/1 nodes are available", "0/1 nodes are available", TREE], 5)[0] == (
        "TopologyUnsatisfied"
    )


def test_long_messages_are_cut() -> None:
    assert len(explain(["x" * 5000], 1)[1]) < 600
