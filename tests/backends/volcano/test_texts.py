"""Volcano's texts, as they were seen, made fit to be read."""

import pytest

from backend_controllers.volcano.texts import cause_of, cleaned


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "0/2 nodes are unavailable: 2 Insufficient cpu.",
            "0/2 nodes are available: 2 Insufficient cpu",
        ),
        (
            "1/5 tasks in gang unschedulable: pod group is not ready, 5 Pending, 5 minAvailable;"
            " Pending: 1 Unschedulable, 4 Schedulable",
            "",
        ),
        (
            "-1/6 tasks in gang unschedulable: pod group is not ready, 6 Pending, 5 minAvailable;"
            " Pending: 6 Unschedulable. Origin reason is w-0-a-2: 0/2 nodes are unavailable: 2"
            " Insufficient cpu.",
            "0/2 nodes are available: 2 Insufficient cpu",
        ),
        ("Task t/p-1 with role spec a has already predicated failed, skip", ""),
        (
            "Pod t/p-1 can possibly be assigned to n1, once resource is released and minAvailable is"
            " satisfied",
            "has a place once resource is released and minAvailable is satisfied",
        ),
        ("something  nobody\nhas seen yet.", "something nobody has seen yet"),
    ],
)
def test_the_cause_is_taken_out(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_the_same_cause_is_said_once_and_in_order() -> None:
    texts = ["b.", "a", "b", ""]
    assert cleaned(texts) == cleaned(reversed(texts)) == "a; b"


def test_many_domains_become_one_line() -> None:
    rooms = [
        f"In hyperNode r{index}: 0/1 nodes are unavailable: 1 Insufficient cpu."
        for index in range(300)
    ]
    assert cleaned(rooms) == (
        "in HyperNode r0, and 299 more domains: 0/1 nodes are available: 1 Insufficient cpu"
    )


def test_many_causes_are_cut() -> None:
    assert cleaned(f"cause {index}" for index in range(20)).endswith("; and 12 more")
    assert len(cleaned("x" * 900 + str(index) for index in range(5))) <= 2048
