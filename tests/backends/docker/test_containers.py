"""A pod as a container, and a container as a unit."""

import pytest

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.environment import expanded
from backend_controllers.contract.remote.executor import GangTag, RemoteUnit
from backend_controllers.docker.containers import (
    Grant,
    Origin,
    container_body,
    image_refusal,
    unit_labels,
    unit_of,
    use_of,
)
from backend_controllers.hosts.packing import HostDemand
from backend_controllers.hosts.places import Place
from shared_api.models import RemoteMemberState
from tests.backends.docker.pods import remote_pod

DEMAND = HostDemand("a", {"cpu": 500, "memory": 2**25})
ORIGIN = Origin("prod", "docker-lab")
GRANT = Grant(ORIGIN, GangTag("team", "train", "u"), 2, 99)


def place(pod: RemotePod, demand: HostDemand = DEMAND) -> Place:
    return Place(pod, demand, 1, ["10.0.0.1", "10.0.0.2"], ("3",))


def test_requests_are_limits_and_no_right_is_added() -> None:
    host = container_body(place(remote_pod("a")), {})["HostConfig"]
    assert isinstance(host, dict)
    assert (host["NanoCpus"], host["Memory"]) == (500_000_000, 2**25)
    # An engine would allow as much swap again, and any number of processes.
    assert (host["MemorySwap"], host["PidsLimit"]) == (2**25, 16384)
    assert host["Privileged"] is False
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert not {"Binds", "Mounts", "Devices", "CapAdd"} & host.keys()
    assert host["DeviceRequests"][0]["DeviceIDs"] == ["3"]


def test_pod_without_a_request_gets_no_more_memory_than_its_host_offers() -> None:
    demand = HostDemand("a", {"cpu": 500})
    host = container_body(place(remote_pod("a"), demand), {}, most_memory=2**30)["HostConfig"]
    assert isinstance(host, dict)
    assert (host["Memory"], host["MemorySwap"]) == (2**30, 2**30)


def test_restrictions_of_a_pod_are_those_of_its_container() -> None:
    pod = remote_pod("a", securityContext={"runAsUser": 7, "runAsGroup": 8})
    assert container_body(place(pod), {})["User"] == "7:8"
    assert "User" not in container_body(place(remote_pod("a")), {})
    own = {"runAsUser": 9, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    body = container_body(place(remote_pod("a", security=own)), {})
    host = body["HostConfig"]
    assert isinstance(host, dict)
    assert (body["User"], host["ReadonlyRootfs"], host["CapDrop"]) == ("9", True, ["ALL"])


def test_image_that_only_resembles_an_allowed_one_is_refused() -> None:
    assert image_refusal("registry.example/team/x:1", ["registry.example/team/"]) == ""
    assert "allowed prefixes: none" in image_refusal("x", [])
    found = image_refusal("registry.example.evil/team/x", ["registry.example/team/"])
    assert found.startswith("'registry.example.evil/team/x' is not allowed")


def test_a_container_knows_its_rank_and_its_peers() -> None:
    env = container_body(place(remote_pod("a")), {})["Env"]
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
    body = container_body(place(remote_pod("a", restartPolicy=policy)), {})
    assert body["HostConfig"]["RestartPolicy"] == {"Name": name}  # type: ignore[index]


def test_a_container_is_found_again_by_its_labels() -> None:
    labels = unit_labels(GRANT, place(remote_pod("a")))
    state = {"Status": "exited", "ExitCode": 137, "OOMKilled": True}
    shown = {"Id": "0123456789abcdef", "Config": {"Labels": labels}, "State": state}
    unit = unit_of(shown, ORIGIN, "h1", "10.0.0.1")
    assert unit is not None
    assert (unit.tag, unit.pod, unit.pod_uid, unit.attempt) == (GRANT.tag, "a", "uid-a", 2)
    assert (unit.state, unit.exit_code, unit.message) == (
        RemoteMemberState.EXITED,
        137,
        "OOMKilled",
    )
    use = use_of(shown)
    assert (use.requests, use.devices, use.expires) == (DEMAND.requests, ("3",), 99)


def test_a_foreign_container_is_no_unit() -> None:
    def of(labels: dict[str, str]) -> RemoteUnit | None:
        shown = {"Id": "x", "Config": {"Labels": labels}, "State": {}}
        return unit_of(shown, ORIGIN, "h1", "")

    ours = unit_labels(GRANT, place(remote_pod("a")))
    assert of(ours) is not None
    assert of({"a": "b"}) is None
    assert of({**ours, "io.grove.podgang.cluster": "another"}) is None


def test_labels_that_somebody_damaged_raise_nothing() -> None:
    labels = {"io.grove.podgang.requests": "{", "io.grove.podgang.expires": "soon"}
    assert use_of({"Config": {"Labels": labels}}).requests == {}
