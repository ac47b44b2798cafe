"""The site is complete: every page is in the navigation, and no link leads nowhere."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from monitoring.catalogue import ALERTS
from tests.docs import navigation
from tests.docs.navigation import DOCS, FILE, ROOT


def test_the_navigation_has_every_page() -> None:
    assert FILE.read_text() == navigation.render(), "run: make reference"
    listed = set(re.findall(r": (\S+\.md)$", FILE.read_text(), re.MULTILINE))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_no_page_is_listed_twice() -> None:
    listed = re.findall(r": (\S+\.md)$", FILE.read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning."""
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(target)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def test_the_site_has_every_runbook(site: Path) -> None:
    for alert in ALERTS:
        assert (site / "runbooks" / alert.full_name / "index.html").is_file()


def test_the_site_can_be_searched_and_has_diagrams_and_two_themes(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"] for entry in index["docs"] if "gang" in entry["text"]}
    assert {"concepts/", "quickstart/"} <= found
    page = (site / "architecture" / "index.html").read_text()
    assert page.count('class="mermaid"') == (DOCS / "architecture.md").read_text().count(
        "```mermaid"
    )
    assert {"default", "slate"} <= set(re.findall(r'data-md-color-scheme="(\w+)"', page))


def test_links_to_files_of_the_repository_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")):
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not link.startswith(("http://", "https://")):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_list_of_alerts_is_complete() -> None:
    text = (DOCS / "monitoring.md").read_text()
    rows = re.findall(r"^\| \[(\w+)\]\(runbooks/\w+\.md\) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    assert rows == [(alert.full_name, alert.severity, alert.summary) for alert in ALERTS]
