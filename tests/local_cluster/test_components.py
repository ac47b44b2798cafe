"""The flags of the control plane follow the minor and the switch for gang scheduling."""

from pathlib import Path

import pytest

from local_cluster import components
from local_cluster.certificates import Authority
from local_cluster.components import Identity, Ports
from local_cluster.versions import MINORS

_PORTS = Ports(api=1, etcd_client=2, etcd_peer=3, kai_scheduler=4, kai_plugins=5)


def _identity(directory: Path) -> Identity:
    authority = Authority(directory)
    return Identity(authority.pair, authority.server("s"), authority.signing_key("k"))


def _flags(command: tuple[str, ...]) -> dict[str, str]:
    return dict(flag.removeprefix("--").split("=", 1) for flag in command[1:])


@pytest.mark.parametrize("name", list(MINORS))
def test_gang_scheduling_can_be_left_out_whole(tmp_path: Path, name: str) -> None:
    minor = MINORS[name]
    identity = _identity(tmp_path)
    api = components.api_server(tmp_path, tmp_path, _PORTS, identity, minor, gangs=False)
    scheduler = components.scheduler(tmp_path, tmp_path, minor, gangs=False)
    manager = components.controller_manager(tmp_path, tmp_path, identity, minor, gangs=False)
    for component in (api, scheduler, manager):
        assert "feature-gates" not in _flags(component.command)
    assert "podgroup-protection-controller" not in _flags(manager.command)["controllers"]
    assert "runtime-config" not in _flags(api.command)


def test_everything_listens_on_loopback_only(tmp_path: Path) -> None:
    minor = MINORS["1.36"]
    api = _flags(
        components.api_server(
            tmp_path, tmp_path, _PORTS, _identity(tmp_path), minor, gangs=True
        ).command
    )
    etcd = _flags(components.etcd(tmp_path, tmp_path, _PORTS).command)
    assert api["bind-address"] == "127.0.0.1"
    assert api["authorization-mode"] == "RBAC"
    assert etcd["listen-client-urls"] == "http://127.0.0.1:2"
    assert etcd["listen-peer-urls"] == "http://127.0.0.1:3"


@pytest.mark.parametrize(
    ("minor", "served"),
    [
        ("1.35", "scheduling.k8s.io/v1alpha1=true"),
        ("1.36", "scheduling.k8s.io/v1alpha2=true"),
        ("1.37", "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"),
    ],
)
def test_each_minor_serves_its_own_gang_api(tmp_path: Path, minor: str, served: str) -> None:
    api = components.api_server(
        tmp_path, tmp_path, _PORTS, _identity(tmp_path), MINORS[minor], gangs=True
    )
    assert _flags(api.command)["runtime-config"] == served


def test_scheduler_knows_no_gate_that_the_api_server_lacks_in_1_37() -> None:
    # 1.37 folded GangScheduling into GenericWorkload and dies of a gate that it does not know.
    assert "GangScheduling" not in MINORS["1.37"].scheduler_gates
    assert "GangScheduling" in MINORS["1.36"].scheduler_gates


def test_an_audited_cluster_logs_requests_and_reports_its_controllers_apart(tmp_path: Path) -> None:
    minor, identity = MINORS["1.36"], _identity(tmp_path)
    plain = components.api_server(tmp_path, tmp_path, _PORTS, identity, minor, gangs=True)
    assert "audit-log-path" not in _flags(plain.command)
    audited = components.audited(plain, tmp_path / "policy.json", tmp_path / "audit.log")
    assert _flags(audited.command)["audit-log-path"] == str(tmp_path / "audit.log")
    assert set(audited.command) > set(plain.command)
    manager = components.controller_manager(tmp_path, tmp_path, identity, minor, gangs=True)
    own = components.with_own_accounts(manager)
    assert set(own.command) - set(manager.command) == {"--use-service-account-credentials=true"}
