"""Finding what a cluster has running, by what the system says rather than by its own word."""

import socket
import time
from pathlib import Path


def processes_of(directory: Path) -> set[int]:
    """Processes whose command line names something in the directory."""
    wanted = str(directory).encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def gone(directory: Path, seconds: float = 20) -> bool:
    """Wait until no process of the cluster is left; the kernel sends no event to a stranger."""
    deadline = time.monotonic() + seconds
    while processes_of(directory) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes_of(directory)


def listening(port: int) -> bool:
    """Tell whether anything listens on a loopback port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
