"""Arguments, exit codes and completion of verbs, without a cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

from gangctl.commands import application
from gangctl.commands.application import run

SCRIPTS = Path(sys.executable).parent
REPOSITORY = Path(__file__).parents[2]
VERBS = {
    "status",
    "why",
    "tree",
    "topology",
    "fit",
    "backends",
    "rollout",
    "scale",
    "logs",
    "doctor",
    "bundle",
    "dashboard",
}


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(words))
    return int(ended.value.code or 0)


def nowhere(tmp_path: Path) -> str:
    """A kubeconfig whose server does not listen."""
    file = tmp_path / "kubeconfig"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a, namespace: team}}]\n"
        "users: [{name: a, user: {}}]\n"
    )
    return str(file)


def test_wrong_arguments_are_an_error_and_not_a_request_for_manual_action(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert code_of("why") == 3
    assert code_of("nonsense") == 3
    assert code_of("status", "-o", "xml") == 3
    assert code_of("scale", "w", "--replicas", "-1") == 3
    assert "See: kubectl gang --help" in capsys.readouterr().err


def test_every_verb_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--help") == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {verb} " in shown for verb in VERBS)
    for verb in VERBS:
        assert code_of(verb, "-h") == 0


def test_a_server_that_does_not_answer_is_an_error_with_its_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--kubeconfig", nowhere(tmp_path))
    for verb in (
        ("status",),
        ("status", "-w"),
        ("why", "w"),
        ("logs", "w", "-f"),
        # A watch tries again for ever.
        ("rollout", "status", "w", "-w"),
        ("dashboard", "--no-browser"),
    ):
        assert code_of(*verb, *at) == 3
        printed = capsys.readouterr().err
        assert printed.startswith("error: The API server http://127.0.0.1:1 of context a cannot be")
        assert printed.endswith("kubectl config get-contexts\n")


def test_without_a_verb_the_help_is_shown_and_not_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in ((), ("rollout",)):
        assert code_of(*words) == 3
        assert capsys.readouterr().err.startswith("Usage: kubectl gang")


def test_a_kubeconfig_or_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    def printed(*words: str) -> str:
        # As a program of its own: libraries print too.
        done = subprocess.run(
            [sys.executable, "-m", "gangctl", "status", *words],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin", "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 3
        return done.stderr

    assert printed() == (
        f"error: no kubeconfig: {tmp_path}/.kube/config does not exist."
        " Name one with --kubeconfig or in $KUBECONFIG\n"
    )
    file = nowhere(tmp_path)
    assert printed("--kubeconfig", file, "--context", "b") == (
        f"error: no context b in {file}. Contexts: a\n"
    )


def test_a_defect_is_an_error_and_does_not_look_like_waiting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gangctl.commands.inspection.read_once", defect)
    assert code_of("status", "--kubeconfig", nowhere(tmp_path)) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["a: [", "[]", "kind: Config\n", "clusters: 1\n"])
def test_a_kubeconfig_that_cannot_be_read_is_an_error_in_one_line(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    for path in (file, tmp_path / "missing"):
        assert code_of("status", "--kubeconfig", str(path)) == 3
        printed = capsys.readouterr().err
        assert printed.startswith("error: ")
        assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "Cannot read"),
        ("kind: Pod\n", "has no PodCliqueSet"),
        ("kind: PodCliqueSet\n", "has no metadata.name"),
    ],
)
def test_a_file_without_a_set_is_an_error(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(content)
    assert code_of("fit", "-f", str(file), "--kubeconfig", nowhere(tmp_path)) == 3
    assert message in capsys.readouterr().err


def test_kubectl_gets_verbs_and_values_of_options_as_completions() -> None:
    def completed(*words: str) -> list[str]:
        done = subprocess.run(
            [SCRIPTS / "kubectl_complete-gang", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout.split()

    assert completed("to") == ["topology", ":4"]
    assert completed("rollout", "") == ["status", "restart", "undo", ":4"]
    assert completed("status", "-o", "") == ["text", "json", "yaml", ":4"]


def test_names_are_not_completed_without_a_server_and_nothing_is_printed(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPTS / "kubectl_complete-gang", "tree", ""],
        env={"KUBECONFIG": nowhere(tmp_path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (done.stdout.split(), done.stderr) == ([":4"], "")


def test_the_verbs_of_this_test_are_those_of_the_program() -> None:
    named = {
        command.name or command.callback.__name__
        for command in application.app.registered_commands
        if command.callback
    }
    groups = {str(group.name) for group in application.app.registered_groups}
    assert named | groups >= VERBS
