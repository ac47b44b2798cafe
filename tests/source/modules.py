"""Reads the modules of the product for the tests of this folder; it imports none of them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Module:
    """One source file, parsed."""

    path: str
    tree: ast.Module

    @classmethod
    def of(cls, source: str, path: str = "sample.py") -> "Module":
        """A module that is not a file."""
        return cls(path, ast.parse(source))

    def calls(self) -> Iterator[ast.Call]:
        """Every call."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def names(self) -> set[str]:
        """Every name and attribute that is read or written."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.alias):
                found.add(node.name.rpartition(".")[2])
        return found

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


@cache
def module(path: str) -> Module:
    """The module of this path."""
    return Module(path, ast.parse((ROOT / path).read_text()))


def modules(*packages: str) -> Iterator[Module]:
    """All modules of these folders."""
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield module(path.relative_to(ROOT).as_posix())


def called(call: ast.Call) -> str:
    """The name of the function or method that is called, without what it belongs to."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


def paths(found: Iterable[Module]) -> set[str]:
    """The paths of modules."""
    return {each.path for each in found}
