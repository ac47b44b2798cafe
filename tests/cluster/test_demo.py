"""The demo leaves nothing behind, whenever Ctrl-C comes: before or after the product runs."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.processes import gone

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


@pytest.fixture
def demo(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    monkeypatch.setenv("TMPDIR", str(short_path))
    with subprocess.Popen(
        [sys.executable, "-m", "local_cluster", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process
        process.kill()


def _read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if words in line:
            return
    pytest.fail(f"{words!r} never came: {''.join(seen)}")


@pytest.mark.parametrize("moment", ["API server ready", "get schedulerbackends"])
def test_interrupted_demo_leaves_nothing(
    demo: subprocess.Popen[str], short_path: Path, moment: str
) -> None:
    _read_until(demo, moment)
    demo.send_signal(signal.SIGINT)
    assert demo.wait(timeout=110) in (0, 130)
    assert gone(short_path)
    assert list(short_path.iterdir()) == []
