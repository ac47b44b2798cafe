"""Every command of the quickstart is run, in its order, and shows what the page says.

Here the steps that make the cluster and load the image are replaced by the local cluster, whose process
node runs this checkout; so `apply -k` sends the controllers' pods there, with the manifests otherwise
unchanged. All other commands are the page's. `tests/containers` walks through the same page with the image
and real containers.
"""

import contextlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import place_on_process_node

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

_ROOT = Path(__file__).parents[2]
_LOCAL = [sys.executable, "-m", "local_cluster"]
_REPLACED: dict[str, list[str] | None] = {
    "kind create cluster --config docs/samples/kind/cluster.yaml": ["up"],
    "docker build --file Containerfile --tag podgang:quickstart .": None,
    "kind load docker-image podgang:quickstart --name podgang": None,
    "kind delete cluster --name podgang": ["down"],
}
_SHOWN = {
    "kubectl get schedulerbackends": ["default", "BackendAvailable"],
    "kubectl get pcs,pclq,podgangs,pods": [
        "podcliqueset.grove.io/hello",
        "podclique.grove.io/hello-0-worker",
        "podgang.scheduler.grove.io/hello-0",
    ],
    "kubectl get pcs": ["hello", "too-big", "PodsNotScheduled"],
    "kubectl get podgang too-big-0 -o wide": ["0/2 pods scheduled", "Insufficient cpu"],
    "kubectl get pcs,pods": ["BackendUnavailable", "hello-0-leader"],
}


def commands() -> list[str]:
    text = (_ROOT / "docs" / "quickstart.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def run(*arguments: str) -> None:
    done = subprocess.run(
        [*_LOCAL, *arguments], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"


def kubectl(*arguments: str, given: str | None = None) -> str:
    # From the page's own place, since it names files.
    with contextlib.chdir(_ROOT):
        done = Cluster().kubectl(*arguments, input=given, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def install(folder: str) -> None:
    rendered = kubectl("kustomize", folder)
    items = [place_on_process_node(item) for item in yaml.safe_load_all(rendered) if item]
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl("apply", "--server-side", "-f", "-", given=listing)


@pytest.fixture
def state(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place for clusters that is not the user's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(short_path))
    yield
    run("down", "--all")


def test_everything_that_is_replaced_or_expected_is_on_the_page() -> None:
    assert {*_REPLACED, *_SHOWN} <= set(commands())


def test_the_quickstart_works_as_printed(state: None) -> None:
    walk(_REPLACED, install)


def walk(replaced: Mapping[str, list[str] | None], apply_folder: Callable[[str], None]) -> None:
    """Run every command of the page; those in `replaced` by a command of the local cluster."""
    for command in commands():
        if command in replaced:
            replacement = replaced[command]
            if replacement is not None:
                run(*replacement)
            continue
        program, *arguments = shlex.split(command)
        assert program == "kubectl", command
        if arguments[:3] == ["apply", "--server-side", "-k"]:
            apply_folder(arguments[3])
            continue
        shown = kubectl(*arguments)
        for words in _SHOWN.get(command, ()):
            assert words in shown, f"{command}: {shown}"
        if command == "kubectl get pcs,pclq,podgangs,pods":
            assert shown.count(" Running ") >= 3, shown
        if command == "kubectl get pods":
            assert shown.count(" Pending ") == 2, shown
            assert shown.count(" Running ") == 3, shown


def test_the_overlay_changes_nothing_but_the_image() -> None:
    overlay = yaml.safe_load(
        (_ROOT / "docs" / "samples" / "kind" / "kustomization.yaml").read_text()
    )
    assert set(overlay) == {"apiVersion", "kind", "resources", "images"}
