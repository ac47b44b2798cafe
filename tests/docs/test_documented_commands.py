"""Every command that README and the local cluster's page show is run, and does what they say."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

_ROOT = Path(__file__).parent.parent.parent
_PAGES = ("README.md", "docs/local-cluster.md")
_IN_PLAY = ".venv/bin/python -m local_cluster"
_INSTALLED = ("deploy/core", "deploy/backends/default", "deploy/backends/kai")


def _commands(page: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (_ROOT / page).read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def _run(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        shlex.split(command),
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def state(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for clusters that is not the user's, with the user's finished builds."""
    monkeypatch.setenv("XDG_STATE_HOME", str(short_path))
    yield short_path
    _run(f"{_IN_PLAY} down --all")


def test_every_documented_command_is_known_to_these_tests() -> None:
    shown = {command for page in _PAGES for command in _commands(page)}
    assert shown == {
        "make demo",
        "make test",
        f"{_IN_PLAY} up",
        f"{_IN_PLAY} kubectl get nodes",
        f"{_IN_PLAY} status",
        f"{_IN_PLAY} down",
        *(f"kubectl apply --server-side -k {folder}" for folder in _INSTALLED),
        # tests/deploy/test_chart_cluster.py runs it, with fewer backends.
        "helm install podgang deploy/chart --namespace grove-system --create-namespace",
        # These need root; the tests in tests/containers run them.
        f"{_IN_PLAY} up --containers",
        f"{_IN_PLAY} image --load default",
        f"{_IN_PLAY} kubectl apply --server-side -k deploy/all",
    }


def test_make_demo_shows_what_the_readme_reports(state: Path) -> None:
    done = _run("make demo DEMO=ci")
    assert done.returncode == 0, done.stderr
    titles = r"^== .*$"
    shown = re.findall(titles, (_ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown == re.findall(titles, done.stdout, re.MULTILINE)
    for words in (
        "inference-1  scheduled: its pods are ungated and bound",
        "8 of 8 pods bound",
        "0 of 12 pods bound",
        "8 Insufficient nvidia.com/gpu",
        "12 of 12 pods bound",
        "BackendUnavailable",
        "20 of 20 pods are still running",
        "3 of 3 pods bound",
        "$ kubectl gang status",
        "$ kubectl gang why inference",
        "✗ scheduled 0/4",
        "0 free on 9 nodes",
        "nothing is left of it",
    ):
        assert words in done.stdout


def test_make_test_is_what_ci_runs() -> None:
    assert "make test" in (_ROOT / ".ci" / "run").read_text()


def test_bare_make_explains_every_target(state: Path) -> None:
    done = _run("make")
    assert done.returncode == 0
    phony = re.search(r"^\.PHONY: (.*)$", (_ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    for target in phony[1].split():
        assert f"make {target} " in done.stdout


def test_cluster_to_play_with_comes_and_goes(state: Path) -> None:
    up = _run(f"{_IN_PLAY} up")
    assert up.returncode == 0, up.stderr
    assert "cluster 'default' ready in" in up.stdout
    nodes = _run(f"{_IN_PLAY} kubectl get nodes")
    assert nodes.stdout.count(" Ready ") == 9, nodes.stdout
    # kubectl itself is never run as documented: it would reach for the user's own context.
    for folder in _INSTALLED:
        applied = _run(f"{_IN_PLAY} kubectl apply --server-side -k {folder}")
        assert applied.returncode == 0, applied.stderr
    status = _run(f"{_IN_PLAY} status")
    assert status.returncode == 0, status.stdout
    assert "kube-scheduler" in status.stdout
    down = _run(f"{_IN_PLAY} down")
    assert down.stdout == "cluster 'default' is down\n"
    assert not list((state / "podgang" / "clusters").iterdir())
