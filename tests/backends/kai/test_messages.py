"""KAI's explanations after cleaning: stable, short, and with their numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend_controllers.kai.api import Explanation, QueueDetails, ReasonDetails
from backend_controllers.kai.messages import explain, explanation_of

NODES = "no nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs"
GANG = (
    "Resources were found for 1 pods from all sub-groups while sub-group prefill requires 2 pods"
    " for gang scheduling. Additional pods cannot be scheduled in this sub-group due to: "
)


def told(reason: str, message: str) -> Explanation:
    return Explanation(reason=reason, message=message)


@pytest.mark.parametrize(
    ("explanations", "reason", "message"),
    [
        (
            [told("PodSchedulingErrors", f"{GANG}{NODES}..")],
            "Unschedulable",
            f"group 'prefill' fits 1 of 2: {NODES}",
        ),
        (
            [
                told(
                    "PodSchedulingErrors",
                    "Resources were found for 4 pods while 5 are required for gang scheduling."
                    f" Additional pods cannot be scheduled due to: {NODES}.",
                )
            ],
            "Unschedulable",
            f"the gang fits 4 of 5: {NODES}",
        ),
        (
            [told("PodSchedulingErrors", f"{GANG}{NODES}. \n8 node(s) had a taint..")],
            "Unschedulable",
            f"group 'prefill' fits 1 of 2: {NODES}, 8 node(s) had a taint",
        ),
        (
            [told("QueueDoesNotExist", "Queue 'ghost' does not exist")],
            "QueueDoesNotExist",
            "Queue 'ghost' does not exist",
        ),
        (
            [told("PodSchedulingErrors", "Requested topology nope does not exist")],
            "TopologyDoesNotExist",
            "Requested topology nope does not exist",
        ),
        (
            [
                told(
                    "OverLimit",
                    "team quota has reached the allowable limit of CPU cores. Limit is 2 cores,"
                    " currently 0 cores allocated and workload requested 5 cores",
                )
            ],
            "OverLimit",
            "team quota has reached the allowable limit of CPU cores. Limit is 2 cores,"
            " currently 0 cores allocated and workload requested 5 cores",
        ),
        (
            [told("Something new with blanks", "a text of a later release.")],
            "Unschedulable",
            "a text of a later release",
        ),
        (
            [told("", "Unable to schedule podgroup")],
            "Unschedulable",
            "KAI cannot schedule the gang and gives no reason",
        ),
        ([], "Unschedulable", "KAI cannot schedule the gang and gives no reason"),
    ],
)
def test_an_explanation_becomes_a_reason_and_a_clean_text(
    explanations: list[Explanation], reason: str, message: str
) -> None:
    assert explain(explanations) == (reason, message)


RACKS = [
    told(
        "Not enough resources for the workload",
        f"node-group z0.r{rack} can allocate only {room} of 5 required pods",
    )
    for rack, room in enumerate((2, 4, 4, 0))
]
REQUIREMENT = told(
    "PodSchedulingErrors",
    "topology net, requirement example.com/rack couldn't be satisfied for job <a/pg-x>",
)


def test_of_many_domains_the_best_is_named() -> None:
    assert explain([*RACKS, REQUIREMENT]) == (
        "TopologyUnsatisfied",
        "fits 4 of 5 pods in z0.r1, the best of 4 domains; no domain of level example.com/rack"
        " in topology 'net' has capacity for the gang",
    )


def test_an_unmet_level_of_a_sub_group_names_it() -> None:
    text = f"{REQUIREMENT.message}, subgroup m-0: not enough resources in z0 to allocate the job"
    assert explain([told("PodSchedulingErrors", text)]) == (
        "TopologyUnsatisfied",
        "no domain of level example.com/rack in topology 'net' has capacity for 'm-0':"
        " not enough resources in z0 to allocate the job",
    )


@settings(max_examples=50, deadline=None)
@given(st.permutations([*RACKS, REQUIREMENT, told("OverLimit", "limit is 3"), told("", NODES)]))
def test_the_order_in_which_kai_lists_reasons_does_not_show(order: list[Explanation]) -> None:
    assert explain(order) == explain(sorted(order, key=lambda entry: entry.message))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.builds(told, st.text(max_size=30), st.text(max_size=80)), max_size=20))
def test_any_text_gives_a_reason_that_a_condition_can_have(explanations: list[Explanation]) -> None:
    reason, message = explain(explanations)
    assert reason.isalpha()
    assert message
    assert len(message) <= 2048
    assert "\n" not in message
    assert explain([*explanations, *explanations]) == (reason, message)


def test_numbers_of_the_queue_are_added_where_the_text_has_none() -> None:
    details = QueueDetails(
        name="team",
        queue_resource_limits={"cpu": "2000", "gpu": 1},
        queue_allocated_resources={"cpu": 1500},
        pod_group_requested_resources={"cpu": "1000"},
    )
    message = explain([Explanation("OverLimit", "no room", ReasonDetails(details))])[1]
    assert "queue 'team': limit cpu=2000 gpu=1, allocated cpu=1500, requested cpu=1000" in message


def test_what_one_pod_reports_is_part_of_what_is_reported_about_the_gang() -> None:
    whole = explanation_of(f"PodSchedulingErrors: {GANG}{NODES}..")
    assert explain([whole, explanation_of(f"{NODES}.")]) == explain([whole])


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("OverLimit: limit is 3.", "OverLimit", "limit is 3."),
        ("Unable to schedule podgroup: a. \nb.", "Unable to schedule podgroup", "a. \nb."),
        (
            "Unable to schedule podgroup",
            "Unable to schedule podgroup",
            "Unable to schedule podgroup",
        ),
        ("something else: a", "", "something else: a"),
    ],
)
def test_conditions_of_pods_start_with_the_reason(text: str, reason: str, message: str) -> None:
    assert explanation_of(text) == told(reason, message)


def test_long_lists_are_cut_and_report_it() -> None:
    message = explain([told("", f"reason {number:02}") for number in range(20)])[1]
    assert message.endswith("reason 07; and 12 more")
