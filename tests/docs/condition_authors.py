"""Which conditions the programs set, found in the source.

A condition is set by a call that has its type and a `reason`, or that constructs a `...Condition`.
The type is the first argument, or `type`, or a local variable that was assigned from
`names.CONDITION_...`. Calls that only look a condition up have no reason.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PREFIX = "CONDITION_"


def written_conditions(*packages: str) -> set[str]:
    """Names of the constants of conditions that code in these packages sets."""
    return {
        name
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in conditions_set_in(ast.parse(path.read_text()))
    }


def conditions_set_in(tree: ast.Module) -> set[str]:
    """Names of the constants of conditions that a module sets."""
    return {name for function in _functions(tree) for name in _set_in(function)}


def _functions(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _set_in(function: ast.AST) -> Iterator[str]:
    variables: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                variables.setdefault(target, set()).update(_constants(value))
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and (kind := _kind(node)) is not None:
            yield from _constants(kind)
            for part in ast.walk(kind):
                if isinstance(part, ast.Name):
                    yield from variables.get(part.id, ())


def _pairs(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Variables and what they are assigned; `a, b = x, y` is two of them."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(one, ast.Name):
                    yield one.id, value


def _kind(call: ast.Call) -> ast.expr | None:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    constructs = isinstance(call.func, ast.Name) and call.func.id.endswith("Condition")
    if "reason" not in keywords and not constructs:
        return None
    return keywords.get("type") or keywords.get("kind") or (call.args[0] if call.args else None)


def _constants(node: ast.AST) -> set[str]:
    return {
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr.startswith(PREFIX)
    }
