"""Durations as Go and the Kubernetes API write them: `90s`, `1h30m`, `250ms`."""

import functools
import re
from datetime import UTC, datetime, timedelta

PATTERN = r"([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+"
"""What the API admits: no sign, no spaces, and at least one part."""

_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)", re.ASCII)
_WHOLE = re.compile(PATTERN)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = timedelta(days=3650)
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9000, 1, 1, tzinfo=UTC)


@functools.lru_cache(maxsize=256)
def duration_of(text: str) -> timedelta | None:
    """Return the duration; None if the text is none.

    It is at most ten years, so that adding it to a date gives a date.
    """
    if _WHOLE.fullmatch(text) is None:
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return timedelta(seconds=min(seconds, _LONGEST.total_seconds()))


def after(moment: datetime, by: timedelta) -> datetime:
    """Return the moment so much later; a status may hold moments to which nothing can be added."""
    return min(max(moment, _FIRST), _LAST) + by
