"""What is started, and what cannot be started together."""

import dataclasses
from pathlib import Path

import pytest

from all_in_one import children
from all_in_one.__main__ import main
from shared_api.runtime.configuration import SettingsError


def settings(directory: Path, name: str, text: str = "") -> Path:
    file = directory / name
    file.write_text(text)
    return file


def test_programs_listen_where_their_settings_name(tmp_path: Path) -> None:
    core = children.core(settings(tmp_path, "core.yaml"), "10.0.0.1")
    kai = children.backend(
        "kai", settings(tmp_path, "kai.yaml", "server: {port: 9000}"), "10.0.0.1"
    )
    assert (core.name, core.port) == ("core", 8080)
    assert (kai.name, kai.port) == ("backend-kai", 9000)
    assert kai.argv[1:] == (
        *("-m", "backend_controllers", "--backend", "kai", "--name", "kai"),
        *("--config", str(tmp_path / "kai.yaml"), "--host", "10.0.0.1"),
    )
    other = children.backend("kai-lab:kai", settings(tmp_path, "lab.yaml"), "10.0.0.1")
    assert (other.name, other.argv[3:7]) == (
        "backend-kai-lab",
        ("--backend", "kai", "--name", "kai-lab"),
    )
    children.check([core, kai], 8090)


def test_two_programs_on_one_port_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    core, kai = settings(tmp_path, "core.yaml"), settings(tmp_path, "kai.yaml")
    assert main([f"--core={core}", f"--backend=kai={kai}"]) == 2
    assert capsys.readouterr().err == (
        "all_in_one: backend-kai and core both listen on port 8080: give each its own in"
        " server.port of its settings\n"
    )


def test_secured_metrics_need_a_port_of_their_own(tmp_path: Path) -> None:
    secured = "server: {port: 8081, metricsCertificates: /etc/metrics}"
    core = children.core(settings(tmp_path, "core.yaml", secured), "127.0.0.1")
    kai = children.backend("kai", settings(tmp_path, "kai.yaml", secured), "127.0.0.1")
    assert (core.port, core.metrics_port) == (8081, 8443)
    elsewhere = dataclasses.replace(kai, port=8082)
    with pytest.raises(SettingsError, match=r"port 8443: give each its own in server.metricsPort"):
        children.check([core, elsewhere], 8090)
    children.check([core, dataclasses.replace(elsewhere, metrics_port=8444)], 8090)


def test_the_supervisors_own_port_is_taken_too(tmp_path: Path) -> None:
    core = children.core(settings(tmp_path, "core.yaml"), "127.0.0.1")
    with pytest.raises(SettingsError, match="core and the supervisor both listen on port 8080"):
        children.check([core], 8080)
    with pytest.raises(SettingsError, match="core is given twice"):
        children.check([core, core], 8090)


@pytest.mark.parametrize("text", ["server: {port: 0}", "server: {port: x}", "server: 3"])
def test_a_port_must_be_known(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"server.port: must be a port from 1 to 65535"):
        children.core(settings(tmp_path, "core.yaml", text), "127.0.0.1")


def test_settings_that_cannot_be_read_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--core={tmp_path / 'none.yaml'}"]) == 2
    assert capsys.readouterr().err == (
        f"all_in_one: {tmp_path / 'none.yaml'}: No such file or directory\n"
    )
