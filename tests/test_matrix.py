"""The parts of the matrix: what is skipped is reported, and a part that does not exist is an error."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.matrix import PARTS, main

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
