"""The page on security names a test for each threat, and every policy that is installed."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def _rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_every_threat_names_a_test_that_exists() -> None:
    rows = _rows("Threats")
    assert len(rows) > 10
    for *_, tests in rows:
        named = re.findall(r"`(tests/[^`]+)`", tests)
        assert named, tests
        for path in named:
            assert (ROOT / path).is_file(), path


def test_every_attack_is_on_the_page() -> None:
    for file in (ROOT / "tests" / "attacks").glob("test_*.py"):
        assert f"`tests/attacks/{file.name}`" in PAGE, file.name


def test_every_policy_is_on_the_page() -> None:
    listed = {row[0].strip("`") for row in _rows("Policies")}
    found = {
        manifest["metadata"]["name"]
        for file in (ROOT / "deploy" / "policies").rglob("*.yaml")
        for manifest in yaml.safe_load_all(file.read_text())
        if manifest["kind"] == "ValidatingAdmissionPolicy"
    }
    assert listed == found
