"""Prints views with colours, on a terminal only.

It owns everything that needs the terminal library, and what happens to text that is wider than the terminal:
names and commands are never broken, so that they can be copied. `rendering` prints the same content as plain
text and must not import this module: the library takes a third of the start time of a verb.
"""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from gangctl.rendering import GAP
from gangctl.reports.view import Branch, Grid, Line, Verdict, View

__all__ = ["Console", "Live", "Text", "renderable", "show"]

_COLOURS = {Verdict.FINE: "green", Verdict.WAITING: "yellow", Verdict.MANUAL_ACTION: "red"}
_READABLE = 40
"""Columns that text needs to be read in lines."""


def show(view: View) -> None:
    """Print a view. The terminal itself breaks a line of text, so that it is copied as one line."""
    console = Console()
    console.print(renderable(view, console.width), crop=False)


def renderable(view: View, width: int) -> RenderableType:
    """Return what a rich console of this width prints for a view."""
    return Group(*(part for block in view for part in _parts(block, width)))


def _style(verdict: Verdict | None) -> str:
    return _COLOURS.get(verdict, "") if verdict is not None else ""


def _parts(block: Line | Grid | Branch, width: int) -> Iterator[RenderableType]:
    match block:
        case Line():
            yield _unbroken(block.text, block.verdict)
        case Grid():
            yield from _tables(block, width)
        case Branch():
            tree = Tree(_unbroken(block.text, block.verdict))
            for child in block.children:
                _grow(tree, child)
            yield tree


def _unbroken(text: str, verdict: Verdict | None) -> Text:
    return Text(text, style=_style(verdict), no_wrap=True, overflow="ignore")


def _grow(tree: Tree, branch: Branch) -> None:
    grown = tree.add(_unbroken(branch.text, branch.verdict))
    for child in branch.children:
        _grow(grown, child)


def _tables(grid: Grid, width: int) -> Iterator[RenderableType]:
    """Yield a table; a last column of text that has no place beside the others follows below."""
    widths = [max(map(cell_len, cells)) for cells in zip(grid.headings, *grid.rows, strict=True)]
    rest = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    is_text = widths[-1] > _READABLE
    if rest + widths[-1] <= width or not is_text:
        yield _table(grid, len(widths), rest + widths[-1])
    elif width - rest >= _READABLE:
        yield _table(grid, len(widths), width)
    else:
        yield _table(grid, len(widths) - 1, rest)
        for row in grid.rows:
            if row[-1] != "-":
                name = Text(f"{'/'.join(row[: grid.keys])}: ", style="bold")
                yield Padding(name.append(row[-1], style="not bold"), (1, 0, 0, 0))


def _table(grid: Grid, columns: int, width: int) -> Table:
    """Return a table of the first columns; only the last one of the grid may have several lines."""
    padding = (0, len(GAP), 0, 0)
    table = Table(box=None, pad_edge=False, padding=padding, header_style="bold", width=width)
    for place, heading in enumerate(grid.headings[:columns]):
        is_last = place == len(grid.headings) - 1
        table.add_column(heading, no_wrap=not is_last, overflow="fold")
    for place, row in enumerate(grid.rows):
        verdict = grid.verdicts[place] if grid.verdicts else None
        first, *others = row[:columns]
        table.add_row(Text(first, style=_style(verdict)), *map(Text, others))
    return table
