"""The page of the command line, generated from the commands and from the reports of a scene.

`python -m tests.docs.cli_page` writes it, with `--check` it fails if it is stale. The examples are
what the reports print for a scene, so an example cannot differ from the program.
`tests/gangctl/test_page_cluster.py` runs every one of them on a real cluster.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from gangctl.commands.application import app
from tests.docs.cli_examples import EXAMPLES
from tests.docs.pages import write_or_check

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

_HEAD = """\
# Command line: kubectl gang

After reading this page you can find out from the command line why a gang waits, whether a set would fit, and
what is wrong with an installation. `kubectl gang` acts with your own rights and needs nothing in the cluster.
This page is generated from the commands.

Install it with `pip install '.[cli]'` in a clone. kubectl finds `kubectl-gang` on the PATH; `gangctl` is the
same program. If kubectl completes words in your shell, it completes those of `kubectl gang` too, names of sets,
gangs, pods and cliques included. For `gangctl`, run `gangctl --install-completion`.

Every verb prints colours on a terminal and plain text elsewhere, and a report with `-o json` or `-o yaml`. On a
narrow terminal the reasons are below the table. Names and commands are never broken, so you can copy them.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | waiting; it may pass by itself |
| 2 | requires manual action |
| 3 | error: wrong arguments, no such object, no connection |

In JSON and YAML `verdict` is one of the first three numbers. Free capacity is an estimate from requests, node
selectors, taints and required topology levels. It is `unknown` if you may not list nodes and the pods of all
namespaces. With rights in one namespace, all verbs work there but `backends` and `topology`, which are about the
whole cluster; `doctor` names each right that you lack, and who can give it.

Where Grove's own operator manages the gangs, there are no backends; `status`, `why`, `tree`,
`topology`, `scale` and `logs` work with the facts that it stores.

A verb reads one list per kind. `make bench-cli` measures the verbs in a cluster with 10,000 pods; the target is
2 s on an idle machine with two cores.
"""


def render() -> str:
    """Return the page."""
    return "\n".join((_HEAD, *(_section(words, callback) for words, callback in _commands())))


def _commands() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield every command with its words, those of groups included."""
    for command in app.registered_commands:
        assert command.callback is not None
        yield command.name or command.callback.__name__, command.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            assert command.callback is not None
            yield f"{group.name} {command.name}", command.callback


def _section(words: str, callback: Callable[..., object]) -> str:
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command(words.rsplit(" ", maxsplit=1)[-1])(callback)
    found = typer.main.get_command(single)
    with found.make_context(f"kubectl gang {words}", [], resilient_parsing=True) as context:
        context.max_content_width = context.terminal_width = 100
        usage = found.get_help(context)
    shown = "".join(
        f"\n```\n$ kubectl gang {example.line}\n{example.printed()}```\n"
        for example in EXAMPLES
        if f"{example.line} ".startswith(f"{words} ")
    )
    return f"## {words}\n\n```\n{usage.rstrip()}\n```\n{shown}"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, render(), "tests.docs.cli_page"))
