"""What the product defines, the product uses: code that only tests call is dead.

Functions, classes and methods are looked up by their names in all packages but the tests, so two
that share a name count as one.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.source.modules import Module, modules

PACKAGES = ("core_operator", "shared_api", "backend_controllers", "startup_wait", "gangctl")
USERS = (
    *PACKAGES, "all_in_one", "benchmarks", "chartgen", "crdgen", "local_cluster", "monitoring",
    "releasing",
)  # fmt: skip
# Called by asyncio or by a parser, which know the names.
CALLBACKS = frozenset(
    {"connection_made", "connection_lost", "get_buffer", "buffer_updated", "on_message_begin"}
    | {"on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"}
)
ENTRY_POINTS = frozenset({"kubectl_complete"})
# The example of docs/writing-a-controller.md, a measure, and the models as users read them.
FOR_READERS = frozenset({"converge", "timers", "parse"})
# Called by a class of a library that is extended.
OVERRIDES = frozenset({"_clean_environment", "_load_ssh_config"})


def defined(module: Module) -> Iterator[str]:
    """The functions, classes and methods of a module that code has to call by name."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        registered = [
            ast.unparse(each) for each in node.decorator_list if isinstance(each, ast.Call)
        ]
        by_library = any(
            each.startswith(("model_", "field_")) or "." in each for each in registered
        )
        if not node.name.startswith("__") and not by_library:
            yield node.name


def used(module: Module) -> set[str]:
    """Every name that a module reads, imports, or passes by keyword or as text."""
    found = set()
    for node in ast.walk(module.tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Load())
                | ast.Attribute(attr=name)
                | ast.keyword(arg=str(name))
            ):
                found.add(name)
            case ast.alias(name=name):
                found.add(name.rpartition(".")[2])
            case ast.Constant(value=str(text)):
                found.add(text)
            case _:
                pass
    return found


def test_nothing_is_defined_that_the_product_does_not_use() -> None:
    uses = set[str]().union(*(used(each) for each in modules(*USERS)))
    uses |= CALLBACKS | ENTRY_POINTS | FOR_READERS | OVERRIDES
    found = {
        f"{each.path}: {name}"
        for each in modules(*PACKAGES)
        for name in defined(each)
        if name not in uses
    }
    assert not found, "\n" + "\n".join(sorted(found))


@pytest.mark.parametrize(
    "source", ["def f(): ...", "class F: ...", "class A:\n    async def f(self): ...\nA()"]
)
def test_each_kind_of_definition_is_read(source: str) -> None:
    module = Module.of(source)
    assert set(defined(module)) - used(module)
