"""The reference page of the watches, generated from the tables that the controllers are built from.

`python -m tests.docs.watches_page` writes it, with `--check` it fails if it is stale. The
programs are assembled as in production, with a client that never connects, and their rows are
read. A predicate and a function of keys are described by the first lines of their docstrings.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from backend_controllers import registry
from backend_controllers.generic import assembly as backend_assembly
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.remote.assembly import extend
from backend_controllers.settings import defaults
from core_operator import app
from core_operator.settings import CoreSettings
from shared_api.kube.access import Access
from shared_api.kube.client import Client
from shared_api.kube.resources import Resource
from shared_api.runtime.manager import Manager
from shared_api.runtime.reconciling.controller import Controller, Watch
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.event_handlers import its_label, itself
from shared_api.runtime.watching.predicates import any_change
from tests.docs.exploration import Answered, choices, dialects
from tests.docs.pages import write_or_check

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "watches.md"

_HEAD = """\
# Watches

After reading this page you know which change makes which controller reconcile which key, and so why a key was
reconciled, or was not. A row names a source (a watched kind, or a channel of this process), the keys that are
added to the queue, the predicate that a change must pass, and the delay. Rows of one controller are independent
of each other; the shortest delay wins. This page is generated from the tables of the controllers:
`core_operator/watches/tables.py`, `backend_controllers/generic/assembly.py`, and for backends with hosts outside of
the cluster `backend_controllers/remote/assembly.py`.

| relation | key |
|---|---|
| for | the changed object itself |
| owns | the controller owner of the changed object |
| watches | the objects that depend on the changed object |
| overwritten | the object itself, when another process changes the status that this process wrote |
| unreadable | the object itself, when it cannot be decoded, or can be decoded again |
| receives | the objects that an event of this process names |

*Batched* means that a burst of changes is one reconcile: the delay grows with the number of waiting keys and with
the time that a write takes (`shared_api/runtime/queueing/debounce.py`).
"""

_Row = tuple[str, str, str, str, str]


def render() -> str:
    """The page."""
    parts = [_HEAD, "## Controllers of the core operator\n"]
    parts += (_table(each.name, (), map(_cells, each.watches)) for each in controllers_of_core())
    parts.append(
        "## Controllers of a backend\n\nA backend has these controllers. A row without backends is"
        " in all of them; the others come from what the dialect of a scheduler declares.\n"
    )
    found = {name: _rows_of_backend(name) for name in sorted(registry.MODULES)}
    names = dict.fromkeys(controller for rows in found.values() for controller in rows)
    parts += (_table(name, ("backends",), _merged(name, found)) for name in names)
    return "\n".join(parts)


def controllers_of_core() -> Iterable[Controller]:
    """The controllers of core, with everything optional enabled."""
    settings = CoreSettings.model_validate({"network": {"autoMNNVLEnabled": True}})
    return app.assemble(settings, _client(), Telemetry())._controllers


def _rows_of_backend(name: str) -> dict[str, list[_Row]]:
    found = controllers_of_backend(name)
    return {each.name: [_cells(row) for row in each.watches] for each in found}


def controllers_of_backend(name: str) -> Iterable[Controller]:
    """The controllers of a backend, with its richest dialect."""
    backend = registry.find(name)
    telemetry, client = Telemetry(), _client()
    manager = Manager(client, telemetry)
    # The dialect with the most watches: what a new version of the scheduler serves.
    richest = max(
        (answered for _, options in choices(backend) for answered in dialects(backend, options)),
        key=_watched_kinds,
    )
    context = BackendContext(
        backend, defaults(backend.options), client, telemetry, BackendMetrics(telemetry, name)
    )
    backend_assembly.assemble(context, manager, Found(cast("Any", None), richest.dialect), extend)
    return manager._controllers


def _watched_kinds(answered: Answered) -> int:
    dialect = answered.dialect
    return len(dialect.reads) + len(dialect.writes) + len(dialect.companions)


def _client() -> Client:
    async def load(_: bool) -> Any:
        raise NotImplementedError

    return Client(Access(load))


def _merged(controller: str, found: dict[str, dict[str, list[_Row]]]) -> Iterator[tuple[str, ...]]:
    """The rows of one controller in all backends, each with the backends that have it."""
    rows = dict.fromkeys(row for tables in found.values() for row in tables.get(controller, ()))
    for row in rows:
        having = [name for name, tables in found.items() if row in tables.get(controller, ())]
        yield (*row, "" if len(having) == len(found) else ", ".join(having))


def _table(name: str, further: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    head = ("relation", "source", "keys", "when", "delay", *further)
    lines = (f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
    return f"### {name}\n\n" + "\n".join(lines) + "\n"


def _cells(row: Watch) -> _Row:
    kind, _, _ = row.source.partition("[")
    return row.relation, f"`{kind}`", _keys(row), _when(row), _delay(row.delay)


def _when(row: Watch) -> str:
    if row.when is None:
        return "every event" if row.relation == "receives" else "any change"
    return "any change" if row.when is any_change else _described(row.when)


def _keys(row: Watch) -> str:
    if row.keys is itself:
        return "itself"
    if row.relation == "owns":
        owner = next(cell for cell in _closure(row.keys) if isinstance(cell, Resource))
        return f"its owner, a {owner.kind}"
    return _described(row.keys)


def _delay(delay: float | Callable[[Any], float]) -> str:
    if callable(delay):
        return "batched"
    return f"{delay:g} s" if delay else ""


def _described(function: Callable[..., Any]) -> str:
    """The first line of a docstring: the function's own, or that of the function that made it.

    A lambda that combines other functions is described by these.
    """
    outer, _, _ = function.__qualname__.partition(".<locals>")
    if outer == its_label.__name__:
        return f"the object that its label `{_closure(function)[0]}` names"
    is_lambda = function.__name__ == "<lambda>"
    parts = [_described(cell) for cell in reversed(_closure(function)) if callable(cell)]
    if is_lambda and parts:
        return " → ".join(dict.fromkeys(parts))
    made: Any = sys.modules[function.__module__]
    for name in outer.split("."):
        made = getattr(made, name, None)
    text = inspect.getdoc(function)
    if text is None and (not is_lambda or "." not in outer):
        text = inspect.getdoc(made)
    first, _, _ = (text or "what the event names").partition("\n")
    return _lower(first.rstrip("."))


def _lower(text: str) -> str:
    return text if text[1:2].isupper() or text.startswith("Pod") else text[0].lower() + text[1:]


def _closure(function: Callable[..., Any]) -> list[Any]:
    return [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]


def main(arguments: list[str]) -> int:
    """Write or check the page; return the exit code."""
    return write_or_check(PAGE, render(), "tests.docs.watches_page", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
