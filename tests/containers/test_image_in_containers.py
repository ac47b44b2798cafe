"""The image has only what it lists, and a build of it can be repeated."""

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from datetime import datetime
from importlib import metadata
from pathlib import Path

import pytest
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from local_cluster.container_node.archives import file_of_image, image_config, image_id
from local_cluster.container_node.engine import Engine, engine
from local_cluster.container_node.product_image import (
    BILL_OF_MATERIALS,
    build_image,
    image_name,
)
from tests.containers.kit import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(900)]

_LARGEST = 140e6
"""Bytes; docs/releases.md has the size."""


@pytest.fixture(scope="module")
def files(image: Path) -> dict[str, tarfile.TarInfo]:
    """Every file of the image by its path."""
    found: dict[str, tarfile.TarInfo] = {}
    with tarfile.open(image) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json") or io.BytesIO())
        for name in manifest["Layers"]:
            with tarfile.open(fileobj=archive.extractfile(name)) as layer:
                found |= {entry.name: entry for entry in layer.getmembers()}
    return found


def test_the_image_has_no_shell_no_package_manager_and_no_pip(
    files: dict[str, tarfile.TarInfo],
) -> None:
    programs = {Path(name).name for name in files if Path(name).parent.name in ("bin", "sbin")}
    assert all(name.startswith("python") for name in programs - {"bin", "sbin"}), programs
    assert not [name for name in files if "site-packages/pip/" in name or "ensurepip" in name]


def test_every_file_has_the_same_time_so_that_a_build_can_be_repeated(
    files: dict[str, tarfile.TarInfo],
) -> None:
    assert {entry.mtime for entry in files.values()} == {0}


def test_the_image_stays_small(
    files: dict[str, tarfile.TarInfo], capsys: pytest.CaptureFixture[str]
) -> None:
    size = sum(entry.size for entry in files.values())
    assert size < _LARGEST
    with capsys.disabled():
        sys.stdout.write(f"\nthe image has {size / 1e6:.0f} MB in {len(files)} files\n")


def test_the_bill_of_materials_is_in_the_image_and_lists_the_base(image: Path) -> None:
    bill = json.loads(file_of_image(image, BILL_OF_MATERIALS))
    assert {"aiohttp", "cpython", "libc6", "libssl3"} <= {
        part["name"] for part in bill["components"]
    }


def test_labels_name_the_version_and_the_base(image: Path) -> None:
    with tarfile.open(image) as archive:
        _, config = image_config(archive)
    labels = config["config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == metadata.version("podgang")
    assert labels["org.opencontainers.image.base.name"]
    assert config["config"]["User"] == "65532:65532"


def test_a_second_build_gives_the_same_digest(docker: Engine, image: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar"
    build_image(ROOT, again, print)
    assert image_id(again) == image_id(image)


@pytest.fixture(scope="module")
def docker(image: Path) -> Iterator[Engine]:
    """A Docker engine that has the image."""
    with engine(print) as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", found.environment.get("DOCKER_HOST", ""))
        # It is an image that would have to be pulled, and the engine is gone after the tests.
        patch.setattr(testcontainers_config, "ryuk_disabled", True)
        found.docker("load", "--input", str(image))
        yield found


@pytest.mark.parametrize("program", ["core_operator", "backend_controllers", "all_in_one"])
def test_a_program_runs_read_only_without_a_network(
    docker: Engine, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = DockerContainer(image_name()).with_command(["python", "-m", program, "--version"])
    with one.with_kwargs(read_only=True, network_mode="none", cap_drop=["ALL"]) as running:
        container = running.get_wrapped_container()
        assert container.wait(timeout=60)["StatusCode"] == 0
        output, errors = running.get_logs()
        container.reload()
        state = container.attrs["State"]
    assert output.decode().strip() == metadata.version("podgang"), errors
    began, ended = (_seconds(state[key]) for key in ("StartedAt", "FinishedAt"))
    with capsys.disabled():
        sys.stdout.write(f"\n{program}: {ended - began:.2f} s to import everything\n")


def _seconds(moment: str) -> float:
    """Return a time of the engine, which has nanoseconds."""
    whole, _, fraction = moment.rstrip("Z").partition(".")
    return datetime.fromisoformat(whole).timestamp() + float(f"0.{fraction or 0}")
