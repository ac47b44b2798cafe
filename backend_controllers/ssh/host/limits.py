"""Limits of CPU, memory and processes by control groups, version 1 or 2."""

import contextlib
import os
import signal
from pathlib import Path

_MOST_PROCESSES = 16384
_CGROUPS = Path("/sys/fs/cgroup")


class Limits:
    """The control groups of one unit, version 1 or 2."""

    def __init__(self, name: str) -> None:
        self._is_v2 = (_CGROUPS / "cgroup.controllers").exists()
        kinds = ("",) if self._is_v2 else ("memory", "cpu", "pids")
        self._paths = {kind: _CGROUPS / kind / "podgang" / name for kind in kinds}

    def create(self, cpu: int, memory: int) -> None:
        """Make the groups; OSError if limits cannot be enforced on this host."""
        for path in self._paths.values():
            path.mkdir(parents=True, exist_ok=True)
            if self._is_v2:
                for parent in (_CGROUPS, path.parent):
                    (parent / "cgroup.subtree_control").write_text("+memory +cpu +pids")
        if self._is_v2:
            path = self._paths[""]
            (path / "cpu.max").write_text(f"{cpu * 100} 100000" if cpu else "max 100000")
            (path / "memory.max").write_text(str(memory or "max"))
            (path / "pids.max").write_text(str(_MOST_PROCESSES))
            return
        quota = cpu * 100 if cpu else -1
        (self._paths["cpu"] / "cpu.cfs_quota_us").write_text(str(quota))
        (self._paths["memory"] / "memory.limit_in_bytes").write_text(str(memory or -1))
        (self._paths["pids"] / "pids.max").write_text(str(_MOST_PROCESSES))

    def enter(self) -> None:
        """Put this process and its children under the limits."""
        for path in self._paths.values():
            (path / "cgroup.procs").write_text("0")

    def was_exceeded(self) -> bool:
        """Tell whether the kernel ended a process for its memory."""
        name, kind = ("memory.events", "") if self._is_v2 else ("memory.oom_control", "memory")
        fields = [line.split() for line in (self._paths[kind] / name).read_text().splitlines()]
        return any(found[0] == "oom_kill" and found[1] != "0" for found in fields)

    def remove(self) -> None:
        """End what is left in the groups, and remove them."""
        for path in self._paths.values():
            with contextlib.suppress(OSError):
                for pid in (path / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
                path.rmdir()
