"""A pod as a container, and a container as a unit."""

import pytest

from backend_controllers.contract.remote.environment import expanded
from backend_controllers.contract.remote.executor import GangTag
from backend_controllers.docker.containers import (
    Grant,
    Origin,
    Slot,
    container_body,
    held_by,
    image_refusal,
    unit_labels,
    unit_of,
)
from backend_controllers.docker.packing import HostDemand
from shared_api.models import RemoteMemberState
from tests.backends.docker.pods import remote_pod

DEMAND = HostDemand("a", {"cpu": 500, "memory": 2**25})
SLOT = Slot(1, ["10.0.0.1", "10.0.0.2"], ("3",))
GRANT = Grant(Origin("prod", "docker-lab"), GangTag("team", "train", "u"), 2, 99)


def test_requests_are_limits_and_no_right_is_added() -> None:
    host = container_body(remote_pod("a"), DEMAND, {}, SLOT)["HostConfig"]
    assert isinstance(host, dict)
    assert (host["NanoCpus"], host["Memory"]) == (500_000_000, 2**25)
    assert host["Privileged"] is False
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert not {"Binds", "Mounts", "Devices", "CapAdd"} & host.keys()
    assert host["DeviceRequests"][0]["DeviceIDs"] == ["3"]


def test_restrictions_of_a_pod_are_those_of_its_container() -> None:
    pod = remote_pod("a", securityContext={"runAsUser": 7, "runAsGroup": 8})
    assert container_body(pod, DEMAND, {}, SLOT)["User"] == "7:8"
    assert "User" not in container_body(remote_pod("a"), DEMAND, {}, SLOT)
    own = {"runAsUser": 9, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    body = container_body(remote_pod("a", security=own), DEMAND, {}, SLOT)
    host = body["HostConfig"]
    assert isinstance(host, dict)
    assert (body["User"], host["ReadonlyRootfs"], host["CapDrop"]) == ("9", True, ["ALL"])


def test_image_that_only_resembles_an_allowed_one_is_refused() -> None:
    assert image_refusal("registry.example/team/x:1", ["registry.example/team/"]) == ""
    assert "allowed prefixes: none" in image_refusal("x", [])
    found = image_refusal("registry.example.evil/team/x", ["registry.example/team/"])
    assert found.startswith("'registry.example.evil/team/x' is not allowed")


def test_a_container_knows_its_rank_and_its_peers() -> None:
    env = container_body(remote_pod("a"), DEMAND, {}, SLOT)["Env"]
    assert env == [
        "GROVE_PODGANG_RANK=1",
        "GROVE_PODGANG_SIZE=2",
        "GROVE_PODGANG_ADDRESSES=10.0.0.1,10.0.0.2",
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [("$(A)-x", "1-x"), ("$(B)", "$(B)"), ("$$(A)", "$(A)"), ("$A", "$A")],
)
def test_references_are_replaced_as_a_kubelet_does(text: str, meant: str) -> None:
    assert expanded(text, {"A": "1"}) == meant


@pytest.mark.parametrize(("policy", "name"), [("Always", "unless-stopped"), ("Never", "no")])
def test_the_engine_restarts_what_the_pod_restarts(policy: str, name: str) -> None:
    body = container_body(remote_pod("a", restartPolicy=policy), DEMAND, {}, SLOT)
    assert body["HostConfig"]["RestartPolicy"] == {"Name": name}  # type: ignore[index]


def test_a_container_is_found_again_by_its_labels() -> None:
    labels = unit_labels(GRANT, remote_pod("a"), DEMAND, SLOT)
    state = {"Status": "exited", "ExitCode": 137, "OOMKilled": True}
    shown = {"Id": "0123456789abcdef", "Config": {"Labels": labels}, "State": state}
    unit = unit_of(shown, "h1", "10.0.0.1")
    assert unit is not None
    assert (unit.tag, unit.pod, unit.pod_uid, unit.attempt) == (GRANT.tag, "a", "uid-a", 2)
    assert (unit.state, unit.exit_code, unit.message) == (
        RemoteMemberState.EXITED,
        137,
        "OOMKilled",
    )
    held = held_by(shown)
    assert (held.requests, held.devices, held.expires) == (DEMAND.requests, ("3",), 99)


def test_a_foreign_container_is_no_unit() -> None:
    assert unit_of({"Id": "x", "Config": {"Labels": {"a": "b"}}, "State": {}}, "h1", "") is None


def test_labels_that_somebody_damaged_raise_nothing() -> None:
    labels = {"io.grove.podgang.requests": "{", "io.grove.podgang.expires": "soon"}
    assert held_by({"Config": {"Labels": labels}}).requests == {}
