"""The init container exits once the pod may start, and when the pod is deleted."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core_operator.settings import CoreSettings

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, *CoreSettings().startup_order.command[1:]]


@contextmanager
def waiting(file: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*COMMAND, str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_waits_until_cleared_and_prints_what_it_waits_for(tmp_path: Path) -> None:
    file = tmp_path / "state"
    file.write_text("after w-0-a")
    with waiting(file) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "starts after w-0-a\n"
        assert process.poll() is None
        # As the kubelet does: the whole content at once.
        fresh = tmp_path / "fresh"
        fresh.write_text("cleared")
        fresh.replace(file)
        assert process.wait(30) == 0


def test_a_pod_that_may_start_already_does_not_wait(tmp_path: Path) -> None:
    file = tmp_path / "state"
    file.write_text("cleared")
    with waiting(file) as process:
        assert process.wait(30) == 0


def test_the_command_of_pods_that_exist_already_still_works(tmp_path: Path) -> None:
    file = tmp_path / "state"
    file.write_text("cleared")
    command = [sys.executable, "-m", "core_operator.await_order", str(file)]
    assert subprocess.run(command, cwd=ROOT, check=False, timeout=30).returncode == 0


def test_a_pod_that_is_deleted_does_not_use_up_its_grace(tmp_path: Path) -> None:
    file = tmp_path / "state"
    file.write_text("after w-0-a")
    with waiting(file) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143


def test_it_imports_nothing_of_the_product_and_nothing_heavy() -> None:
    listing = "import startup_wait.__main__, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", listing],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    heavy = {"asyncio", "pathlib", "json", "re", "socket", "ssl", "pydantic", "shared_api"}
    assert not heavy & set(loaded)


def test_it_prints_its_usage() -> None:
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "FILE" in done.stderr
