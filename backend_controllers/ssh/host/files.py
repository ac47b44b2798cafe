"""Files that are read and written as a whole, and a clock that no setting of the time changes."""

import json
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def now() -> float:
    """Return the seconds since this host started; no clock setting changes it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def write(path: Path, value: Json) -> None:
    """Replace a file as a whole."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(value))
    new.rename(path)


def read(path: Path) -> Json:
    """Return the content of a file, or nothing if it does not exist or is damaged."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
