"""Names in the code have Kubernetes' words, as its texts do (`tests/docs/language.py`).

Names of modules, classes, functions, parameters, attributes and variables are read word by word.
Names that are part of an API stay.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source.modules import Module, modules

PACKAGES = (
    "core_operator",
    "shared_api",
    "backend_controllers",
    "startup_wait",
    "all_in_one",
    "crdgen",
    "chartgen",
    "monitoring",
    "releasing",
    "gangctl",
)
AVOIDED = {
    "anew": "recreate",
    "anybody": "name it: any client, any pod",
    "bend": "drift",
    "bent": "drifted",
    "copies": "replicas",
    "doing": "own_writes, expected_events",
    "fed": "watch, event handler",
    "feed": "watch, event handler",
    "feeds": "watches, event handlers",
    "held": "gated",
    "lift": "ungate",
    "mend": "repair",
    "pace": "timing, debounce",
    "pacing": "debounce",
    "persons": "users",
    "room": "capacity",
    "said": "reported, event",
    "say": "report",
    "says": "reports",
    "somebody": "name it: another client, a user",
    "speak": "report",
    "speaks": "serves",
    "stranger": "foreign object",
    "strangers": "foreign objects",
    "tell": "report",
    "tells": "reports",
    "terms": "options, message",
    "texts": "messages",
    "tidings": "messages",
    "told": "reported",
    "undone": "ignored",
    "wake": "reconcile",
    "wakes": "reconciles",
    "whoever": "name it: the leader, the user",
    "words": "message, reason",
    "workshop": "context",
}
FINE = {
    # A Lease has a holder.
    ("shared_api/runtime/leading/elector.py", "held"),
    ("shared_api/runtime/leading/lease.py", "held"),
    # asyncio's future of a reader that waits.
    ("shared_api/kube/http/connection.py", "_wake"),
}
# Words of shell commands.
COMMANDS = ("backend_controllers/slurm/", "gangctl/commands/")


def named(module: Module) -> Iterator[str]:
    """Every name that a module gives to something."""
    yield module.path.rpartition("/")[2].removesuffix(".py")
    for node in ast.walk(module.tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr
            case _:
                pass


def avoided(module: Module) -> list[str]:
    """The names with a word to avoid, and what to write instead."""
    found = {}
    for name in named(module):
        for word in re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"):
            if word in AVOIDED and (module.path, name) not in FINE:
                found[name] = f"{module.path}: {name} (write: {AVOIDED[word]})"
    return sorted(found.values())


def test_no_name_has_a_word_that_we_avoid() -> None:
    found = [
        line
        for module in modules(*PACKAGES)
        for line in avoided(module)
        if not (module.path.startswith(COMMANDS) and "words" in line)
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "def feed_overwritten(): ...",
        "class PodPace: ...",
        "told = 1",
        "def f(texts): ...",
        "a.held = 2",
    ],
)
def test_each_kind_of_name_is_read(source: str) -> None:
    assert avoided(Module.of(source))


def test_the_name_of_a_module_is_read() -> None:
    assert avoided(Module.of("", "core_operator/gang_feeds.py"))
    assert not avoided(Module.of("", "core_operator/gang_watches.py"))
