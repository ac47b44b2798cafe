"""Predicates, keys and delays of all controllers are functions without side effects.

The controllers are assembled as in production, and every function in a row of their tables is
read: it changes no attribute, no item and no global, calls nothing that changes its object, waits
for nothing, and reads no clock. Rows are the only way in which a change adds a key.
"""

import ast
import dis
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

import pytest

from backend_controllers import registry
from shared_api.runtime.reconciling.controller import Controller
from tests.docs.watches_page import controllers_of_backend, controllers_of_core
from tests.source.modules import called, modules

PACKAGES = ("core_operator", "backend_controllers", "shared_api")
WATCHES = "core_operator/watches/"
CHANGING = frozenset(
    {"append", "add", "discard", "remove", "pop", "popitem", "clear", "update", "setdefault"}
    | {"extend", "insert", "sort", "send", "note", "forget", "subscribe", "record_event"}
    | {"apply", "apply_status", "delete", "create", "patch", "inc", "observe", "start", "done"}
    | {"wrote", "first_change", "expect", "report_problem", "ask", "withdraw", "set"}
)
CLOCKS = frozenset({"monotonic", "boottime", "utc", "now", "time", "sleep", "random"})
# A debouncer knows how long the last write took; its delay is longer while the server is busy.
READS_THE_CLOCK = {"Debouncer.delay"}
CHANGES = frozenset({"STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_GLOBAL"})
READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
WAITS = frozenset({"GET_AWAITABLE", "YIELD_FROM"})


def effects(code: CodeType) -> Iterator[str]:
    """What a function does beside returning a value, and whether it depends on the time."""
    for step in dis.get_instructions(code):
        if step.opname in CHANGES:
            yield f"changes {step.argval or 'an item'}"
        elif step.opname in READS and step.argval in CHANGING | CLOCKS:
            yield f"uses {step.argval}"
        elif step.opname in WAITS:
            yield "waits"
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from effects(inner)


def all_controllers() -> Iterable[Controller]:
    """Those of core, and of every backend with its richest dialect."""
    yield from controllers_of_core()
    for name in sorted(registry.MODULES):
        yield from controllers_of_backend(name)


def functions(value: object) -> Iterator[Callable[..., Any]]:
    """A function, and those that it closes over."""
    function = getattr(value, "__func__", value)
    if inspect.isfunction(function):
        yield function
        for cell in function.__closure__ or ():
            yield from functions(cell.cell_contents)


def in_rows() -> dict[str, Callable[..., Any]]:
    """All functions of all rows, by name."""
    return {
        f"{function.__module__}:{function.__qualname__}": function
        for controller in all_controllers()
        for row in controller.watches
        for value in (row.when, row.keys, row.delay)
        for function in functions(value)
    }


def test_no_function_of_a_row_has_a_side_effect() -> None:
    found = in_rows()
    assert len(found) > 60
    for name, function in found.items():
        if function.__qualname__ not in READS_THE_CLOCK:
            assert list(effects(function.__code__)) == [], name


def test_controllers_of_a_far_side_are_read_too() -> None:
    assert {"remotegang", "virtual-node"} <= {each.name for each in all_controllers()}


def test_no_function_of_their_modules_has_a_side_effect() -> None:
    read = [each for each in modules(*PACKAGES) if each.path.startswith(WATCHES)]
    read += [each for each in modules(*PACKAGES) if each.path.endswith("/predicates.py")]
    assert len({each.path for each in read}) >= 9
    for each in read:
        for code in functions_of(compile(each.tree, each.path, "exec")):
            assert list(effects(code)) == [], f"{each.path}: {code.co_qualname}"


def functions_of(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module; constructors keep what predicates look things up in."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_name != "__init__":
            is_class = not inner.co_flags & inspect.CO_NEWLOCALS
            yield from functions_of(inner) if is_class else (inner,)


def test_only_the_runtime_adds_keys_to_a_queue() -> None:
    adding = {
        each.path
        for each in modules(*PACKAGES)
        for call in each.calls()
        if ast.unparse(call.func).endswith("queue.add")
    }
    assert adding == {
        "shared_api/runtime/reconciling/builder.py",
        "shared_api/runtime/reconciling/controller.py",
        "shared_api/runtime/watching/event_handlers.py",
    }


def test_only_the_builder_connects_queues_with_caches() -> None:
    for name in ("enqueue_changes", "enqueue_overwritten", "enqueue_unreadable"):
        using = {
            each.path
            for each in modules(*PACKAGES)
            if name in {called(call) for call in each.calls()}
        }
        assert using == {"shared_api/runtime/reconciling/builder.py"}


@pytest.mark.parametrize(
    "source",
    [
        "def when(self, old, new):\n    self._seen = new",
        "def when(self, old, new):\n    return self._seen.add(new)",
        "def when(old, new):\n    SEEN[new] = 1",
        "def when(old, new):\n    global seen\n    seen = new",
        "def when(self, old, new):\n    return self._clock.monotonic() > 1",
        "async def when(old, new):\n    return await find(new)",
    ],
)
def test_a_side_effect_would_be_found(source: str) -> None:
    outer = compile(source, "sample.py", "exec")
    (function,) = (each for each in outer.co_consts if isinstance(each, CodeType))
    assert list(effects(function))
