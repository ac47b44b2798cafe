"""Writes the locks of the image: the part of requirements.lock that it needs, with the hashes.

requirements-runtime.lock has what the image runs, build.lock what builds the product's package.

Run `python deploy/image/runtime_lock.py` in the development environment: the dependencies are read
from its installed metadata. Nothing is resolved here. Every line comes from the lock, so an image
runs exactly the versions that the tests ran with.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
RUNTIME = ROOT / "requirements-runtime.lock"
BUILD = ROOT / "deploy" / "image" / "build.lock"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def entries(lock: str) -> dict[str, str]:
    """The entries of a lock by the name of the package, each with its hashes."""
    found: dict[str, str] = {}
    for entry in re.split(r"^(?=\S)", lock, flags=re.MULTILINE):
        if entry and not entry.startswith("#"):
            name = re.split(r"[=\[ ;]", entry, maxsplit=1)[0]
            found[canonicalize_name(name)] = entry
    return found


def closure(texts: Iterable[str]) -> set[str]:
    """Names of all packages that these requirements lead to, on Linux."""
    open_, seen = [Requirement(text) for text in texts], set[str]()
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


def locks() -> dict[Path, str]:
    """The text of each smaller lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    locked = entries(LOCK.read_text())
    wanted = {
        RUNTIME: project["project"]["dependencies"],
        BUILD: project["build-system"]["requires"],
    }
    return {
        target: "".join(locked[name] for name in sorted(closure(texts) & locked.keys()))
        for target, texts in wanted.items()
    }


if __name__ == "__main__":
    for target, text in locks().items():
        target.write_text(text)
        sys.stdout.write(f"{target.name}: {len(entries(text))} packages\n")
