"""What a report looks like, independent of a terminal: blocks of lines, tables and trees.

It owns the vocabulary between reports and renderers, and how ages and amounts are written. It
must not import a terminal library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from fractions import Fraction

from shared_api.kube.pod_resources import Sums


class Verdict(IntEnum):
    """How things are; the value is the exit code."""

    FINE = 0
    WAITING = 1
    MANUAL_ACTION = 2
    ERROR = 3


@dataclass(frozen=True)
class Line:
    """One line of text."""

    text: str
    verdict: Verdict | None = None
    """Colours the line."""


@dataclass(frozen=True)
class Grid:
    """A table; a row has as many cells as there are headings."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdicts: Sequence[Verdict | None] = ()
    """Colour of each row."""
    keys: int = 1
    """How many columns on the left name a row."""


@dataclass(frozen=True)
class Branch:
    """A node of a tree."""

    text: str
    children: Sequence["Branch"] = ()
    verdict: Verdict | None = None


View = Sequence[Line | Grid | Branch]


def age(since: str, now: datetime) -> str:
    """Return the time since a timestamp as kubectl writes it: 42s, 4m12s, 3h5m, 2d."""
    if not since:
        return ""
    return span(max(0, int((now - datetime.fromisoformat(since)).total_seconds())))


def span(seconds: int) -> str:
    """Return a duration as kubectl writes it."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 2:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{days}d"


def gpus(sums: Sums) -> Fraction:
    """Return the number of GPUs of all vendors among requests."""
    return sum((n for name, n in sums.items() if name.endswith("/gpu")), Fraction(0))


def queue_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return the queue that a workload names; schedulers use different domains for the key."""
    for keys in (labels, annotations):
        for key, value in sorted(keys.items()):
            if key.endswith(("/queue", "/queue-name")):
                return value
    return ""
