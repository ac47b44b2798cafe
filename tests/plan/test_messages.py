"""A message names what is wrong, why with numbers, and what to do; the last is never cut off."""

from dataclasses import replace

from core_operator.plan.statuses.conditions import Observation
from core_operator.plan.statuses.reasons import gang_blocker
from shared_api.truncation import without_middle
from tests.plan.pod_samples import GATED, NOW, RELEASED, condition, gang, pod

REMEDY = "Set the label kai.scheduler/queue on the PodCliqueSet (existing queues: team, test)."


def test_a_long_text_loses_its_middle() -> None:
    text = f"Rejected: {'because ' * 400}{REMEDY}"
    short = without_middle(text, 1024)
    assert len(short) <= 1024
    assert short.startswith("Rejected: because")
    assert short.endswith(REMEDY)
    assert without_middle(REMEDY, 1024) == REMEDY


def test_the_remedy_of_a_refusal_reaches_the_condition_of_the_set() -> None:
    for why in ("no queue set. ", "one of many causes, " * 100):
        refused = condition("Accepted", "False", "Unsupported", f"{why}{REMEDY}")
        found = gang_blocker(gang(("w-0-a", 1, []), conditions=(refused,)), [pod(0, GATED)], 1)
        assert found is not None
        written = Observation(NOW, ()).condition(
            "Ready", holds=False, reason=found.reason, message=f"0/1 replicas; {found.message}"
        )
        assert written.message.startswith("0/1 replicas; gang w-0: ")
        assert written.message.endswith(REMEDY)
        assert len(written.message) <= 1024


def test_the_pods_to_delete_are_all_listed() -> None:
    pods = ", ".join(f"training-0-worker-{index}" for index in range(24))
    scheduled = condition(
        "Scheduled", "False", "PodsOfEarlierGang", f"0/2 pods scheduled: Delete them: {pods}"
    )
    about = gang(("w-0-a", 2, []), conditions=(scheduled,))
    found = gang_blocker(about, [pod(0, RELEASED), pod(1, RELEASED)], 2)
    assert found is not None
    assert found.message.endswith(f"Delete them: {pods}")


def test_messages_of_pods_leave_space_for_each_other() -> None:
    states = [replace(RELEASED, said=f"{n} {'x' * 5000}") for n in range(4)]
    found = gang_blocker(gang(("w-0-a", 4, [])), [pod(n, s) for n, s in enumerate(states)], 4)
    assert found is not None
    assert len(found.message) <= 1024
