"""A release has one version everywhere, and its files agree with each other and with the manifests."""

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest
import yaml

from local_cluster.container_node.archives import write_archive
from local_cluster.container_node.product_image import BILL_OF_MATERIALS
from releasing.__main__ import ROOT, main
from releasing.checks import complaints, notes_of, version_of
from releasing.files import FOLDERS, image, images_in

VERSION = version_of(ROOT)
IMAGE = "registry.example.com/team/podgang"


def test_the_repository_could_be_released() -> None:
    assert complaints(ROOT) == []
    assert notes_of(ROOT, VERSION)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that are checked, to be damaged."""
    for name in ("pyproject.toml", "CHANGELOG.md", "Containerfile", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    shutil.copytree(ROOT / "docs" / "samples", tmp_path / "docs" / "samples")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("deploy/chart/Chart.yaml", f"version: {VERSION}", "version: 9.9.9", "Chart.yaml"),
        ("Containerfile", f"VERSION={VERSION}", "VERSION=9.9.9", "Containerfile (ARG VERSION)"),
        ("CHANGELOG.md", f"## {VERSION}", "## 9.9.9", f"no section for {VERSION}"),
        (
            "deploy/core/deployment.yaml",
            f"podgang:{VERSION}",
            "podgang:9.9.9",
            "deploy/core/deployment.yaml (image) is 9.9.9",
        ),
        (
            "docs/samples/containers/all-reduce.yaml",
            f"podgang:{VERSION}",
            "podgang:9.9.9",
            "all-reduce.yaml (image) is 9.9.9",
        ),
        ("README.md", f"podgang:{VERSION}", "podgang:9.9.9", "README.md (image) is 9.9.9"),
        (
            "docs/samples/training.yaml",
            "image: registry.example.com/",
            "image: x:latest # ",
            "docs/samples/training.yaml names an image by a tag that moves",
        ),
    ],
)
def test_a_contradiction_is_named_with_its_file(
    copy: Path, file: str, old: str, new: str, complaint: str
) -> None:
    text = (copy / file).read_text()
    assert old in text
    (copy / file).write_text(text.replace(old, new))
    assert any(complaint in found for found in complaints(copy)), complaints(copy)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a dry run."""
    target = tmp_path_factory.mktemp("release")
    assert main(["--dry-run", "--image", IMAGE, "--output", str(target)]) == 0
    return target


@pytest.mark.cluster
def test_a_dry_run_writes_every_file_with_its_checksum(release: Path) -> None:
    expected = {f"{name}.yaml" for name in FOLDERS}
    expected |= {f"podgang-{VERSION}.tgz", "sbom.json", "provenance.json", "NOTES.md"}
    lines = (release / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums.keys() == expected
    for name, digest in sums.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    subjects = json.loads((release / "provenance.json").read_text())["subject"]
    assert {one["name"] for one in subjects} == expected - {"provenance.json"}


@pytest.mark.cluster
def test_manifests_and_chart_name_the_image_of_this_version_in_the_registry(release: Path) -> None:
    for name in FOLDERS:
        assert images_in((release / f"{name}.yaml").read_bytes()) <= {f"{IMAGE}:{VERSION}"}
    assert images_in((release / "core.yaml").read_bytes())
    with tarfile.open(release / f"podgang-{VERSION}.tgz") as chart:
        values = yaml.safe_load(chart.extractfile("podgang/values.yaml") or io.BytesIO())
        about = yaml.safe_load(chart.extractfile("podgang/Chart.yaml") or io.BytesIO())
    assert values["image"]["repository"] == IMAGE
    assert about["version"] == VERSION


@pytest.mark.cluster
def test_the_same_commit_gives_the_same_files(release: Path, tmp_path: Path) -> None:
    assert main(["--dry-run", "--image", IMAGE, "--output", str(tmp_path)]) == 0
    for file in release.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes(), file.name


def test_a_release_has_the_image_with_its_digest_and_the_bill_of_its_content(
    tmp_path: Path,
) -> None:
    archive = tmp_path / "image.tar"
    write_archive(archive, ["podgang:1"], {BILL_OF_MATERIALS: b"bill"}, {}, ["python"])
    made = image(archive, "1")
    assert made["podgang-1-image.tar"] == archive.read_bytes()
    assert made["sbom-image.json"] == b"bill"
    with tarfile.open(archive) as content:
        (manifest,) = json.load(content.extractfile("manifest.json") or io.BytesIO())
    assert made["image-digest.txt"].decode() == f"sha256:{Path(manifest['Config']).stem}\n"
