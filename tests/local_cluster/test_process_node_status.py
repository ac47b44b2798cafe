"""What a pod's status says about its containers."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from local_cluster.process_node.adoption import adopt, adopted_start
from local_cluster.process_node.status import (
    ContainerView,
    PodView,
    Running,
    State,
    TerminatedState,
    Waiting,
    container_status,
    phase,
    pod_status,
)
from tests.local_cluster.process_node_samples import NOON, pod

RUNNING = Running(NOON)
DONE = TerminatedState(0, "Completed", NOON, NOON)
FAILED = TerminatedState(3, "Error", NOON, NOON)
CRASHING = Waiting("CrashLoopBackOff")
CREATING = Waiting("ContainerCreating")


def view(*states: State, **more: Any) -> PodView:
    containers = tuple(ContainerView(f"c{index}", state=s) for index, s in enumerate(states))
    known = {"mounted": True, "initialized": True, **more}
    return PodView("127.9.9.9", "127.0.0.1", NOON, containers=containers, **known)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (view(CREATING), "Pending"),
        (view(RUNNING, initialized=False), "Pending"),
        (view(RUNNING), "Running"),
        (view(RUNNING, CREATING), "Running"),
        (view(CRASHING), "Pending"),
        (view(DONE, RUNNING), "Running"),
        (view(DONE, DONE, over=True), "Succeeded"),
        (view(DONE, FAILED, over=True), "Failed"),
        (view(CREATING, over=True, initialized=False), "Failed"),
    ],
)
def test_phase(shown: PodView, expected: str) -> None:
    assert phase(shown) == expected


def test_a_pod_in_back_off_has_run() -> None:
    crashed = ContainerView("c", state=CRASHING, last=FAILED)
    assert phase(replace(view(), containers=(crashed,))) == "Running"


def conditions(shown: PodView, observed: Any = None, sent: Any = None) -> dict[str, Any]:
    status = pod_status(observed or pod(), shown, sent or {}, NOON + timedelta(hours=1))
    return {condition["type"]: condition for condition in status["conditions"]}


def ready(shown: PodView) -> PodView:
    return replace(shown, containers=tuple(replace(c, ready=True) for c in shown.containers))


def test_a_pod_is_ready_when_all_its_containers_are() -> None:
    half = replace(view(), containers=(ContainerView("a", ready=True), ContainerView("b")))
    found = conditions(half)["Ready"]
    assert (found["status"], found["reason"]) == ("False", "ContainersNotReady")
    assert found["message"] == "containers with unready status: [b]"
    assert conditions(ready(half))["Ready"]["status"] == "True"


def test_a_deleted_pod_is_not_ready_though_its_containers_are() -> None:
    found = conditions(replace(ready(view(RUNNING)), terminating=True))
    assert found["ContainersReady"]["status"] == "True"
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", "PodTerminating")


def test_readiness_gates_of_others_are_obeyed() -> None:
    gated = pod(readinessGates=[{"conditionType": "example.com/fed"}])
    assert conditions(ready(view(RUNNING)), gated)["Ready"]["status"] == "False"
    gated["status"] = {"conditions": [{"type": "example.com/fed", "status": "True"}]}
    assert conditions(ready(view(RUNNING)), gated)["Ready"]["status"] == "True"


def test_foreign_conditions_are_not_reported() -> None:
    observed = pod()
    observed["status"] = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    assert "PodScheduled" not in conditions(view(RUNNING), observed)


def test_the_time_of_a_change_is_kept_until_the_next_change() -> None:
    shown = ready(view(RUNNING))
    known = [{"type": "Ready", "status": "True", "lastTransitionTime": "2029-01-01T00:00:00Z"}]
    observed = pod()
    observed["status"] = {"conditions": known}
    assert conditions(shown, observed)["Ready"]["lastTransitionTime"] == "2029-01-01T00:00:00Z"
    later = conditions(view(RUNNING), observed)["Ready"]
    assert later["lastTransitionTime"] == "2030-01-01T13:00:00Z"


def test_what_was_sent_counts_more_than_what_is_still_on_its_way() -> None:
    observed = pod()
    observed["status"] = {"conditions": [{"type": "Ready", "status": "False"}]}
    sent = {
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T12:30:00Z"}
        ]
    }
    found = conditions(ready(view(RUNNING)), observed, sent)["Ready"]
    assert found["lastTransitionTime"] == "2030-01-01T12:30:00Z"


def test_equal_situations_give_equal_reports() -> None:
    shown = ready(view(RUNNING))
    first = pod_status(pod(), shown, {}, NOON)
    assert pod_status(pod(), shown, first, NOON + timedelta(hours=5)) == first


def test_a_container_status_is_whole() -> None:
    crashed = ContainerView("c", "img", Waiting("CrashLoopBackOff", "wait"), FAILED, 4)
    status = container_status(crashed)
    assert status["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "wait"}}
    assert status["lastState"]["terminated"]["exitCode"] == 3
    assert (status["restartCount"], status["ready"], status["image"]) == (4, False, "img")


def test_a_container_that_ran_before_a_restart_of_the_node_is_lost() -> None:
    before = ContainerView("c", "img", RUNNING, None, 2, ready=True, container_id="process://7")
    later = NOON + timedelta(minutes=1)
    adopted = adopt({"name": "c", "image": "img"}, [container_status(before)], later)
    assert isinstance(adopted.state, TerminatedState)
    assert (adopted.state.exit_code, adopted.state.reason) == (137, "ContainerStatusUnknown")
    assert (adopted.state.since, adopted.state.until) == (NOON, later)
    assert (adopted.restarts, adopted.ready) == (2, False)


def test_a_container_that_had_ended_keeps_its_end() -> None:
    before = ContainerView("c", "img", DONE, FAILED, 1)
    adopted = adopt({"name": "c", "image": "img"}, [container_status(before)], NOON)
    assert (adopted.state, adopted.last, adopted.restarts) == (DONE, FAILED, 1)


def test_a_container_without_a_status_is_new() -> None:
    assert adopt({"name": "c"}, [], NOON) == ContainerView("c")


def test_the_start_of_a_pod_survives_a_restart_of_the_node() -> None:
    assert adopted_start({"startTime": "2030-01-01T12:00:00Z"}, NOON + timedelta(1)) == NOON
    assert adopted_start({}, NOON) == NOON
