"""Every row of the comparison with Grove is proven by tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.grove_rows import PROOFS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "grove-compatibility.md"


def rows() -> list[str]:
    """Return the first cell of every row that is not a heading."""
    cells = re.findall(r"^\| (.+?) \|", PAGE.read_text(), re.MULTILINE)
    return [cell for cell in cells if cell not in ("check", "matter")]


@cache
def known_proofs() -> frozenset[str]:
    """Return every way to name a test: a name that one file has, `file::test` and `file::[case]`.

    Cases are the keys of the tables of manifests, which tests have as their parameters.
    """
    qualified, names = set[str](), list[str]()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.append(node.name)
                qualified.add(f"{path.name}::{node.name}")
            elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
                keys = (key.value for key in node.value.keys if isinstance(key, ast.Constant))
                qualified |= {f"{path.name}::[{key!s}]" for key in keys}
    return frozenset({name for name in names if names.count(name) == 1} | qualified)


def test_every_row_names_the_tests_that_prove_it() -> None:
    assert sorted(set(rows()) - set(PROOFS)) == []
    assert sorted(set(PROOFS) - set(rows())) == [], "rows that the page no longer has"


def test_no_matter_is_listed_twice_under_one_name() -> None:
    listed = rows()
    assert sorted({cell for cell in listed if listed.count(cell) > 1}) == []


def test_every_proof_exists() -> None:
    missing = {name for proofs in PROOFS.values() for name in proofs} - known_proofs()
    assert sorted(missing) == []


def test_no_manifest_has_a_webhook() -> None:
    manifests = [*(ROOT / "deploy").rglob("*.yaml")]
    assert manifests
    assert [path for path in manifests if "WebhookConfiguration" in path.read_text()] == []
