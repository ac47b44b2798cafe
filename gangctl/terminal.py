"""Prints views with colours, on a terminal only.

It owns everything that needs the terminal library. `rendering` prints the same content as plain text and
must not import this module: the library takes a third of the start time of a verb.
"""

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from gangctl.rendering import GAP
from gangctl.reports.view import Branch, Grid, Line, Verdict, View

__all__ = ["Console", "Live", "Text", "renderable"]

_COLOURS = {Verdict.FINE: "green", Verdict.WAITING: "yellow", Verdict.MANUAL_ACTION: "red"}


def renderable(view: View) -> RenderableType:
    """Return what a rich console prints for a view."""
    return Group(*(_block(block) for block in view))


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
    table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for heading in grid.headings:
        table.add_column(heading, overflow="fold")
    for place, row in enumerate(grid.rows):
        verdict = grid.verdicts[place] if grid.verdicts else None
        first, *rest = row
        table.add_row(Text(first, style=_style(verdict)), *map(Text, rest))
    return table
