"""What is not running says why, in one bounded word and one sentence with numbers."""

from dataclasses import replace

import msgspec
import pytest

from core_operator.plan.statuses.reasons import (
    Blocker,
    BlockingReason,
    gang_blocker,
    most_urgent,
    pods_blocker,
    scheduling_cause,
)
from tests.plan.pod_samples import (
    BOUND,
    GATED,
    READY,
    RELEASED,
    PodState,
    condition,
    gang,
    pod,
)
from tests.plan.samples import NAMESPACE

NO_GPU = "0/4 nodes are available: 3 Insufficient nvidia.com/gpu, 1 Insufficient nvidia.com/gpu."
STUCK = replace(RELEASED, said=NO_GPU)
PROGRAMMED = condition("Programmed")


def told(*states: PodState, wanted: int | None = None, conditions: tuple[object, ...] = ()) -> str:
    """Word and sentence, as in `Word: sentence`."""
    pods = [pod(index, state) for index, state in enumerate(states)]
    found = gang_blocker(
        gang(("w-0-a", 1, []), conditions=conditions),
        pods,
        len(pods) if wanted is None else wanted,
    )
    return "" if found is None else f"{found.reason}: {found.message}"


def test_a_gang_that_waits_for_gpus() -> None:
    states = [BOUND] * 6 + [STUCK] * 2
    assert (
        told(*states)
        == "PodsNotScheduled: gang w-0: 6/8 pods scheduled; 2 with insufficient nvidia.com/gpu"
    )


@pytest.mark.parametrize(
    ("states", "conditions", "expected"),
    [
        ([READY, READY], (), ""),
        ([READY, BOUND], (), "PodsNotReady: gang w-0: 1/2 pods ready; 1 starting"),
        (
            [READY, *[replace(BOUND, waiting="CrashLoopBackOff")] * 2],
            (),
            "PodsNotReady: gang w-0: 1/3 pods ready; 2 in CrashLoopBackOff: container main, image"
            " img:1, pod w-0-a-1",
        ),
        ([RELEASED, RELEASED], (), "PodsNotScheduled: gang w-0: 0/2 pods scheduled"),
        (
            [STUCK, RELEASED, RELEASED],
            (),
            "PodsNotScheduled: gang w-0: 0/3 pods scheduled; 2 waiting for the rest of the gang,"
            " 1 with insufficient nvidia.com/gpu",
        ),
        (
            [RELEASED, RELEASED],
            (condition("Scheduled", "False", "Unschedulable", "queue is over its quota"),),
            "PodsNotScheduled: gang w-0: 0/2 pods scheduled; 2 not scheduled: queue is over its quota",
        ),
        (
            [replace(RELEASED, said="pod group is unschedulable, waiting for minCount pods")] * 2,
            (
                condition(
                    "Scheduled",
                    "False",
                    "Unschedulable",
                    "0/2 pods scheduled: needs 8 nvidia.com/gpu (2 pods x 4), 6 exist on 3 nodes",
                ),
            ),
            "PodsNotScheduled: gang w-0: 0/2 pods scheduled: needs 8 nvidia.com/gpu (2 pods x 4), 6"
            " exist on 3 nodes",
        ),
        (
            [GATED, GATED],
            (),
            "NotProgrammed: gang w-0: 2/2 pods gated until backend example has programmed the gang",
        ),
        (
            [GATED],
            (condition("Programmed", "False", "Failed", "quota of PodGroups exhausted"),),
            "NotProgrammed: gang w-0: 1/1 pods gated until backend example has programmed the gang:"
            " quota of PodGroups exhausted",
        ),
        (
            [replace(GATED, gates=("example.org/quota",)), READY],
            (PROGRAMMED,),
            "HeldByGates: gang w-0: 1/2 pods gated by example.org/quota",
        ),
        (
            [GATED, GATED],
            (PROGRAMMED, condition("Released", "False", "BaseGangNotScheduled", "waits for b")),
            "BaseGangNotScheduled: gang w-0: 2/2 pods gated; waits for b",
        ),
        (
            [GATED],
            (condition("BackendSelected", "False", "BackendUnavailable", "no heartbeat for 9 s"),),
            "BackendUnavailable: gang w-0: no heartbeat for 9 s",
        ),
        (
            [GATED],
            (condition("Accepted", "False", "TooManyGroups", "9 groups, at most 8"),),
            "NotAccepted: gang w-0: 9 groups, at most 8",
        ),
        (
            [GATED],
            (condition("Programmed", "False", "Conflict", "PodGroup pg exists. Delete it"),),
            "Conflict: gang w-0: backend example cannot program the gang: PodGroup pg exists."
            " Delete it",
        ),
        (
            [RELEASED],
            (
                condition(
                    "Scheduled",
                    "False",
                    "QueueDoesNotExist",
                    "0/1 pods scheduled: queue 'q' does not exist (existing queues: team)",
                ),
            ),
            "QueueDoesNotExist: gang w-0: 0/1 pods scheduled: queue 'q' does not exist (existing"
            " queues: team)",
        ),
    ],
)
def test_the_first_stage_that_is_not_passed_is_the_reason(
    states: list[PodState], conditions: tuple[object, ...], expected: str
) -> None:
    assert told(*states, conditions=conditions) == expected


