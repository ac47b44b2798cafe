"""The pinned tools of npm that bundle and check the page: esbuild, types and accessibility.

They are installed into `build/` once per version. Where there is no npm, or no network, `NotAvailableError`
has the reason, with which tests skip.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.dashboard.browser import REQUIRED

PINS = Path(__file__).parent / "npm"
_BUILD = Path(__file__).parents[2] / "build" / "npm"


class NotAvailableError(Exception):
    """The tools cannot be installed here."""


def required() -> Path:
    """Return the folder of the installed packages; skip the test if there is none."""
    try:
        return installed()
    except NotAvailableError as error:
        if os.environ.get(REQUIRED) and shutil.which("npm") is not None:
            pytest.fail(str(error))
        pytest.skip(str(error))


def installed() -> Path:
    """Return the folder of the installed packages."""
    lock = (PINS / "package-lock.json").read_bytes()
    folder = _BUILD / hashlib.sha256(lock).hexdigest()[:12]
    if not (folder / "done").exists():
        _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise NotAvailableError("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    for path in PINS.glob("package*.json"):
        shutil.copy(path, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAvailableError(f"npm ci failed: {done.stderr[-400:]}")
    (folder / "done").touch()
