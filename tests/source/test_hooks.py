"""What an object calls, it is given when it is made: no callback is put into it later.

A callback that another module assigns depends on the order of the wiring, and is not found where
the object is made.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.source.modules import Module, modules

PACKAGES = ("core_operator", "shared_api", "backend_controllers", "gangctl")
PREFIXES = ("on_", "_on_", "before_", "after_")


def hooks(module: Module) -> Iterator[str]:
    """Assignments of callbacks to attributes of other objects."""
    assignments = (node for node in ast.walk(module.tree) if isinstance(node, ast.Assign))
    for node in assignments:
        for target in node.targets:
            if not isinstance(target, ast.Attribute) or ast.unparse(target.value) == "self":
                continue
            if target.attr.startswith(PREFIXES) or isinstance(node.value, ast.Lambda):
                yield f"{module.path}:{node.lineno}: {ast.unparse(target)}"


def test_no_callback_is_assigned_from_outside() -> None:
    found = [hook for each in modules(*PACKAGES) for hook in hooks(each)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("source", ["cache.on_defect = count", "self._a.changed = lambda: None"])
def test_a_hook_would_be_found(source: str) -> None:
    assert list(hooks(Module.of(source)))
