"""Which files are served: the bundle only if it was built from the modules that are there."""

from pathlib import Path

import pytest

from gangctl.dashboard.files import MARK, contents, digest, page


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Modules, and a bundle of them."""
    modules, bundle = tmp_path / "page", tmp_path / "bundle"
    for folder, name in ((modules, "app.js"), (bundle, "page.js")):
        folder.mkdir()
        (folder / name).write_text("1")
    (bundle / MARK).write_text(digest(contents(modules)))
    return modules, bundle


def test_a_bundle_of_the_modules_is_served_without_its_mark(folders: tuple[Path, Path]) -> None:
    assert page(*folders) == {"page.js": b"1"}


def test_without_a_bundle_the_modules_are_served(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    assert page(folders[0], tmp_path / "none") == {"app.js": b"1"}


def test_a_bundle_of_other_modules_is_not_served(folders: tuple[Path, Path]) -> None:
    modules, bundle = folders
    (modules / "app.js").write_text("2")
    assert page(modules, bundle) == {"app.js": b"2"}
