"""crds/ is what the models say, and the generator tells when it is not."""

from pathlib import Path

import pytest
import yaml

from crdgen.__main__ import main, render
from tests.contract.schemas import CRDS


def test_the_committed_files_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_two_runs_give_the_same_bytes() -> None:
    assert render() == render()


def test_files_are_named_after_their_crd() -> None:
    assert {path.name for path in CRDS.glob("*.yaml")} == {
        "backendinventories.grove.io.yaml",
        "clustertopologybindings.grove.io.yaml",
        "placementpolicies.grove.io.yaml",
        "podcliques.grove.io.yaml",
        "podcliquescalinggroups.grove.io.yaml",
        "podcliquesets.grove.io.yaml",
        "podgangs.scheduler.grove.io.yaml",
        "remotegangs.grove.io.yaml",
        "schedulerbackends.grove.io.yaml",
    }


def test_every_file_is_installed() -> None:
    listed = yaml.safe_load((CRDS / "Kustomization").read_text())["resources"]
    assert listed == sorted(path.name for path in CRDS.glob("*.yaml"))


def test_check_names_every_stale_file_and_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--directory", str(tmp_path)])
    edited = tmp_path / "podgangs.scheduler.grove.io.yaml"
    edited.write_text(edited.read_text().replace("Pending", "Waiting"))
    (tmp_path / "podcliques.grove.io.yaml").unlink()
    (tmp_path / "leftover.grove.io.yaml").write_text("kind: Nothing\n")

    assert main(["--check", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "crds/ is stale (leftover.grove.io.yaml, podcliques.grove.io.yaml,"
        " podgangs.scheduler.grove.io.yaml): run python -m crdgen\n"
    )


def test_writing_repairs_what_check_complains_about(tmp_path: Path) -> None:
    (tmp_path / "leftover.grove.io.yaml").write_text("kind: Nothing\n")
    main(["--directory", str(tmp_path)])
    assert main(["--check", "--directory", str(tmp_path)]) == 0
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == render()
