"""Settings of backends: every mistake is named by its path, also among a backend's own options."""

import subprocess
import sys
from pathlib import Path

import pytest

from backend_controllers import registry
from backend_controllers.__main__ import main
from backend_controllers.contract.declaration import Options
from backend_controllers.settings import BackendSettings, SettingsError, defaults, load, parse

ROOT = Path(__file__).parents[3]


class BirdOptions(Options):
    """Options of a backend."""

    height: int = 100
    """How high they fly."""

    colours: tuple[str, ...] = ()
    """Which are let in."""


def test_an_empty_file_means_the_defaults() -> None:
    assert parse("", Options) == parse("{}", Options) == BackendSettings()
    assert defaults(BirdOptions).options == BirdOptions()


def test_options_are_those_of_the_backend() -> None:
    settings = parse("options: {height: 7, colours: [red, blue]}", BirdOptions)
    assert settings.options == BirdOptions(height=7, colours=("red", "blue"))
    assert parse("options:", BirdOptions).options == BirdOptions()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("server: {prot: 80}", "server.prot: there is no such setting"),
        ("sever: {}", "sever: there is no such setting"),
        ("server: {port: '80'}", "server.port: Input should be a valid integer, not '80'"),
        ("leaderElection: {name: Not A Name}", "leaderElection.name: String should match"),
        ("concurrency: {podGangs: 0}", "concurrency.podGangs: Input should be greater than"),
        ("timing: {sweepSeconds: 0}", "timing.sweepSeconds: Input should be greater than 0"),
        ("options: {hieght: 7}", "options.hieght: there is no such setting"),
        ("options: {height: high}", "options.height: Input should be a valid integer"),
        ("options: [1]", "options: Input should be an object, not [1]"),
        ("- a list", "the file must hold a map of settings"),
        ("{", "not YAML: "),
    ],
)
def test_a_mistake_is_reported_with_its_path_in_one_line(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(text, BirdOptions)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(SettingsError, match=r"server\.port.*; options\.height"):
        parse("server: {port: -1}\noptions: {height: x}", BirdOptions)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: No such file"):
        load(tmp_path / "nowhere.yaml", Options)


def test_the_process_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("server: {port: many}")
    ended = subprocess.run(
        [sys.executable, "-m", "backend_controllers", "--backend", "kai", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"backend_controllers: {file}: server.port: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("name", sorted(registry.MODULES))
def test_the_deployed_settings_are_valid(name: str) -> None:
    backend = registry.find(name)
    load(ROOT / "deploy" / "backends" / name / "settings.yaml", backend.options)


def test_every_setting_reports_what_it_is_for() -> None:
    models = [field.annotation for field in BackendSettings.model_fields.values()]
    models += [registry.find(name).options for name in registry.MODULES]
    for model in models:
        for field in getattr(model, "model_fields", {}).values():
            assert field.description


@pytest.mark.parametrize("name", ["Kai", "a.b", "-a", "a" * 56, ""])
def test_a_name_that_no_label_can_have_is_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--backend", "kai", f"--name={name}"])
    assert stopped.value.code == 2
    assert f"argument --name: {name!r} is not a name of at most 55" in capsys.readouterr().err
