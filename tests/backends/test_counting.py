"""How far the pods of a gang are, and how that is told."""

import msgspec

from backend_controllers.contract.pod_counts import count
from backend_controllers.generic.facts import gang_pods
from shared_api.kube.pods import PodStatus
from tests.backends.generic.samples import gang, going, pod


def test_numbers_are_reported_for_the_whole_and_for_each_group() -> None:
    pods = [pod(f"prefill-{i}") for i in range(4)] + [pod("decode-0"), pod("decode-1")]
    found = count(gang(("prefill", 4, 4), ("decode", 4, 4)), pods)
    assert found.scheduled_text() == "6/8 pods scheduled (prefill 4/4, decode 2/4)"
    assert found.ready_text() == "0/8 pods ready (prefill 0/4, decode 0/4)"
    assert not found.is_scheduled


def test_a_gang_of_one_group_and_a_gang_that_is_complete_are_reported_in_short() -> None:
    found = count(gang(("a", 2, 2)), [pod("a-0")])
    assert found.scheduled_text() == "1/2 pods scheduled"
    both = [pod("a-0", ready=True), pod("b-0", ready=True)]
    found = count(gang(("a", 1, 1), ("b", 1, 1)), both)
    assert found.scheduled_text() == "2/2 pods scheduled"
    assert (found.is_scheduled, found.is_ready) == (True, True)


def test_of_many_groups_the_first_are_reported() -> None:
    groups = [(f"g{number}", 1, 0) for number in range(11)]
    text = count(gang(*groups), []).scheduled_text()
    assert text.endswith("g7 0/1, and 3 more groups)")


def test_surplus_pods_prove_nothing() -> None:
    surplus = [pod("a-2", ready=True), pod("a-3", ready=True)]
    found = count(gang(("a", 2, 4)), surplus)
    assert found.scheduled_text() == "0/2 pods scheduled"


def test_any_pods_make_up_the_minimum_where_surplus_stands_in_for_members() -> None:
    pods = [pod("a-0", node=""), pod("a-1", ready=True), pod("a-2", ready=True)]
    found = count(gang(("a", 2, 3)), pods, surplus_stands_in=True)
    assert (found.is_scheduled, found.is_ready) == (True, True)
    assert not count(gang(("a", 2, 3)), pods).is_scheduled
    too_many = [pod(f"a-{index}", ready=True) for index in range(3)]
    found = count(gang(("a", 2, 3), ("b", 1, 1)), too_many, surplus_stands_in=True)
    assert found.scheduled_text() == "2/3 pods scheduled (a 2/2, b 0/1)"


def test_a_pod_without_an_index_is_not_a_member() -> None:
    by_hand = pod("a-0")
    labels = {"grove.io/podgang": "w-0"}
    by_hand = msgspec.structs.replace(
        by_hand, metadata=msgspec.structs.replace(by_hand.metadata, labels=labels)
    )
    assert not count(gang(("a", 1, 1)), [by_hand]).is_scheduled
    assert count(gang(("a", 1, 1)), [by_hand], surplus_stands_in=True).is_scheduled


def test_pods_that_ended_or_go_do_not_count() -> None:
    ended = pod("a-0", ready=True, status=PodStatus(phase="Failed"))
    assert not count(gang(("a", 1, 1)), [ended]).is_scheduled
    assert not count(gang(("a", 1, 1)), [going(pod("a-0", ready=True))]).is_scheduled


def test_a_pod_is_of_a_gang_only_if_the_gang_refers_to_it() -> None:
    known, stranger, leaving = pod("a-0"), pod("stranger-0"), going(pod("a-1"))
    found = gang_pods(gang(("a", 2, 2)), [known, stranger, leaving])
    assert found == (known,)
