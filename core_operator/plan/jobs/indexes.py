"""Sets of indexes as text, as in the status of a Job: `0-2,5`.

A status may hold any text, because others can write it. So reading is bounded, and ignores what is
no index.
"""

import re
from collections.abc import Iterable, Iterator

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def to_text(indexes: Iterable[int]) -> str:
    """Return the indexes as text, in order."""
    return ",".join(
        f"{first}" if first == last else f"{first}-{last}" for first, last in _ranges(indexes)
    )


def from_text(text: str | None, size: int) -> frozenset[int]:
    """Return the indexes below `size` that a text names."""
    found: set[int] = set()
    for part in (text or "").split(","):
        matched = _RANGE.fullmatch(part)
        if matched is not None:
            first = int(matched[1])
            last = first if matched[2] is None else int(matched[2])
            found.update(range(first, min(last + 1, size)))
    return frozenset(found)


def _ranges(indexes: Iterable[int]) -> Iterator[tuple[int, int]]:
    start = end = None
    for index in sorted(set(indexes)):
        if start is None or end is None:
            start = end = index
        elif index == end + 1:
            end = index
        else:
            yield start, end
            start = end = index
    if start is not None and end is not None:
        yield start, end
