"""Prints views and reports: colours on a terminal, plain text elsewhere, JSON and YAML on request.

It owns how a view becomes text. Plain text has the same content as the terminal, unwrapped and
without trailing spaces, so that other programs can read it.
"""

import io
from enum import StrEnum

import msgspec
import yaml
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from gangctl.reports.view import Branch, Grid, Line, Verdict, View

_COLOURS = {Verdict.FINE: "green", Verdict.WAITING: "yellow", Verdict.MANUAL_ACTION: "red"}
# Wider than any line: plain text is never wrapped.
_UNLIMITED = 10_000
_GAP = "   "


class OutputFormat(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def encoded(report: msgspec.Struct, output: OutputFormat) -> str:
    """Return a report as JSON or YAML."""
    if output is OutputFormat.JSON:
        return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
    return yaml.safe_dump(msgspec.to_builtins(report), sort_keys=False, allow_unicode=True)


def renderable(view: View) -> RenderableType:
    """Return what a rich console prints for a view."""
    return Group(*(_block(block) for block in view))


def plain(view: View) -> str:
    """Return a view as text without colours."""
    return "".join(_columns(part) if isinstance(part, Grid) else _printed(part) for part in view)


def _printed(block: Line | Branch) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=_UNLIMITED, color_system=None, force_terminal=False)
    console.print(_block(block))
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def _columns(grid: Grid) -> str:
    """Return a table as text. The library's own layout takes seconds for thousands of rows."""
    rows = [grid.headings, *grid.rows]
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    lines = (
        _GAP.join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _style(verdict: Verdict | None) -> str:
    return _COLOURS.get(verdict, "") if verdict is not None else ""


def _block(block: Line | Grid | Branch) -> RenderableType:
    match block:
        case Line():
            return Text(block.text, style=_style(block.verdict))
        case Grid():
            return _table(block)
        case Branch():
            tree = Tree(Text(block.text, style=_style(block.verdict)))
            for child in block.children:
                _grow(tree, child)
            return tree


def _grow(tree: Tree, branch: Branch) -> None:
    grown = tree.add(Text(branch.text, style=_style(branch.verdict)))
    for child in branch.children:
        _grow(grown, child)


def _table(grid: Grid) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for heading in grid.headings:
        table.add_column(heading, overflow="fold")
    for place, row in enumerate(grid.rows):
        verdict = grid.verdicts[place] if grid.verdicts else None
        first, *rest = row
        table.add_row(Text(first, style=_style(verdict)), *map(Text, rest))
    return table
