"""The quickstart and the demo with the image in real containers; only kind is replaced."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.kit import ROOT
from tests.docs.test_quickstart import kubectl, run, walk

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(900)]

_REPLACED: dict[str, list[str] | None] = {
    "kind create cluster --config docs/samples/kind/cluster.yaml": ["up", "--containers"],
    "docker build --file Containerfile --tag podgang:quickstart .": ["image"],
    "kind load docker-image podgang:quickstart --name podgang": [
        *("image", "--load", "default", "--tag", "podgang:quickstart")
    ],
    "kind delete cluster --name podgang": ["down"],
}


@pytest.fixture
def state(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place for clusters that is not the user's."""
    # Builds stay where they are.
    monkeypatch.setenv("XDG_STATE_HOME", str(short_path))
    yield
    run("down", "--all")


def _apply(folder: str) -> None:
    kubectl("apply", "--server-side", "-k", folder)


def test_the_quickstart_works_with_its_image_in_containers(state: None) -> None:
    walk(_REPLACED, _apply)


def test_one_command_builds_the_image_installs_the_chart_and_runs_a_gang(state: None) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "local_cluster", "demo", "--containers", "--once"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All four have the same sum: [60.0, 64.0, 68.0" in done.stdout
