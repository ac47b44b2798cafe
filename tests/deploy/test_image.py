"""The image: what goes into it is locked and listed, and it runs where it can be built."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "deploy" / "image"
LOCK = ROOT / "requirements-runtime.lock"
PROGRAMS = ("core_operator", "backend_controllers", "all_in_one")


def _python(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def _pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock.read_text(), re.MULTILINE))


def test_the_runtime_lock_is_what_the_lock_says_of_the_products_own_dependencies() -> None:
    code = "import runtime_lock, sys; sys.stdout.write(runtime_lock.runtime_lock())"
    path = f"import sys; sys.path.insert(0, {str(IMAGE)!r}); {code}"
    again = "write requirements-runtime.lock anew: python deploy/image/runtime_lock.py"
    assert _python("-c", path) == LOCK.read_text(), again
    assert _pins(LOCK).items() <= _pins(ROOT / "requirements.lock").items()
    assert not {"pytest", "mypy", "ruff", "cryptography"} & _pins(LOCK).keys()


def test_the_bill_of_materials_lists_the_lock_with_licences_and_hashes() -> None:
    text = _python(str(IMAGE / "sbom.py"), LOCK.name)
    bill = json.loads(text)
    assert {c["name"]: c["version"] for c in bill["components"]} == _pins(LOCK)
    assert all(part["externalReferences"][0]["hashes"] for part in bill["components"])
    assert all(part["licenses"] for part in bill["components"])
    known = {part["bom-ref"] for part in bill["components"]}
    product, *others = bill["dependencies"]
    assert product["ref"] == bill["metadata"]["component"]["bom-ref"]
    assert "aiohttp" in " ".join(product["dependsOn"])
    assert all(set(entry["dependsOn"]) <= known for entry in (product, *others))
    assert _python(str(IMAGE / "sbom.py"), LOCK.name) == text, "the same lock, the same bill"


@pytest.mark.parametrize("program", [*PROGRAMS, "local_cluster"])
def test_every_program_tells_its_version(program: str) -> None:
    assert _python("-m", program, "--version").strip() == metadata.version("podgang")


def test_every_package_of_the_wheel_reaches_the_image() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    steps = (ROOT / "Containerfile").read_text().splitlines()
    for ignored in (".containerignore", ".dockerignore"):
        included = (ROOT / ignored).read_text().splitlines()
        for package in packages:
            assert f"COPY {package} {package}" in steps
            assert f"!{package}" in included


def test_nothing_is_installed_without_its_hash_and_nothing_runs_as_root() -> None:
    text = (ROOT / "Containerfile").read_text()
    installs = [line for line in text.splitlines() if re.search(r"pip install", line)]
    assert installs
    # The one exception is the product's own wheel, which the stage has just built.
    assert all("--require-hashes" in line or "/dist/" in line for line in installs)
    last = text.rsplit("FROM ", 1)[1]
    assert "pip" not in last
    assert "USER 65532:65532" in last


@pytest.fixture(scope="module")
def image() -> str:
    """The image, built by whatever engine there is."""
    engine = _engine()
    tag = "podgang:test"
    done = subprocess.run(
        [engine, "build", "--file", "Containerfile", "--tag", tag, "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and _is_offline(done.stderr):
        pytest.skip(f"the base image is not available: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return tag


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_image_runs_every_program(image: str, program: str) -> None:
    words = ("run", "--rm", "--read-only", "--network=none", image, "python", "-m", program)
    done = subprocess.run(
        [_engine(), *words, "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == metadata.version("podgang"), done.stderr


def _engine() -> str:
    """A container engine that answers; else the test is skipped with what it says."""
    reasons = []
    for name in ("podman", "docker"):
        if (program := shutil.which(name)) is None:
            reasons.append(f"no {name}")
            continue
        done = subprocess.run([program, "info"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return program
        reasons.append(f"{name}: {(done.stderr.strip() or 'no answer').splitlines()[-1]}")
    pytest.skip("; ".join(reasons))


def _is_offline(words: str) -> bool:
    told = ("no such host", "timeout", "connection refused", "network is unreachable", "denied")
    return any(text in words.lower() for text in told)
