"""A small run of the product's benchmark yields all its figures, and restarts write nothing."""

import json
from pathlib import Path

import pytest

from benchmarks.product.__main__ import main
from benchmarks.product.report import DELETE_RATIO, READY_RATIO, RESTART_WRITES
from benchmarks.product.report_backend import BACKEND_RESTART_WRITES, BACKEND_WRITES, CAUGHT_UP

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(600)]


def test_a_quick_run_has_figures_and_restarts_without_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "bench.json"
    main(["--quick", "--output", str(output)])
    found = {row["figure"]: row for row in json.loads(output.read_text())}
    for name in (RESTART_WRITES, BACKEND_RESTART_WRITES):
        assert found[name]["value"] == 0
    for name in (READY_RATIO, DELETE_RATIO, BACKEND_WRITES, CAUGHT_UP):
        assert found[name]["value"] > 0
    assert all(row["value"] >= 0 for row in found.values())
    table = capsys.readouterr().out
    assert all(name in table for name in found)
