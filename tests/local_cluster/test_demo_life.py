"""The demo's cluster goes down however the demo ends: by itself, by Ctrl-C, by a failure."""

import contextlib
import signal
from collections.abc import Callable, Iterator

import pytest

from local_cluster.cli import main
from local_cluster.cluster import Cluster
from local_cluster.demo import run
from local_cluster.demo.narration import Narrator
from local_cluster.errors import ClusterError


@pytest.fixture(autouse=True)
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What became of a cluster of which nothing is started, in the order in which it did."""
    told: list[str] = []
    monkeypatch.setattr(run, "up", lambda *_, directory, **__: Cluster("demo", directory))
    monkeypatch.setattr(run, "down", lambda _: told.append("down"))
    monkeypatch.setattr(Cluster, "kubectl_program", lambda _: "kubectl")
    monkeypatch.setattr(run, "dashboard", lambda _: contextlib.nullcontext("Dashboard: address"))
    handler = signal.getsignal(signal.SIGTERM)
    yield told
    signal.signal(signal.SIGTERM, handler)


def _play(monkeypatch: pytest.MonkeyPatch, *scenes: Callable[[Narrator], None]) -> None:
    monkeypatch.setattr(run, "SCENES", scenes)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_it_stays_up_until_ctrl_c(
    ended: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wait() -> None:
        ended.append("Ctrl-C")
        raise KeyboardInterrupt

    _play(monkeypatch, lambda _: ended.append("scene"))
    monkeypatch.setattr(signal, "pause", wait)
    assert main(["demo"]) == 0
    assert ended == ["scene", "Ctrl-C", "down"]
    said = capsys.readouterr().out
    assert "export KUBECONFIG=" in said
    assert "Dashboard: address" in said
    assert "The cluster stays up until Ctrl-C." in said


def test_once_it_ends_by_itself_after_the_address_of_the_page(
    ended: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _play(monkeypatch, lambda _: ended.append("scene"))
    monkeypatch.setattr(signal, "pause", lambda: pytest.fail("it waits"))
    assert main(["demo", "--once"]) == 0
    assert ended == ["scene", "down"]
    assert "Dashboard: address" in capsys.readouterr().out


def test_ctrl_c_in_a_scene_skips_the_rest(
    ended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _play(monkeypatch, _interrupted, lambda _: ended.append("scene"))
    assert main(["demo"]) == 0
    assert ended == ["down"]


def test_failed_scene_is_reported_and_fails_the_demo(
    ended: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def scene(_: Narrator) -> None:
        raise ClusterError("the demo waited in vain for a pod", details="last seen: nothing")

    _play(monkeypatch, scene)
    assert main(["demo", "--once"]) == 1
    assert ended == ["down"]
    assert capsys.readouterr().err.splitlines() == [
        "error: the demo waited in vain for a pod.",
        "last seen: nothing",
    ]
