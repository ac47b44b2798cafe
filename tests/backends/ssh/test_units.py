"""What may run on a host without an engine, what is sent to it, and what is believed of it."""

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from backend_controllers.contract.remote.executor import ExecutorError
from backend_controllers.hosts.packing import HostDemand
from backend_controllers.hosts.places import Place
from backend_controllers.ssh.executor import SshExecutor
from backend_controllers.ssh.options import SshOptions
from backend_controllers.ssh.program import program
from backend_controllers.ssh.units import command_refusal, refusals, spec_of, unit_of
from tests.backends.remote.far_side import order
from tests.backends.ssh.far_sides import host_pod

OPTIONS = SshOptions(commands=("/opt/training/",))


@pytest.mark.parametrize(
    "command",
    [
        "/bin/sh",
        "training/run",
        "/opt/training/../../bin/sh",
        "/opt/training/$(ESCAPE)",
        "/opt/training/x=y",
        "",
    ],
)
def test_program_that_is_not_allowed_is_refused(command: str) -> None:
    assert "is not allowed (allowed beginnings: /opt/training/)" in command_refusal(
        command, OPTIONS.commands
    )


def test_program_with_an_allowed_beginning_may_run() -> None:
    assert command_refusal("/opt/training/run.sh", OPTIONS.commands) == ""
    assert "none; set options.commands" in command_refusal("/opt/training/run.sh", ())


def test_template_is_refused_with_the_path_of_each_field() -> None:
    container = {"image": "busybox", "command": ["sh"], "securityContext": {"runAsUser": 0}}
    found = list(refusals(OPTIONS.commands, {"containers": [container]}))
    assert [text.partition(":")[0] for text in found] == [
        "podSpec.containers[0].securityContext.runAsUser",
        "podSpec.containers[0].image",
        "podSpec.containers[0].command",
    ]


async def test_pod_itself_is_checked_before_anything_is_sent() -> None:
    with pytest.raises(ExecutorError, match="pod a: '/bin/sh' is not allowed"):
        await SshExecutor(OPTIONS, "ssh").reserve(order(host_pod("a")))


@pytest.mark.parametrize("wrong", [{"run_as": "root"}, {"commands": ("sh",)}])
def test_settings_that_would_give_rights_away_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SshOptions(**wrong)


def test_gpus_are_those_of_the_place() -> None:
    place = Place(host_pod("a"), HostDemand("a", {"nvidia.com/gpu": 2}), 0, ["h"], ("1", "3"))
    spec = spec_of(order(place.pod), place, OPTIONS)
    assert spec["env"]["CUDA_VISIBLE_DEVICES"] == "1,3"  # type: ignore[index]


def test_report_of_a_host_is_believed_only_if_it_is_whole() -> None:
    place = Place(host_pod("a"), HostDemand("a", {"cpu": 500}), 0, ["h"])
    spec = spec_of(order(place.pod), place, OPTIONS)
    report = {"name": spec["name"], "tag": spec["tag"], "state": "Running"}
    found = unit_of(report, "h1", "10.0.0.1")
    assert found is not None
    assert (found[0].pod, found[0].host, found[0].external_id) == ("a", "h1", "h1/pod-uid-a")
    assert found[1].requests == {"cpu": 500}
    for lie in ({"name": "pod-other"}, {"tag": None}, {"restarts": "many"}):
        assert unit_of({**report, **lie}, "h1", "10.0.0.1") is None


def test_program_for_hosts_needs_nothing_of_this_product() -> None:
    assert "backend_controllers" not in program().replace('"""', "")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program()], input=b"", capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
