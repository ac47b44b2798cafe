"""What is done next for a gang on the far side, from what is known."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.remote.api import ObservedRemoteGang, RemotePod
from backend_controllers.contract.remote.executor import GangTag, RemoteUnit
from backend_controllers.contract.remote.pod_status import lost_status
from backend_controllers.contract.remote.steps import (
    RemoteState,
    Steps,
    lost_pods,
    plan_steps,
    recorded_units,
    units_of_gang,
)
from shared_api.models import RemoteMemberState, RemotePhase

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NODE = "docker"
TAG = GangTag("team", "train", "uid-train")
GRANTED, STARTED = RemotePhase.GRANTED, RemotePhase.STARTED


def remote(*pods: str, minimum: int = 2, going: bool = False, **status: Any) -> ObservedRemoteGang:
    """A RemoteGang of one group."""
    metadata = {"name": "train", "namespace": "team", "uid": "uid-train"}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    group = {"name": "w", "pods": pods, "minReplicas": minimum}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"groups": [group]}, "status": status}, ObservedRemoteGang
    )


def pod(name: str, *, gated: bool = False, node: str = "", going: bool = False) -> RemotePod:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    gates = [{"name": "grove.io/podgang"}] if gated else []
    return msgspec.convert(
        {"metadata": metadata, "spec": {"schedulingGates": gates, "nodeName": node}}, RemotePod
    )


def unit(name: str, state: str = "Reserved", host: str = "h1") -> RemoteUnit:
    return RemoteUnit(TAG, name, f"uid-{name}", host, f"c-{name}", RemoteMemberState(state))


def plan(gang: ObservedRemoteGang | None, pods: list[RemotePod], units: list[RemoteUnit]) -> Steps:
    by_name = {found.metadata.name: found for found in pods}
    return plan_steps(RemoteState(gang, by_name, tuple(units), NODE, NOW))


def recorded(*names: str, host: str = "h1") -> list[dict[str, str]]:
    return [{"pod": name, "host": host, "state": "Reserved"} for name in names]


def names(found: tuple[Any, ...]) -> list[str]:
    return [one.pod if isinstance(one, RemoteUnit) else one.metadata.name for one in found]


def test_all_members_are_reserved_together_after_the_attempt_is_announced() -> None:
    steps = plan(remote("a", "b", "c"), [pod(name, gated=True) for name in "abc"], [])
    assert steps.announce
    assert names(steps.reserve) == ["a", "b"]


def test_what_an_interrupted_attempt_left_is_released_first() -> None:
    steps = plan(remote("a", "b"), [pod("a", gated=True), pod("b", gated=True)], [unit("a")])
    assert names(steps.release) == ["a"]
    assert not steps.reserve


def test_nothing_is_reserved_before_the_time_of_the_next_attempt() -> None:
    later = (NOW + timedelta(seconds=5)).isoformat()
    steps = plan(remote("a", "b", retryAt=later), [pod("a"), pod("b")], [])
    assert not steps.reserve
    assert not steps.announce


def test_a_gang_that_lacks_a_member_waits_for_it() -> None:
    assert plan(remote("a", "b"), [pod("a")], []) == Steps()


def test_members_are_bound_all_at_once_when_all_are_ungated() -> None:
    gang, units = remote("a", "b", phase="Granted"), [unit("a"), unit("b")]
    assert not plan(gang, [pod("a"), pod("b", gated=True)], units).bind
    assert names(plan(gang, [pod("a"), pod("b")], units).bind) == ["a", "b"]


def test_nothing_starts_before_its_host_is_recorded() -> None:
    pods, units = [pod("a", node=NODE), pod("b", node=NODE)], [unit("a"), unit("b")]
    assert not plan(remote("a", "b", phase="Granted"), pods, units).start
    gang = remote("a", "b", phase="Granted", members=recorded("a", "b"))
    assert names(plan(gang, pods, units).start) == ["a", "b"]


def test_members_start_together() -> None:
    gang = remote("a", "b", phase="Granted", members=recorded("a", "b"))
    steps = plan(gang, [pod("a", node=NODE), pod("b")], [unit("a"), unit("b")])
    assert not steps.start


def test_a_start_that_was_interrupted_goes_on() -> None:
    gang = remote("a", "b", phase="Granted", members=recorded("a", "b"))
    pods = [pod("a", node=NODE), pod("b", node=NODE)]
    steps = plan(gang, pods, [unit("a", "Running"), unit("b")])
    assert names(steps.start) == ["b"]
    assert steps.phase is STARTED


def test_surplus_that_does_not_fit_keeps_no_member_waiting() -> None:
    gang = remote("a", "b", "c", phase="Started", members=recorded("a", "b"))
    steps = plan(gang, [pod("a"), pod("b"), pod("c")], [unit("a", "Running")])
    assert names(steps.reserve) == ["b"]


def test_a_replaced_pod_gets_its_own_unit_and_the_old_one_is_released() -> None:
    old = RemoteUnit(TAG, "a", "uid-before", "h1", "c-old", RemoteMemberState.RUNNING)
    gang = remote("a", "b", phase="Started", members=recorded("a", "b"))
    steps = plan(gang, [pod("a"), pod("b", node=NODE)], [old, unit("b", "Running")])
    assert steps.release == (old,)
    assert names(steps.reserve) == ["a"]
    assert steps.phase is STARTED


def test_a_terminating_pod_is_deleted_after_its_unit_is_gone() -> None:
    gang = remote("b", minimum=1, phase="Started", members=recorded("b"))
    going = pod("a", node=NODE, going=True)
    steps = plan(gang, [going, pod("b", node=NODE)], [unit("a", "Running"), unit("b", "Running")])
    assert names(steps.release) == ["a"]
    assert not steps.delete
    steps = plan(gang, [going, pod("b", node=NODE)], [unit("b", "Running")])
    assert names(steps.delete) == ["a"]


@pytest.mark.parametrize("units", [[], [unit("a", "Running")]])
def test_the_finalizer_goes_only_when_nothing_is_left(units: list[RemoteUnit]) -> None:
    steps = plan(remote("a", minimum=1, going=True), [pod("a")], units)
    assert steps.finalize == (not units)
    assert steps.release == tuple(units)


def test_a_recorded_unit_on_an_unreachable_host_counts_as_existing() -> None:
    gang = remote("a", "b", phase="Started", members=recorded("a", host="h2"))
    pods = {"a": pod("a", node=NODE)}
    (found,) = recorded_units(gang, pods, frozenset({"h1"}))
    assert found.state is RemoteMemberState.UNKNOWN
    steps = plan(gang, [pod("a", node=NODE), pod("b")], [found])
    assert names(steps.reserve) == ["b"]
    assert recorded_units(gang, pods, frozenset({"h1", "h2"})) == ()


def test_pod_of_which_nothing_is_left_is_not_ready_and_says_why() -> None:
    running = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "main", "restartCount": 2}],
    }
    found = {
        name: msgspec.convert(
            {
                "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
                "spec": {"nodeName": NODE if name != "elsewhere" else "n1", "containers": [{}]},
                "status": {**running, "phase": "Succeeded"} if name == "ended" else running,
            },
            RemotePod,
        )
        for name in ("lost", "here", "ended", "elsewhere")
    }
    state = RemoteState(remote("lost", "here"), found, (unit("here", "Running"),), NODE, NOW)
    (lost,) = lost_pods(state)
    assert lost.metadata.name == "lost"
    status: Any = lost_status(lost, "job 7 ended as PREEMPTED after 9 s", "2026-01-01T00:00:00Z")
    assert status["phase"] == "Pending"
    assert status["conditions"][0]["status"] == "False"
    assert status["conditions"][0]["message"].endswith("job 7 ended as PREEMPTED after 9 s")
    (container,) = status["containerStatuses"]
    assert (container["ready"], container["restartCount"]) == (False, 2)
    shown = msgspec.convert(
        {"metadata": {"name": "lost"}, "spec": {"containers": [{}]}, "status": status}, RemotePod
    )
    assert lost_status(shown, "job 7", "") is None


@pytest.mark.parametrize(("policy", "again"), [("Never", False), ("OnFailure", True)])
def test_a_pod_that_ran_and_has_no_unit_runs_again_only_if_its_policy_allows_it(
    policy: str, again: bool
) -> None:
    ran = {"status": {"phase": "Running"}, "spec": {"restartPolicy": policy, "nodeName": NODE}}
    found = msgspec.convert({**msgspec.to_builtins(pod("a")), **ran}, RemotePod)
    gang = remote("a", minimum=1, phase="Started", members=recorded("a"))
    steps = plan(gang, [found], [])
    assert bool(steps.reserve) is again
    assert bool(steps.vanished) is not again


def test_no_host_takes_a_pod_over_from_the_recorded_one() -> None:
    gang = remote("a", minimum=1, phase="Started", members=recorded("a", host="h1"))
    pods = {"a": pod("a", node=NODE)}
    true, lie = unit("a", "Running"), replace(unit("a", "Exited", "h2"), external_id="c-lie")
    for units in ((true, lie), (lie, true)):
        found = units_of_gang(gang, pods, units, frozenset({"h1", "h2"}))
        assert [one.host for one in found if one.pod_uid] == ["h1"]
        # It gets no pod, so it is released.
        steps = plan(gang, [*pods.values()], [*found])
        assert [one.host for one in steps.release] == ["h2"]
    # Also while the recorded host cannot be reached.
    found = units_of_gang(gang, pods, (lie,), frozenset({"h2"}))
    assert [(one.host, one.state.value) for one in found if one.pod_uid] == [("h1", "Unknown")]


def test_a_unit_that_its_far_side_moved_counts_where_it_is() -> None:
    gang = remote(
        "a",
        minimum=1,
        phase="Started",
        members=[{"pod": "a", "host": "n1", "state": "Running", "externalId": "7.0"}],
    )
    moved = RemoteUnit(TAG, "a", "uid-a", "n2", "7.0", RemoteMemberState.RUNNING)
    found = units_of_gang(gang, {"a": pod("a", node=NODE)}, (moved,), frozenset({"n2"}))
    assert found == (moved,)
