"""The control group under which the kubelet puts its pods, in every mounted hierarchy.

Control groups have no namespace that removes them. So each node has one of its own, which is
removed when the cluster goes down, and before a node of the same name starts.
"""

import contextlib
import os
import time
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")
_ENDING_SECONDS = 3.0
_RETRY_SECONDS = 0.05


def cgroup_of(directory: Path) -> str:
    """Return the name of the control group of the node in this directory."""
    return f"/local-cluster-{directory.name}-{directory.stat().st_ino}"


def create(cgroup: str) -> None:
    """Create the group, which the kubelet expects to exist."""
    for hierarchy in _hierarchies():
        if (hierarchy / "cgroup.controllers").exists():
            _delegate(hierarchy)
        group = hierarchy / cgroup.lstrip("/")
        group.mkdir(exist_ok=True)
        if (group / "cgroup.controllers").exists():
            _delegate(group)


def remove(cgroup: str) -> None:
    """Remove the group and all below it, as soon as the node's processes have ended."""
    groups = [hierarchy / cgroup.lstrip("/") for hierarchy in _hierarchies()]
    ends = time.monotonic() + _ENDING_SECONDS
    while (left := [group for group in groups if group.exists()]) and time.monotonic() < ends:
        for group in left:
            for folder, _, _ in os.walk(group, topdown=False):
                # A process that is still ending keeps its group.
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        time.sleep(_RETRY_SECONDS)


def _hierarchies() -> list[Path]:
    if (_MOUNT / "cgroup.controllers").exists():
        return [_MOUNT]
    return [entry for entry in _MOUNT.iterdir() if (entry / "cgroup.procs").exists()]


def _delegate(group: Path) -> None:
    """Let groups below use the controllers (cgroup v2)."""
    for controller in (group / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):
            (group / "cgroup.subtree_control").write_text(f"+{controller}")
