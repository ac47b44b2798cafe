"""Volcano's texts, as they were seen, made fit to be read."""

import pytest

from backend_controllers.volcano.messages import cause_of, cleaned, is_assignable


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
            "",
        ),
        ("something  nobody\nhas seen yet.", "something nobody has seen yet"),
    ],
)
def test_the_cause_is_taken_out(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_the_same_cause_is_reported_once_and_in_order() -> None:
    texts = ["b.", "a", "b", ""]
    assert cleaned(texts) == cleaned(reversed(texts)) == "a; b"


ONE = "0/11 nodes are unavailable: 2 Insufficient cpu, 9 node(s) didn't match Pod's node selector."
TWO = (
    "0/11 nodes are unavailable: 1 node(s) had untolerated taint {a: }, 2 Insufficient cpu,"
    " 8 node(s) didn't match Pod's node selector."
)
STEADY = (
    "0/11 nodes are available: 2 Insufficient cpu, 9 node(s) excluded for several reasons, see"
    " the pods"
)


def test_reasons_that_change_by_chance_are_reported_once_and_then_kept() -> None:
    first = cleaned([ONE])
    assert "9 node(s) didn't match Pod's node selector" in first
    assert cleaned([TWO], first) == STEADY
    # Volcano names the one reason again, and nothing is written for it.
    assert cleaned([ONE], f"0/3 pods scheduled: fits 2 of 3: {STEADY}") == STEADY
    other_number = ONE.replace("0/11", "0/12").replace("9 node(s)", "10 node(s)")
    assert "10 node(s) didn't match" in cleaned([other_number], STEADY)


def test_a_single_node_with_two_reasons_settles() -> None:
    one, other = (
        f"0/3 nodes are unavailable: 1 node(s) {why}, 2 Insufficient cpu."
        for why in ("had untolerated taint {a: }", "were not ready")
    )
    said, written = "", []
    for text in (one, other, one, other, one):
        if (new := cleaned([text], said)) != said:
            said = new
            written.append(new)
    assert len(written) == 2
    assert written[0].endswith("2 Insufficient cpu, 1 node(s) had untolerated taint {a: }")
    assert "1 node(s) excluded for several reasons" in written[1]


def test_what_is_short_is_always_named() -> None:
    text = "0/3 nodes are unavailable: 1 Insufficient cpu, 2 Insufficient example.com/gpu."
    assert cleaned([text]) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient example.com/gpu"
    )


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("Pod t/p can possibly be assigned to n1, once minAvailable is satisfied", True),
        ("0/2 nodes are unavailable: 2 Insufficient cpu.", False),
    ],
)
def test_a_pod_with_a_place_is_recognised(text: str, has: bool) -> None:
    assert is_assignable(text) is has


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
