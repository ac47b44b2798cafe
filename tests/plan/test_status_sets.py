"""Scaling groups and sets sum up what is below them, and name what most needs a look."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import pytest

from core_operator.plan.layout.expansion import Expansion, expand
from core_operator.plan.statuses.podcliqueset import (
    EXPLAINED_GANGS,
    LISTED_GANGS,
    SetState,
    podcliqueset_status,
)
from core_operator.plan.statuses.podgang import GangSummary
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.plan.statuses.scaling_group import scaling_group_status
from shared_api.models import (
    GangPhase,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodCliqueSetStatus,
)
from tests.plan.pod_samples import LATER, NOW, condition, podclique
from tests.plan.samples import NAMESPACE, clique, pod_clique_set, worked_example

RUNNING = GangPhase.RUNNING
SHORT = Blocker(
    BlockingReason.UNSCHEDULABLE, "gang w-0: 6/8 pods scheduled; 2 with insufficient nvidia.com/gpu"
)
UNKNOWN = Blocker(BlockingReason.BACKEND_UNKNOWN, "gang w-1: no backend 'x'")


@dataclass(frozen=True)
class Counts:
    ready: int = 0
    scheduled: int = 0
    breached: bool = False
    waits: str = ""


UP = Counts(ready=3, scheduled=3)


def member(name: str, copy: int, at: Counts, *, leaving: bool = False) -> PodClique:
    conditions = [condition("MinAvailableBreached", "True" if at.breached else "False")]
    if at.waits:
        conditions.append(condition("Reconciling", "True", "PodsNotScheduled", at.waits))
    return podclique(
        3,
        2,
        name=name,
        labels={"grove.io/podcliquescalinggroup-replica-index": str(copy)},
        status={
            "readyReplicas": at.ready,
            "scheduledReplicas": at.scheduled,
            "updatedReplicas": at.ready,
            "conditions": conditions,
        },
        deletionTimestamp="2026-03-01T00:00:00Z" if leaving else None,
    )


def group_of(
    replicas: int,
    minimum: int,
    status: Mapping[str, object] | None = None,
    name: str = "w-0-s",
) -> PodCliqueScalingGroup:
    value: dict[str, object] = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "generation": 7,
            "labels": {"app.kubernetes.io/part-of": "w"},
        },
        "spec": {"replicas": replicas, "minAvailable": minimum, "cliqueNames": ["b", "c"]},
    }
    return PodCliqueScalingGroup.model_validate(
        value if status is None else {**value, "status": status}
    )


def group_status(
    group: PodCliqueScalingGroup, *cliques: PodClique, now: datetime = NOW
) -> dict[str, Any]:
    return cast("dict[str, Any]", scaling_group_status(group, cliques, now))


def said(status: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


def test_a_replica_counts_when_all_its_podcliques_do() -> None:
    status = group_status(
        group_of(3, 1),
        member("w-0-s-0-b", 0, UP),
        member("w-0-s-0-c", 0, UP),
        member("w-0-s-1-b", 1, UP),
        member("w-0-s-1-c", 1, Counts(ready=1, scheduled=2, waits="1/3 pods ready")),
        member("w-0-s-2-b", 2, UP),
        member("w-0-s-2-c", 2, UP, leaving=True),
        member("w-0-s-9-b", 9, UP),
    )
    assert (
        status["replicas"],
        status["scheduledReplicas"],
        status["availableReplicas"],
        status["updatedReplicas"],
        status["observedGeneration"],
    ) == (3, 2, 1, 1, 7)
    assert status["selector"] == (
        "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=w,"
        "grove.io/podcliquescalinggroup=w-0-s"
    )
    told = said(status)
    assert told["Ready"] == ("True", "Ready", "1/3 replicas available; 5/6 PodCliques exist")
    assert told["Reconciling"][1] == "PodsMissing"


def test_a_group_reports_what_its_podcliques_wait_for() -> None:
    short = Counts(waits="0/3 pods scheduled; 3 with insufficient cpu")
    told = said(group_status(group_of(1, 1), member("b", 0, UP), member("c", 0, short)))
    assert told["Ready"] == (
        "False",
        "PodsNotScheduled",
        "0/1 replicas available; c: 0/3 pods scheduled; 3 with insufficient cpu",
    )


@pytest.mark.parametrize(
    ("breached", "status", "reason"),
    [
        ([True, False], "False", "SufficientAvailablePodCliqueScalingGroupReplicas"),
        ([True, True], "True", "InsufficientAvailablePodCliqueScalingGroupReplicas"),
    ],
)
def test_a_group_is_breached_when_too_few_replicas_are_whole(
    breached: list[bool], status: str, reason: str
) -> None:
    cliques = [
        member(f"{name}-{copy}", copy, Counts(breached=down))
        for copy, down in enumerate(breached)
        for name in "bc"
    ]
    told = said(group_status(group_of(2, 1), *cliques))
    assert told["MinAvailableBreached"][:2] == (status, reason)


def test_a_group_that_did_not_change_reports_the_same_later() -> None:
    cliques = (member("b", 0, UP), member("c", 0, Counts(waits="x")))
    first = group_status(group_of(1, 1), *cliques)
    assert group_status(group_of(1, 1, first), *cliques, now=LATER) == first


def cliques_of(expansion: Expansion, *down: str) -> dict[str, PodClique]:
    """Every PodClique of a set, those named with nothing ready."""
    return {
        instance.name: podclique(
            3,
            1,
            name=instance.name,
            labels={"grove.io/pod-template-hash": instance.template_hash},
            status={"readyReplicas": 0 if instance.name in down else 3, "updatedReplicas": 3},
        )
        for instance in expansion.cliques
    }


def updated_in(replicas: int) -> dict[str, object]:
    return {"updatedReplicas": replicas}


def groups_of(expansion: Expansion) -> dict[str, PodCliqueScalingGroup]:
    """Every scaling group of a set, with all its replicas updated."""
    return {
        group.name: group_of(group.replicas, group.minimum, updated_in(group.replicas), group.name)
        for group in expansion.groups
    }


def set_status(
    pcs: PodCliqueSet,
    *down: str,
    gangs: tuple[GangSummary, ...] = (),
    now: datetime = NOW,
    problem: Blocker | None = None,
) -> dict[str, Any]:
    expansion = expand(pcs, {})
    cliques, groups = cliques_of(expansion, *down), groups_of(expansion)
    state = SetState(expansion, cliques, gangs, "r1", problem, groups=groups)
    status = cast("dict[str, Any]", podcliqueset_status(pcs, state, now))
    PodCliqueSetStatus.model_validate(status)
    return status


def with_status(pcs: PodCliqueSet, status: dict[str, Any]) -> PodCliqueSet:
    return PodCliqueSet.model_validate({**pcs.manifest(), "status": status})


@pytest.mark.parametrize(
    ("down", "available"),
    [
        ((), 2),
        (("w-0-a",), 1),
        # Of the group, one copy of three is enough; which one does not matter.
        (("w-0-s-0-b",), 2),
        (("w-0-s-0-b", "w-0-s-1-c"), 2),
        (("w-0-s-0-b", "w-0-s-1-c", "w-0-s-2-b"), 1),
        (("w-0-a", "w-1-a"), 0),
    ],
)
def test_a_replica_is_available_when_enough_of_each_part_is(
    down: tuple[str, ...], available: int
) -> None:
    assert set_status(worked_example(replicas=2), *down)["availableReplicas"] == available


def test_a_podclique_that_does_not_exist_is_not_available() -> None:
    pcs = worked_example()
    state = SetState(expand(pcs, {}), {}, ())
    status = podcliqueset_status(pcs, state, NOW)
    assert status["availableReplicas"] == 0
    assert "currentGenerationHash" not in status


def test_a_replica_is_updated_when_all_of_it_has_the_current_templates() -> None:
    pcs = worked_example(replicas=2)
    assert set_status(pcs)["updatedReplicas"] == 2
    expansion = expand(pcs, {})
    cliques = cliques_of(expansion)
    cliques["w-1-a"] = podclique(3, 1, name="w-1-a", status={"readyReplicas": 3})
    state = SetState(expansion, cliques, (), groups=groups_of(expansion))
    status = podcliqueset_status(pcs, state, NOW)
    assert (status["availableReplicas"], status["updatedReplicas"]) == (2, 1)


def test_a_replica_is_updated_no_sooner_than_its_scaling_groups_report_it() -> None:
    pcs = worked_example(replicas=2)
    expansion = expand(pcs, {})

    def updated(reported: int, *down: str) -> int:
        groups = {**groups_of(expansion), "w-1-s": group_of(3, 1, updated_in(reported), "w-1-s")}
        state = SetState(expansion, cliques_of(expansion, *down), (), groups=groups)
        return cast("int", podcliqueset_status(pcs, state, NOW)["updatedReplicas"])

    assert [updated(reported) for reported in (0, 2, 3)] == [1, 1, 2]
    # A replica of the group that is not available is not waited for.
    assert updated(2, "w-1-s-2-b") == 2
    state = SetState(expansion, cliques_of(expansion), ())
    assert podcliqueset_status(pcs, state, NOW)["updatedReplicas"] == 0


def test_a_set_that_runs() -> None:
    pcs = pod_clique_set(clique("a"))
    assert set_status(pcs, gangs=(GangSummary("w-0", RUNNING, None),)) == {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Ready",
                "message": "1/1 replicas available",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
                "observedGeneration": 1,
            }
        ],
        "observedGeneration": 1,
        "replicas": 1,
        "availableReplicas": 1,
        "updatedReplicas": 1,
        "hpaPodSelector": "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=w",
        "podGangStatuses": [{"name": "w-0", "phase": "Running"}],
        "currentGenerationHash": "r1",
    }


def test_a_set_names_the_gang_that_most_needs_a_look() -> None:
    pcs = pod_clique_set(clique("a"), replicas=2)
    short = GangSummary("w-0", GangPhase.PENDING, SHORT)
    unknown = GangSummary("w-1", GangPhase.PENDING, UNKNOWN)
    told = said(set_status(pcs, "w-0-a", gangs=(short,)))
    assert told["Ready"] == (
        "False",
        "PodsNotScheduled",
        "1/2 replicas available; gang w-0: 6/8 pods scheduled; 2 with insufficient nvidia.com/gpu",
    )
    assert told["Reconciling"] == ("True", "PodsNotScheduled", SHORT.message)
    told = said(set_status(pcs, "w-0-a", "w-1-a", gangs=(short, unknown)))
    assert told["Ready"] == (
        "False",
        "BackendUnknown",
        "0/2 replicas available, 2 gangs not running; gang w-1: no backend 'x'",
    )
    assert set(told) == {"Ready", "Stalled"}


def test_a_set_that_is_not_there_yet_is_reconciling_without_a_special_reason() -> None:
    told = said(set_status(pod_clique_set(clique("a")), "w-0-a"))
    assert told["Ready"] == ("False", "Progressing", "0/1 replicas available")
    assert told["Reconciling"][0] == "True"


def test_a_problem_of_the_set_itself_comes_first() -> None:
    problem = Blocker(BlockingReason.SCHEDULERS_DISAGREE, "cliques name a and b")
    gangs = (GangSummary("w-0", GangPhase.PENDING, SHORT),)
    told = said(set_status(pod_clique_set(clique("a")), gangs=gangs, problem=problem))
    assert told["Ready"] == (
        "False",
        "SchedulersDisagree",
        "1/1 replicas available; cliques name a and b",
    )
    assert told["Stalled"][0] == "True"


def test_a_set_that_did_not_change_reports_the_same_later() -> None:
    pcs = pod_clique_set(clique("a"), replicas=2)
    gangs = (GangSummary("w-0", GangPhase.PENDING, SHORT), GangSummary("w-1", RUNNING, None))
    first = set_status(pcs, "w-0-a", gangs=gangs)
    assert set_status(with_status(pcs, first), "w-0-a", gangs=gangs, now=LATER) == first


def test_a_large_set_lists_what_does_not_run_first_and_stays_small() -> None:
    pcs = pod_clique_set(clique("a"), replicas=1)
    running = [GangSummary(f"up-{n}", RUNNING, None) for n in range(2 * LISTED_GANGS)]
    down = [GangSummary(f"down-{n}", GangPhase.PENDING, SHORT) for n in range(20)]
    listed = set_status(pcs, gangs=(*running, *down))["podGangStatuses"]
    assert len(listed) == LISTED_GANGS
    assert [gang["name"] for gang in listed[:20]] == [gang.name for gang in down]
    explained = [gang for gang in listed if "conditions" in gang]
    assert len(explained) == EXPLAINED_GANGS
    assert explained[0]["conditions"][0]["message"] == SHORT.message
