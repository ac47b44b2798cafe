"""Writes requirements-runtime.lock: of requirements.lock, what the image needs, with its hashes.

`python deploy/image/runtime_lock.py` in the development environment, whose installed metadata
says what depends on what. Nothing is resolved here: every line comes from the lock, so an image
runs exactly the versions that the tests ran with.
"""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
TARGET = ROOT / "requirements-runtime.lock"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def entries(lock: str) -> dict[str, str]:
    """The entries of a lock by the name of the package, each with its hashes."""
    found: dict[str, str] = {}
    for entry in re.split(r"^(?=\S)", lock, flags=re.MULTILINE):
        if entry and not entry.startswith("#"):
            name = re.split(r"[=\[ ;]", entry, maxsplit=1)[0]
            found[canonicalize_name(name)] = entry
    return found


def closure() -> set[str]:
    """Names of all packages that the product's own dependencies lead to, on Linux."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    open_, seen = [Requirement(text) for text in project["dependencies"]], set[str]()
    while open_:
        requirement = open_.pop()
        name = canonicalize_name(requirement.name)
        if name not in seen:
            seen.add(name)
            open_ += _wanted_by(name, requirement.extras)
    return seen


def _wanted_by(name: str, extras: set[str]) -> list[Requirement]:
    try:
        texts = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        # It is for another Python than this one, and had no dependencies when it was locked.
        return []
    wanted = map(Requirement, texts)
    return [found for found in wanted if found.marker is None or _holds(found.marker, extras)]


def _holds(marker: Marker, extras: set[str]) -> bool:
    return any(
        marker.evaluate(
            {
                "extra": extra,
                "python_version": python,
                "python_full_version": f"{python}.0",
                "sys_platform": "linux",
                "platform_system": "Linux",
                "platform_python_implementation": "CPython",
                "implementation_name": "cpython",
            }
        )
        for python in PYTHONS
        for extra in (extras or {""})
    )


def runtime_lock() -> str:
    """The text of the smaller lock."""
    locked = entries(LOCK.read_text())
    return "".join(locked[name] for name in sorted(closure() & locked.keys()))


if __name__ == "__main__":
    TARGET.write_text(runtime_lock())
    sys.stdout.write(f"{TARGET.name}: {len(entries(TARGET.read_text()))} packages\n")
