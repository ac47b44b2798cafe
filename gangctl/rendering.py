"""Prints views and reports as plain text, and as JSON and YAML on request.

It owns how a view becomes text. Plain text has the same content as the terminal (`terminal`), unwrapped
and without trailing spaces, so that other programs can read it.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec
from rich.cells import cell_len

from gangctl.reports.view import Branch, Grid, Line, View

GAP = "   "
"""What is between two columns."""


class OutputFormat(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def encoded(report: msgspec.Struct, output: OutputFormat) -> str:
    """Return a report as JSON or YAML."""
    if output is OutputFormat.JSON:
        return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
    # Imported here: most verbs print no YAML.
    import yaml

    found: str = yaml.safe_dump(msgspec.to_builtins(report), sort_keys=False, allow_unicode=True)
    return found


def plain(view: View) -> str:
    """Return a view as text without colours."""
    return "".join(f"{line.rstrip()}\n" for block in view for line in _lines(block))


def _lines(block: Line | Grid | Branch) -> Iterator[str]:
    match block:
        case Line():
            yield from block.text.splitlines() or ("",)
        case Grid():
            yield from _columns(block)
        case Branch():
            yield block.text
            yield from _below(block.children, "")


def _below(branches: Sequence[Branch], indent: str) -> Iterator[str]:
    for place, branch in enumerate(branches, 1):
        is_last = place == len(branches)
        yield f"{indent}{'└── ' if is_last else '├── '}{branch.text}"
        yield from _below(branch.children, f"{indent}{'    ' if is_last else '│   '}")


def _columns(grid: Grid) -> Iterator[str]:
    rows = [grid.headings, *grid.rows]
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        yield GAP.join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        )
