"""The page of the command line, generated from the commands and from the reports of a scene.

`python -m tests.docs.cli_page` writes it, with `--check` it fails if it is stale. The examples are
what the reports print for `tests/gangctl/scene.py`, so an example cannot differ from the program.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from gangctl.commands.application import app
from gangctl.rendering import plain
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.status import status_report, status_view
from gangctl.reports.tree import tree_report, tree_view
from gangctl.reports.why import why_report, why_view
from tests.docs.pages import write_or_check
from tests.gangctl.scene import snapshot

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

_HEAD = """\
# Command line: kubectl gang

After reading this page you can find out from the command line why a gang waits. `kubectl gang` reads with
your own rights and needs nothing in the cluster. This page is generated from the commands.

Install it with `pip install '.[cli]'` in a clone. kubectl finds `kubectl-gang` on the PATH; `gangctl` is the
same program. `kubectl gang --install-completion` completes verbs and options in your shell.

Every verb prints colours on a terminal and plain text elsewhere, and a report with `-o json` or `-o yaml`.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | waiting; it may pass by itself |
| 2 | requires manual action |
| 3 | error: wrong arguments, no such object, no connection |

In JSON and YAML `verdict` is one of the first three numbers. Free capacity is an estimate from requests, node
selectors and taints. It is `unknown` if you may not list nodes and the pods of all namespaces.
"""


def examples() -> dict[str, tuple[str, str]]:
    """Return for each verb the arguments of an example and what it prints."""
    found = snapshot()
    why, tree = why_report(found, "default", "training"), tree_report(found, "default", "inference")
    assert why is not None
    assert tree is not None
    return {
        "status": ("", plain(status_view(status_report(found), all_namespaces=False))),
        "why": ("training", plain(why_view(why))),
        "tree": ("inference", plain(tree_view(tree))),
        "backends": ("", plain(backends_view(backends_report(found)))),
    }


def render() -> str:
    """Return the page."""
    return "\n".join((_HEAD, *_verbs()))


def _verbs() -> Iterator[str]:
    shown = examples()
    for command in app.registered_commands:
        assert command.callback is not None
        verb = command.callback.__name__
        arguments, printed = shown[verb]
        single = typer.Typer(rich_markup_mode=None, add_completion=False)
        single.command(verb)(command.callback)
        found = typer.main.get_command(single)
        with found.make_context(f"kubectl gang {verb}", [], resilient_parsing=True) as context:
            context.max_content_width = context.terminal_width = 100
            usage = found.get_help(context)
        line = f"$ kubectl gang {verb} {arguments}".rstrip()
        yield f"## {verb}\n\n```\n{usage.rstrip()}\n```\n\n```\n{line}\n{printed}```\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, render(), "tests.docs.cli_page"))
