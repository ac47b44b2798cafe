"""What is terminated together: a copy, or the whole replica."""

from collections.abc import Sequence
from dataclasses import replace as replace_breach
from datetime import datetime, timedelta

from msgspec.structs import replace

from core_operator.plan.pods.replicas import (
    CliqueFacts,
    GroupFacts,
    GroupReplicaFacts,
    ReplicaFacts,
)
from core_operator.plan.termination import (
    Breach,
    PendingTermination,
    due_terminations,
    plan_terminations,
    pods_to_terminate,
)
from shared_api.kube.pods import Pod
from tests.plan.pod_samples import NOW, READY, pod

START = NOW.replace(microsecond=0)
DELAY = timedelta(seconds=60)


def facts(name: str, *, said: str | None = "h", pods: Sequence[Pod] = ()) -> CliqueFacts:
    return CliqueFacts(name, "h", said, 1, 1, tuple(pods))


def replica(copies: int = 3, minimum: int = 2, *, said: str | None = "h") -> ReplicaFacts:
    group = GroupFacts(
        "g",
        minimum,
        tuple(GroupReplicaFacts(i, (facts(f"g-{i}-b"), facts(f"g-{i}-c"))) for i in range(copies)),
    )
    return ReplicaFacts(0, (facts("a", said=said),), (group,))


def breaches(**since: int) -> dict[str, Breach]:
    found = {name.replace("_", "-"): second for name, second in since.items()}
    return {name: Breach(name, _at(second), "0 of 1") for name, second in found.items()}


def _at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def planned(**since: int) -> list[tuple[str, datetime, int]]:
    dooms = plan_terminations([replica()], breaches(**since), DELAY)
    return [(doom.subject, doom.deadline, len(doom.cliques)) for doom in dooms]


def test_one_replica_too_many_is_recreated_alone() -> None:
    assert planned(g_1_b=5, g_1_c=3) == [("replica 1 of g", _at(63), 2)]


def test_a_clique_that_stands_alone_takes_the_replica() -> None:
    assert planned(a=4) == [("replica 0", _at(64), 7)]


def test_the_clock_of_a_group_starts_when_it_has_too_few_replicas() -> None:
    assert planned(g_0_b=1, g_2_b=30) == [("replica 0", _at(90), 7)]


def test_a_replica_that_is_down_without_a_countdown_counts_too() -> None:
    found = breaches(g_0_b=1, g_2_b=30)
    found["g-0-b"] = replace_breach(found["g-0-b"], is_counting=False)
    (doom,) = plan_terminations([replica()], found, DELAY)
    assert (doom.subject, doom.deadline, doom.groups) == ("replica 0", _at(90), ("g",))


def test_replicas_that_are_only_down_terminate_nothing() -> None:
    found = {
        name: replace_breach(one, is_counting=False) for name, one in breaches(g_0_b=1, a=2).items()
    }
    assert plan_terminations([replica(minimum=3)], found, DELAY) == ()


def test_no_deadline_is_from_before_the_first_countdown() -> None:
    found = breaches(g_0_b=1, g_1_b=30)
    found["g-0-b"] = replace_breach(found["g-0-b"], is_counting=False)
    (doom,) = plan_terminations([replica(minimum=3)], found, DELAY)
    assert doom.deadline == _at(90)


def test_a_replica_without_one_of_its_cliques_is_left_alone() -> None:
    assert plan_terminations([replica(said=None)], breaches(a=1), DELAY) == ()


def test_what_serves_is_not_terminated_though_its_countdown_is_over() -> None:
    serving = ReplicaFacts(0, (facts("a", pods=[pod(0, READY)]),), ())
    broken = ReplicaFacts(0, (facts("a"),), ())
    late = _at(1000)
    assert due_terminations([serving], breaches(a=1), DELAY, late) == ()
    assert [doom.subject for doom in due_terminations([broken], breaches(a=1), DELAY, late)] == [
        "replica 0"
    ]
    assert due_terminations([broken], breaches(a=1), DELAY, _at(60)) == ()


def test_pods_that_are_younger_than_the_deadline_stay() -> None:
    doom = PendingTermination("replica 0", ("a",), _at(0), "why")
    old, young = pod(0, READY), pod(1, READY)
    made = [
        replace(one, metadata=replace(one.metadata, creation_timestamp=born))
        for one, born in ((old, "2026-03-01T11:59:59Z"), (young, "2026-03-01T12:00:00Z"))
    ]
    assert pods_to_terminate(doom, made) == (made[0],)
