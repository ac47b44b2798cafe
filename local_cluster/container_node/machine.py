"""What this machine must have for containers: root's rights and a few programs of Debian.

As root on Debian, missing packages are installed. Elsewhere the error names the programs.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from local_cluster.errors import ClusterError

NODE_PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "unshare": "util-linux",
    "busybox": "busybox-static",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
}
"""Programs of the node, and the Debian packages that have them."""
BUILD_PROGRAMS = {"dockerd": "docker.io", "docker": "docker.io", "debootstrap": "debootstrap"}
"""Programs that build an image where no base image can be pulled."""
_APT = "apt-get"
_LOCK_SECONDS = 300
_SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")

Say = Callable[[str], None]


def why_not(programs: dict[str, str] = NODE_PROGRAMS) -> str:
    """Return why this machine cannot run containers, or nothing if it can."""
    if os.geteuid() != 0:
        return "a node that runs containers needs root's rights"
    missing = _missing(programs)
    if missing and shutil.which(_APT) is None:
        return f"{', '.join(missing)} not found, and this machine has no {_APT}"
    return ""


def require(programs: dict[str, str], say: Say) -> None:
    """Install what is missing, or raise an error that names it."""
    if reason := why_not(programs):
        raise ClusterError(
            reason, "Run it as root on Debian, which installs the programs, or leave it out"
        )
    if missing := _missing(programs):
        _install(sorted({programs[name] for name in missing}), say)
    if missing := _missing(programs):
        raise ClusterError(
            f"{', '.join(missing)} not found after the installation of its package",
            "Install it by hand",
        )


def path_with_system_programs() -> str:
    """Return PATH with the directories of programs that only root uses."""
    given = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*given, *(path for path in _SYSTEM_PATHS if path not in given)])


def _missing(programs: Iterable[str]) -> list[str]:
    path = path_with_system_programs()
    return [
        name
        for name in programs
        if not (Path(name).exists() if name.startswith("/") else shutil.which(name, path=path))
    ]


def _install(packages: list[str], say: Say) -> None:
    say(f"installing {', '.join(packages)} with {_APT} ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Another process may be installing something at the moment.
    waiting = ("-o", f"DPkg::Lock::Timeout={_LOCK_SECONDS}")
    install = [_APT, *waiting, "install", "--yes", "--no-install-recommends", *packages]
    # An outdated list of packages may still be good enough.
    for command, must_succeed in (([_APT, *waiting, "update"], False), (install, True)):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 and must_succeed:
            raise ClusterError(
                f"{' '.join(command)} failed", "Install the packages by hand", details=done.stderr
            )
