"""The parts of the matrix: what is skipped is reported, and a part that does not exist is an error."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from tests.matrix import PARTS, Part, main

_AS_A_USER = """
import os, sys
os.geteuid = lambda: 1000
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def test_parts_for_which_no_time_is_left_are_reported_and_are_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--minutes", "0"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1].strip() for line in told] == [
        *(part.name for part in PARTS),
        "others",
    ]
    assert all("skipped" in line for line in told)


def test_an_unknown_part_is_refused_with_those_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["nomad"])
    told = capsys.readouterr().err
    assert "there is no part nomad" in told
    assert all(part.name in told for part in PARTS)


def test_tests_in_containers_are_skipped_for_a_user_without_root(tmp_path: Path) -> None:
    given = ("tests/containers", "-m", "matrix", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-c", _AS_A_USER, *given],
        cwd=Path(__file__).parents[1],
        # Nothing was built here before.
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "needs root's rights" in done.stdout
    assert re.fullmatch(r"\d+ skipped in \S+", done.stdout.splitlines()[-1]), done.stdout


def test_a_machine_without_the_programs_leaves_containers_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    assert main(["containers"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("matrix: containers: skipped: ")
    assert {"containerd", "dockerd", "debootstrap"} <= set(re.findall(r"\w+", told))


def test_parts_run_side_by_side_but_never_two_that_need_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def part(name: str, *, needs_machine: bool) -> Part:
        return Part(name, (name,), (), 1, 0, needs_machine=needs_machine)

    parts = (
        part("engine", needs_machine=True),
        part("slurm", needs_machine=True),
        part("kai", needs_machine=False),
    )
    together, running = threading.Barrier(2), set[str]()

    def run(part: Part, output: IO[str] | None) -> bool:
        assert output is not None
        assert not running or not part.needs_machine
        running.update({part.name} if part.needs_machine else ())
        if part.name != "slurm":
            # Broken if the two do not run at the same time.
            together.wait(timeout=20)
        output.write(f"what {part.name} prints\n")
        running.discard(part.name)
        return part.name != "kai"

    monkeypatch.setattr("tests.matrix.PARTS", parts)
    monkeypatch.setattr("tests.matrix._run", run)
    assert main(["engine", "slurm", "kai"]) == 1
    printed = capsys.readouterr().out
    assert all(f"matrix: {one}\nwhat {one} prints\n" in printed for one in ("engine", "slurm"))
    assert re.findall(r"matrix: (\w+): (passed|FAILED)", printed) == [
        ("engine", "passed"),
        ("slurm", "passed"),
        ("kai", "FAILED"),
    ]
