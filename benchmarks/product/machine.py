"""Measures how much of the machine other programs used during a measurement.

A ratio of two runs means little if other programs were busy during one of them. The CPU of this
process and its descendants is ours. All other busy time, and time given to another virtual machine,
is that of others.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.product.measures import cpu_ticks

_IDLE = (3, 4)
"""Places of idle and waiting time in the first line of /proc/stat."""
_GUESTS = 8
"""From here on time is counted that is in earlier places too."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Clock ticks since the machine started."""

    total: int
    busy: int
    ours: int


def usage() -> Usage:
    """What has been used so far."""
    line = Path("/proc/stat").read_text().splitlines()[0]
    ticks = [int(field) for field in line.split()[1:]][:_GUESTS]
    idle = sum(ticks[place] for place in _IDLE)
    return Usage(sum(ticks), sum(ticks) - idle, of_tree(_processes(), os.getpid()))


def others_share(before: Usage, after: Usage) -> float:
    """The share of other programs in between, from 0 to 1."""
    busy, ours = after.busy - before.busy, after.ours - before.ours
    return max(0.0, (busy - ours) / max(1, after.total - before.total))


@dataclass(frozen=True, slots=True)
class Phases:
    """The share of other programs by phase. Each phase is printed when it ends."""

    others: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Look at the machine while the block lasts.

        No process of ours may end meanwhile: what it used would count as the others'.
        """
        before, began = usage(), time.monotonic()
        yield
        share = self.others[name] = others_share(before, usage())
        seconds = time.monotonic() - began
        sys.stderr.write(f"{name}: {seconds:.1f} s, others had {share:.0%} of the machine\n")


def _processes() -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "stat").read_text()
            except OSError:
                continue  # it has ended
    return found


def of_tree(stats: Mapping[int, str], root: int) -> int:
    """Ticks of a process and all its descendants, given each /proc/PID/stat."""
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(parent(stat), []).append(pid)
    return sum(cpu_ticks(stats[pid]) for pid in _descendants(children, root) if pid in stats)


def parent(stat: str) -> int:
    """The parent's number in /proc/PID/stat."""
    return int(stat.rsplit(")", 1)[1].split()[1])


def _descendants(children: Mapping[int, list[int]], root: int) -> Iterable[int]:
    yield root
    for child in children.get(root, ()):
        yield from _descendants(children, child)
