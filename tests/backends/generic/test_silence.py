"""A scheduler that does not act on a gang is reported, with where to look."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from backend_controllers.contract.declaration import Report
from backend_controllers.generic.silence import NOT_RESPONDING, Silence
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod, PodCondition, PodSpec, PodStatus, SchedulingGate
from shared_api.runtime.clock import Clock
from tests.backends.generic.samples import gang, pod

UNGATED = PodCondition("PodScheduled", "False", "SchedulingGated", "gated")
WHERE = "kubectl -n s get pods"


class World:
    def __init__(self) -> None:
        self.now = 100.0
        start = datetime(2026, 5, 1, 12, 0, tzinfo=UTC).timestamp() - 100
        clock = Clock(
            monotonic=lambda: self.now,
            utc=lambda: datetime.fromtimestamp(start + self.now, tz=UTC),
        )
        self.silence = Silence(clock, 30.0, WHERE)

    def judged(
        self, *pods: Pod, report: Report | None = None, about: ObservedPodGang | None = None
    ) -> tuple[str, str, float | None]:
        found, again = self.silence.judged(about or gang(("a", 1, 1)), pods, report or Report())
        return found.reason, found.message, again


def waiting(condition: PodCondition | None = UNGATED, *, gated: bool = False) -> Pod:
    labels = {names.LABEL_PODCLIQUE: "w-0-a", names.LABEL_POD_INDEX: "0"}
    made = pod("a-0", node="")
    return msgspec.structs.replace(
        made,
        metadata=msgspec.structs.replace(made.metadata, labels=labels),
        spec=PodSpec(scheduling_gates=(SchedulingGate("g"),) if gated else ()),
        status=PodStatus("Pending", "", () if condition is None else (condition,)),
    )


TOLD = (
    "the scheduler has not looked at the gang for more than 30 s, since 12:00:00Z. Check that the"
    f" scheduler runs: {WHERE}"
)


def test_a_gang_that_nobody_looks_at_is_reported_after_a_while() -> None:
    world = World()
    assert world.judged(waiting()) == ("", "", 30.0)
    world.now += 10
    assert world.judged(waiting()) == ("", "", 20.0)
    world.now += 20
    assert world.judged(waiting()) == (NOT_RESPONDING, TOLD, None)


def test_a_gang_that_is_gated_is_looked_at_again_and_not_reported() -> None:
    world = World()
    world.judged(waiting(gated=True))
    world.now += 60
    assert world.judged(waiting(gated=True)) == ("", "", 30.0)


def test_a_scheduler_that_reported_anything_responds() -> None:
    world = World()
    world.judged(waiting())
    world.now += 60
    tried = PodCondition("PodScheduled", "False", "Unschedulable", "no")
    assert world.judged(waiting(tried)) == ("", "", None)
    said = Report("Unschedulable", "full")
    assert world.judged(waiting(), report=said) == ("Unschedulable", "full", None)
    assert world.judged(waiting()) == ("", "", 30.0), "the time starts again"


def test_what_was_reported_before_a_restart_stays() -> None:
    status: dict[str, Any] = {
        "conditions": [
            {
                "type": "Scheduled",
                "status": "False",
                "reason": NOT_RESPONDING,
                "message": f"0/1 pods scheduled: {TOLD}",
                "lastTransitionTime": "2026-05-01T11:00:00Z",
            }
        ]
    }
    about = gang(("a", 1, 1), status=status)
    assert World().judged(waiting(), about=about) == (NOT_RESPONDING, TOLD, None)


def test_a_step_that_takes_too_long_keeps_its_message() -> None:
    world = World()
    world.judged(waiting(), report=Report(message="KAI's binder has not bound all pods"))
    world.now += 31
    reason, message, _ = world.judged(
        waiting(), report=Report(message="KAI's binder has not bound all pods")
    )
    assert reason == NOT_RESPONDING
    assert message.startswith(
        "KAI's binder has not bound all pods for more than 30 s, since 12:00:00Z"
    )
