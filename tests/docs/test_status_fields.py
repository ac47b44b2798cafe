"""Every status field in the CRDs is written by code: a field that nobody writes is a false promise.

A field counts as written if code outside the models has its name as a string, as a keyword of a
call, or as a keyword of a model that it constructs. Reading an attribute does not count.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic.alias_generators import to_snake

from tests.contract.schemas import definitions, nodes

ROOT = Path(__file__).parents[2]
# Fields of pods: a backend publishes those that its scheduler needs.
PATCHES = (".podPreparations[].members.spec.", ".podPreparations[].surplus.spec.")


@cache
def written() -> frozenset[str]:
    """Return the strings and the keywords of calls in the programs."""
    return frozenset(
        word
        for package in ("core_operator", "backend_controllers")
        for path in sorted((ROOT / package).rglob("*.py"))
        for word in _words(ast.parse(path.read_text()))
    )


def _words(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg


def status_fields() -> Iterator[str]:
    for kind in definitions():
        for node in nodes(kind):
            is_field = node.path.startswith(".status.") and not node.path.endswith(("[]", "{}"))
            if is_field and not any(patch in node.path for patch in PATCHES):
                yield f"{kind}{node.path}"


def test_every_status_field_is_written_by_code() -> None:
    unwritten = {
        path
        for path in status_fields()
        if not {name := path.rpartition(".")[2], to_snake(name)} & written()
    }
    assert sorted(unwritten) == []
