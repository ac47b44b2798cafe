"""Figures, their targets, and the printed table."""

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path("build") / "bench-runtime.json"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number; `target` is what it must not exceed, if there is such a thing."""

    figure: str
    value: float
    unit: str
    target: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "MISSED"


def compare(
    name: str, unit: str, values: dict[str, float], target: float | None = None
) -> list[Figure]:
    """Our figure, which is the first, the others', and each of those as a multiple of ours."""
    (_, ours), *others = values.items()
    rows = [Figure(name, ours, unit, target)]
    for other, value in others:
        rows += [
            Figure(f"{name}: {other}", value, unit),
            Figure(f"{name}: {other} / ours", value / ours, "x"),
        ]
    return rows


Work = Callable[[], Awaitable[int]]
"""Something to measure; it returns how many things it has done."""


async def cpu(works: dict[str, Work], rounds: int = 5) -> dict[str, float]:
    """Microseconds of this process's CPU for one thing of each kind of work, at best.

    The kinds take turns, so that a machine which is busy for a while slows them all.
    """
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            began = time.process_time()
            count = await work()
            best[name] = min(best[name], (time.process_time() - began) / count * 1e6)
    return best


def render(figures: list[Figure]) -> str:
    """The table."""
    width = max(len(figure.figure) for figure in figures)
    lines = [f"{'figure':<{width}}  {'value':>10}  {'unit':<10} {'target':>8}"]
    for row in figures:
        target = "" if row.target is None else f"<= {row.target:g}"
        lines.append(
            f"{row.figure:<{width}}  {row.value:>10.2f}  {row.unit:<10} {target:>8} {row.verdict}"
        )
    return "\n".join(lines)


def write(figures: list[Figure], path: Path = RESULTS) -> None:
    """Write the figures to a file, so that runs can be compared."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"figure": row.figure, "value": row.value, "unit": row.unit, "target": row.target}
        for row in figures
    ]
    path.write_text(json.dumps(rows, indent=1) + "\n")