def test_a_pod_that_is_told_of_its_own_place_waits_for_the_others() -> None:
    own, other = pod(1, RELEASED).metadata.name, pod(0, RELEASED).metadata.name
    placed = replace(RELEASED, said=f"Pod {NAMESPACE}/{own} can possibly be assigned to n1, once")
    waits = "1 waiting for the rest of the gang, 1 with insufficient nvidia.com/gpu"
    assert told(STUCK, placed) == f"PodsNotScheduled: gang w-0: 0/2 pods scheduled; {waits}"
    # The missing resource is reported for every pod, and messages about another pod are kept.
    short = replace(RELEASED, said=f"{own}: 1 Insufficient nvidia.com/gpu")
    assert told(STUCK, short).endswith("; 2 with insufficient nvidia.com/gpu")
    about_other = replace(RELEASED, said=f"waiting for pod {other}")
    assert f"1 not scheduled: waiting for pod {other}" in told(STUCK, about_other)


def test_surplus_pods_that_are_gated_do_not_hide_what_the_members_wait_for() -> None:
    # The minimum is one: what has another index waits for it.
    assert told(STUCK, GATED, GATED) == (
        "PodsNotScheduled: gang w-0: 0/3 pods scheduled; 1 with insufficient nvidia.com/gpu"
    )
    assert told(GATED, STUCK).startswith("NotProgrammed: gang w-0: 1/2 pods gated")
    assert told(READY, GATED).startswith("NotProgrammed: gang w-0: 1/2 pods gated")


def test_pods_that_do_not_exist_are_counted() -> None:
    assert told(GATED, wanted=8) == "PodsMissing: gang w-0: 1/8 pods exist"


def test_a_backend_that_is_gone_is_no_reason_for_pods_that_have_a_node() -> None:
    dead = (condition("BackendSelected", "False", "BackendUnavailable", "no heartbeat"),)
    assert told(READY, READY, conditions=dead) == ""
    assert told(READY, BOUND, conditions=dead).startswith("PodsNotReady")
    assert told(READY, RELEASED, conditions=dead).startswith("BackendUnavailable")


def test_a_gate_that_is_gone_is_no_reason_any_more() -> None:
    held = pod(0, GATED)
    lifted = msgspec.structs.replace(held, spec=pod(0, RELEASED).spec)
    found = pods_blocker(None, [lifted], 1)
    assert found == Blocker(BlockingReason.UNSCHEDULABLE, "0/1 pods scheduled")


def test_pods_without_a_gang_are_explained_too() -> None:
    found = pods_blocker(None, [pod(0, GATED)], 1)
    assert found is not None
    assert found.message == "1/1 pods gated until a backend has programmed the gang"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            "0/5 nodes are available: 3 Insufficient cpu, 2 Insufficient memory. preemption: 0/5"
            " nodes are available: 5 No preemption victims found for incoming pod.",
            "with insufficient cpu and memory",
        ),
        (
            "0/3 nodes are available: 3 node(s) had untolerated taint {gpu: present}. preemption:"
            " 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            "with untolerated taint gpu",
        ),
        (
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
            " preemption: not eligible.",
            "not scheduled: 3 node(s) didn't match Pod's node affinity/selector",
        ),
        (
            'rejected due to member Pod "x" with reason "0/2 nodes are available: 2 Insufficient'
            ' example.com/nic."',
            "with insufficient example.com/nic",
        ),
        ("queue  research\nis over quota", "not scheduled: queue research is over quota"),
    ],
)
def test_a_schedulers_words_are_cut_down_to_what_is_short(message: str, cause: str) -> None:
    assert scheduling_cause(message) == cause


def test_sentences_stay_short_however_many_causes_there_are() -> None:
    states = [replace(RELEASED, said=f"Insufficient r{n}") for n in range(6)]
    sentence = told(*states)
    assert (
        "1 with insufficient r0, 1 with insufficient r1, 1 with insufficient r2, 3 for other reasons"
        in sentence
    )
    assert len(told(replace(RELEASED, said="x" * 5000))) < 400


def test_messages_of_backends_do_not_widen_the_set_of_reasons() -> None:
    for reason in ("Unsupported", "Whatever", "Conflict"):
        odd = (condition("Accepted", "False", reason, "m"),)
        assert told(GATED, conditions=odd).split(":")[0] in set(BlockingReason)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Programmed", "Conflict"),
        ("Programmed", "Rejected"),
        ("Scheduled", "QueueDoesNotExist"),
        ("Scheduled", "PodsOfEarlierGang"),
        ("BackendSelected", "SchedulerApiMissing"),
    ],
)
def test_what_no_controller_can_resolve_requires_manual_action(kind: str, reason: str) -> None:
    found = condition(kind, "False", reason, "m")
    waiting = gang_blocker(gang(("w-0-a", 1, []), conditions=(found,)), [pod(0, GATED)], 1)
    assert waiting is not None
    assert (waiting.reason, waiting.stalled) == (reason, True)


def test_a_write_that_is_retried_requires_no_manual_action() -> None:
    failed = condition("Programmed", "False", "WriteFailed", "a webhook does not answer")
    waiting = gang_blocker(gang(("w-0-a", 1, []), conditions=(failed,)), [pod(0, GATED)], 1)
    assert waiting is not None
    assert not waiting.stalled


def test_what_needs_a_user_is_reported_first() -> None:
    waiting = Blocker(BlockingReason.PODS_MISSING, "a")
    stuck = Blocker(BlockingReason.BACKEND_UNKNOWN, "b")
    assert most_urgent([waiting, stuck]) == stuck
    assert most_urgent([waiting]) == waiting
    assert most_urgent([]) is None
    assert (waiting.stalled, stuck.stalled) == (False, True)


def test_a_taint_without_a_name_hides_no_shortage() -> None:
    said = "no nodes with enough resources were found: 1 node(s) had untolerated taint(s)."
    assert scheduling_cause(said).startswith("not scheduled: no nodes with enough resources")
