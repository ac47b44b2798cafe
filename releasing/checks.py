"""What must be true before a release: one version everywhere, notes for it, and no moving tag.

Pure functions of the repository's files. Each returns complaints that name a file.
"""

import re
import tomllib
from pathlib import Path

import yaml

_MOVING = re.compile(r"image:\s*\S+:(latest|main|master)\b")
_IMAGE = re.compile(r"\bpodgang:(\d+\.\d[\w.-]*)")


def version_of(root: Path) -> str:
    """Return the version, which pyproject.toml defines."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    return found


def complaints(root: Path) -> list[str]:
    """Return everything that contradicts the version, and every tag that moves."""
    version = version_of(root)
    return [*_other_versions(root, version), *_notes(root, version), *_moving_tags(root)]


def notes_of(root: Path, version: str) -> str:
    """Return the section of CHANGELOG.md about a version."""
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(
        rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return found[1].strip() if found else ""


def earlier_versions(root: Path) -> list[str]:
    """Return the versions of CHANGELOG.md before the current one."""
    listed = re.findall(r"^## (\d\S*)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    return [version for version in listed if version != version_of(root)]


def _other_versions(root: Path, version: str) -> list[str]:
    chart = yaml.safe_load((root / "deploy/chart/Chart.yaml").read_text())
    found = {
        "deploy/chart/Chart.yaml (version)": str(chart["version"]),
        "deploy/chart/Chart.yaml (appVersion)": str(chart["appVersion"]),
        "Containerfile (ARG VERSION)": _first(root / "Containerfile", r"^ARG VERSION=(\S+)"),
    }
    # The sample runs the product's own image, and the others are what people copy.
    named = [file for file in _manifests(root) if "chart" not in file.parts]
    for file in (*named, root / "README.md", root / "Containerfile"):
        for tag in _IMAGE.findall(file.read_text()):
            found[f"{file.relative_to(root)} (image)"] = tag
    return [
        f"{place} is {other}, pyproject.toml has {version}"
        for place, other in found.items()
        if other != version
    ]


def _notes(root: Path, version: str) -> list[str]:
    if notes_of(root, version):
        return []
    return [f"CHANGELOG.md has no section for {version}: add `## {version}`"]


def _moving_tags(root: Path) -> list[str]:
    return [
        f"{file.relative_to(root)} names an image by a tag that moves"
        for file in _manifests(root)
        if _MOVING.search(file.read_text())
    ]


def _manifests(root: Path) -> list[Path]:
    return sorted((*(root / "deploy").rglob("*.yaml"), *(root / "docs/samples").rglob("*.yaml")))


def _first(file: Path, pattern: str) -> str:
    found = re.search(pattern, file.read_text(), re.MULTILINE)
    return found[1] if found else "missing"
