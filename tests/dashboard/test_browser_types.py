"""The modules of the page have no type errors, and the pins of the tools name no registry."""

import json
import subprocess

import pytest

from tests.dashboard.toolchain import PINS, required


@pytest.mark.browser
def test_the_types_of_all_modules_are_right() -> None:
    compiler = required() / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        ["node", compiler, "--project", PINS], capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""


def test_the_lock_pins_by_hash_and_names_no_registry() -> None:
    text = (PINS / "package-lock.json").read_text()
    packages = [found for name, found in json.loads(text)["packages"].items() if name]
    assert packages
    assert all(found["integrity"].startswith("sha512-") for found in packages)
    assert "resolved" not in text
    assert "http" not in text
