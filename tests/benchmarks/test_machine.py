"""What others used of the machine is told apart from what the benchmark used."""

from pathlib import Path

import pytest

from benchmarks.product.machine import Phases, Usage, of_tree, others_share, parent, usage

STAT = Path("/proc/stat")


def test_what_is_neither_idle_nor_ours_is_the_others() -> None:
    before, after = Usage(1000, 500, 100), Usage(1200, 650, 200)
    assert others_share(before, after) == 0.25


def test_rounding_never_makes_it_negative() -> None:
    assert others_share(Usage(0, 0, 0), Usage(100, 50, 51)) == 0


@pytest.mark.skipif(not STAT.exists(), reason="this system has no /proc")
def test_own_work_counts_as_ours() -> None:
    before = usage()
    while usage().ours - before.ours < 2:
        sum(range(100_000))
    assert usage().busy > before.busy


@pytest.mark.skipif(not STAT.exists(), reason="this system has no /proc")
def test_each_phase_has_its_share_and_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    phases = Phases()
    with phases.phase("idle"), phases.phase("inner"):
        pass
    assert list(phases.others) == ["inner", "idle"]
    assert all(0 <= share <= 1 for share in phases.others.values())
    assert "idle: " in capsys.readouterr().err


def test_the_parent_is_found_whatever_the_program_is_called() -> None:
    assert parent("42 (a ) 7 b) S 17 42 42 0") == 17


def test_children_of_children_are_ours_and_siblings_are_not() -> None:
    def stat(parent: int, ticks: int) -> str:
        return f"0 (p) S {parent} {'0 ' * 9}{ticks} 0 0"

    stats = {1: stat(0, 1), 2: stat(1, 10), 3: stat(2, 100), 4: stat(3, 1000), 5: stat(1, 10000)}
    assert of_tree(stats, 2) == 1110
