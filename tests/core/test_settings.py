"""Settings: every mistake is named by its path."""

import subprocess
import sys
from pathlib import Path

import pytest

from core_operator.settings import CoreSettings, SettingsError, load, parse

ROOT = Path(__file__).parents[2]


def test_an_empty_file_means_the_defaults() -> None:
    assert parse("") == parse("{}") == CoreSettings()


def test_keys_are_those_of_the_page() -> None:
    text = "backends: {default: kai, staleAfterSeconds: 4}\nleaderElection: {enabled: false}"
    settings = parse(text)
    assert (settings.backends.default, settings.backends.stale_after_seconds) == ("kai", 4)
    assert not settings.leader_election.enabled


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("server: {prot: 80}", "server.prot: there is no such setting"),
        ("sever: {}", "sever: there is no such setting"),
        ("server: {port: 70000}", "server.port: Input should be less than or equal to 65535"),
        ("server: {port: '80'}", "server.port: Input should be a valid integer, not '80'"),
        ("backends: {staleAfterSeconds: 12}", "backends.staleAfterSeconds: Input should be"),
        ("backends: {default: Not A Name}", "backends.default: String should match pattern"),
        ("logging: {level: LOUD}", "logging.level: Input should be 'DEBUG', 'INFO'"),
        ("concurrency: {podGangs: 0}", "concurrency.podGangs: Input should be greater than"),
        ("- a list", "the file must hold a map of settings"),
        ("{", "not YAML: "),
    ],
)
def test_a_mistake_is_reported_with_its_path_in_one_line(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(SettingsError, match=r"logging\.format.*; server\.port"):
        parse("server: {port: -1}\nlogging: {format: xml}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: No such file"):
        load(tmp_path / "nowhere.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"binary\.yaml: is not UTF-8 text"):
        load(binary)


def test_the_process_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("server: {port: many}")
    ended = subprocess.run(
        [sys.executable, "-m", "core_operator", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"core_operator: {file}: server.port: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


def test_the_deployed_settings_are_valid() -> None:
    load(ROOT / "deploy" / "core" / "settings.yaml")


def test_every_setting_reports_what_it_is_for() -> None:
    for section in CoreSettings.model_fields.values():
        assert section.description
        for field in getattr(section.annotation, "model_fields", {}).values():
            assert field.description
