"""The image: what goes into it is locked and listed, and it runs where it can be built."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from deploy.image.rootfs import UNUSED_PACKAGES

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "deploy" / "image"
LOCK = ROOT / "requirements-runtime.lock"
BUILD_LOCK = IMAGE / "build.lock"
PROGRAMS = ("core_operator", "backend_controllers", "all_in_one")


def _python(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def _pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock.read_text(), re.MULTILINE))


def test_the_locks_of_the_image_are_parts_of_the_lock() -> None:
    code = "import json, runtime_lock; print(json.dumps([*runtime_lock.locks().values()]))"
    texts = json.loads(_python("-c", f"import sys; sys.path.insert(0, {str(IMAGE)!r}); {code}"))
    again = "write them again: python deploy/image/runtime_lock.py"
    assert texts == [LOCK.read_text(), BUILD_LOCK.read_text()], again
    for lock in (LOCK, BUILD_LOCK):
        assert _pins(lock).items() <= _pins(ROOT / "requirements.lock").items()
    assert not {"pytest", "mypy", "ruff", "hypothesis"} & _pins(LOCK).keys()
    assert "hatchling" in _pins(BUILD_LOCK)


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


def test_the_bill_of_materials_lists_the_packages_of_the_base(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    packages = [
        {"name": "cpython", "version": "3.11.2", "type": "generic"},
        {"name": "libc6", "version": "2.36-9", "architecture": "amd64", "type": "deb"},
    ]
    base.write_text(json.dumps(packages))
    bill = json.loads(_python(str(IMAGE / "sbom.py"), LOCK.name, str(base)))
    assert [part["purl"] for part in bill["components"][-2:]] == [
        "pkg:generic/cpython@3.11.2",
        "pkg:deb/debian/libc6@2.36-9?arch=amd64",
    ]


@pytest.mark.parametrize("program", [*PROGRAMS, "local_cluster"])
def test_every_program_reports_its_version(program: str) -> None:
    assert _python("-m", program, "--version").strip() == metadata.version("podgang")


def test_every_package_that_runs_in_a_cluster_reaches_the_image() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    packages -= {"gangctl", "local_cluster"}
    steps = (ROOT / "Containerfile").read_text().splitlines()
    for ignored in (".containerignore", ".dockerignore"):
        included = (ROOT / ignored).read_text().splitlines()
        for package in packages:
            assert f"COPY {package} {package}" in steps
            assert f"!{package}" in included


def test_no_program_imports_what_the_image_leaves_out() -> None:
    refuse = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        assert not name.startswith({UNUSED_PACKAGES!r}), name
sys.meta_path.insert(0, Refuse())
import all_in_one.__main__, backend_controllers.__main__, core_operator.__main__, shared_api.kube.loaders
"""
    _python("-c", refuse)


def test_the_image_has_the_version_of_the_product() -> None:
    assert f"ARG VERSION={metadata.version('podgang')}\n" in (ROOT / "Containerfile").read_text()


def test_nothing_is_installed_without_its_hash_and_nothing_runs_as_root() -> None:
    text = (ROOT / "Containerfile").read_text()
    installs = [line for line in text.splitlines() if re.search(r"pip install", line)]
    assert installs
    # The one exception is the product's own wheel, which the stage has just built.
    assert all("--require-hashes" in line or "/dist/" in line for line in installs)
    last = text.rsplit("FROM ", 1)[1]
    assert last.startswith("scratch")
    assert "pip" not in last
    assert "USER 65532:65532" in last
