"""Debian 13 in a directory, for a newer Slurm than this machine's own.

It is made once by debootstrap and kept beside the builds of the local cluster. Every program gets a mount
namespace of its own, in which the directory is the root, so nothing stays mounted when a program ends.
"""

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from local_cluster.container_node.machine import require, why_not
from local_cluster.places import builds_directory

_RELEASE = "trixie"
_PROGRAMS = {"debootstrap": "debootstrap", "unshare": "util-linux"}
_PACKAGES = (
    "slurmctld,slurmd,slurm-client,slurmrestd,slurmdbd,munge,slurm-wlm-basic-plugins"
    ",slurm-wlm-jwt-plugin,slurm-wlm-mysql-plugin"
)
_INSIDE = """\
for path in /proc /dev /sys /var/tmp; do mount --rbind "$path" "$0$path" || exit 71; done
exec chroot "$0" "$@"
"""


def no_chroot() -> str:
    """Return why no such directory can be made here; empty if one can."""
    return why_not(_PROGRAMS)


def debian() -> Path:
    """Return the directory; making it takes about a minute."""
    require(_PROGRAMS, print)
    root = builds_directory() / f"slurm-{_RELEASE}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_suffix(".lock").open("w") as lock:
        # Another run of the tests may be making it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            unfinished = root.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}"]
            done = subprocess.run(
                [*command, _RELEASE, str(unfinished)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"debootstrap: {done.stdout[-500:]}")
            # The programs find each other by the name of this machine.
            shutil.copy("/etc/hosts", unfinished / "etc/hosts")
            unfinished.rename(root)
    return root


def inside(root: Path, command: Sequence[str]) -> list[str]:
    """Return a command as it is run below a root; temporary files are where they are outside."""
    return ["unshare", "--mount", "sh", "-c", _INSIDE, str(root), *command]
