"""A small run of the product's benchmark yields all its figures, and a restart writes nothing."""

import json
from pathlib import Path

import pytest

from benchmarks.product.__main__ import main
from benchmarks.product.report import DELETE_RATIO, RELEASED_RATIO, RESTART_WRITES

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]


def test_a_quick_run_has_figures_and_restarts_without_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "bench.json"
    main(["--quick", "--output", str(output)])
    found = {row["figure"]: row for row in json.loads(output.read_text())}
    assert found[RESTART_WRITES]["value"] == 0
    assert found[RELEASED_RATIO]["value"] > 0
    assert found[DELETE_RATIO]["value"] > 0
    assert all(row["value"] >= 0 for row in found.values())
    table = capsys.readouterr().out
    assert all(name in table for name in found)
