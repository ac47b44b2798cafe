"""Durations as the API spells them: `90s`, `1h30m`, `250ms`."""

import functools
import re
from datetime import UTC, datetime, timedelta

_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = timedelta(days=3650)
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9000, 1, 1, tzinfo=UTC)


@functools.lru_cache(maxsize=256)
def duration(text: str) -> timedelta:
    """The duration; at most ten years, so that adding it to a date gives one."""
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return min(timedelta(seconds=min(seconds, _LONGEST.total_seconds())), _LONGEST)


def after(moment: datetime, by: timedelta) -> datetime:
    """The moment so much later; a status may state moments to which nothing can be added."""
    return min(max(moment, _FIRST), _LAST) + by
