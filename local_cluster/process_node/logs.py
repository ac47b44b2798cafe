"""Where the output of containers goes on disk.

One file per container run and one for the run before it; the files stay when the pod is
deleted, because that is when people ask for them.
"""

from pathlib import Path

TAIL_BYTES = 2048


def log_file(root: Path, namespace: str, pod: str, uid: str, container: str) -> Path:
    """The output of a container's current (or last) run; `.1` is appended for the run before."""
    return root / "logs" / f"{namespace}_{pod}_{uid}" / f"{container}.log"


def previous_log_file(current: Path) -> Path:
    """The output of the run before."""
    return current.with_name(current.name + ".1")


def rotate(current: Path) -> Path:
    """Rotate the log for a new run; return the file to write to."""
    current.parent.mkdir(parents=True, exist_ok=True)
    if current.exists():
        current.replace(previous_log_file(current))
    return current


def tail(current: Path) -> str:
    """The end of a log, as the message of a container that asked for it."""
    with current.open("rb") as log:
        log.seek(max(0, current.stat().st_size - TAIL_BYTES))
        return log.read().decode(errors="replace")
