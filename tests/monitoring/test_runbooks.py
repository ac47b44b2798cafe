"""Every alert has a runbook that says what it means, how to look and what to do."""

import re
from pathlib import Path

import pytest

from monitoring.__main__ import ROOT
from monitoring.catalogue import ALERTS
from monitoring.rules import Alert, Value, site_of

RUNBOOKS = ROOT / "docs" / "runbooks"
SECTIONS = ["## What it means", "## Look", "## Do"]


def test_there_is_a_page_for_each_alert_and_no_other() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("Podgang*.md")}
    assert pages == {alert.full_name for alert in ALERTS}
    assert len(pages) == len(ALERTS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_the_page_has_what_an_engineer_on_call_needs(alert: Alert) -> None:
    text = (RUNBOOKS / f"{alert.full_name}.md").read_text()
    assert text.startswith(f"# {alert.full_name}\n")
    assert re.findall(r"^## .*$", text, re.MULTILINE) == SECTIONS
    look = text.partition("## Look")[2].partition("## Do")[0]
    assert re.search(r"^kubectl ", look, re.MULTILINE), "no command to look with"


def annotations(alert: Alert, site: str) -> dict[str, Value]:
    found = alert.to_rule(site)["annotations"]
    assert isinstance(found, dict)
    return found


def test_an_alert_names_its_page_where_pages_are_published_nowhere() -> None:
    for alert in ALERTS:
        found = annotations(alert, "")
        assert (ROOT / str(found["runbook"])).is_file()
        assert "runbook_url" not in found


def test_an_alert_links_its_page_where_it_is_published(tmp_path: Path) -> None:
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text("site_name: x\nsite_url: https://docs.example.com/podgang/\n")
    site = site_of(configuration)
    for alert in ALERTS:
        address = str(annotations(alert, site)["runbook_url"])
        page = Path(address.removeprefix("https://docs.example.com/podgang/").rstrip("/"))
        assert (ROOT / "docs" / page.with_suffix(".md")).is_file()


def test_no_rule_links_a_host_that_only_examples_have() -> None:
    for file in sorted((ROOT / "deploy" / "monitoring").rglob("*.yaml")):
        assert "example.com" not in file.read_text(), file
