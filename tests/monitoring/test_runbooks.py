"""Every alert has a runbook that says what it means, how to look and what to do."""

import re
from pathlib import Path

import pytest

from monitoring.__main__ import ROOT
from monitoring.catalogue import ALERTS
from monitoring.rules import Alert, site_of

RUNBOOKS = ROOT / "docs" / "runbooks"
SECTIONS = ["## What it means", "## Look", "## Do"]


def test_there_is_a_page_for_each_alert_and_no_other() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("Podgang*.md")}
    assert pages == {alert.full_name for alert in ALERTS}
    assert len(pages) == len(ALERTS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_the_page_has_what_somebody_woken_up_needs(alert: Alert) -> None:
    text = (RUNBOOKS / f"{alert.full_name}.md").read_text()
    assert text.startswith(f"# {alert.full_name}\n")
    assert re.findall(r"^## .*$", text, re.MULTILINE) == SECTIONS
    look = text.partition("## Look")[2].partition("## Do")[0]
    assert re.search(r"^kubectl ", look, re.MULTILINE), "no command to look with"


def test_the_link_of_an_alert_is_the_address_of_its_page() -> None:
    site = site_of(ROOT / "mkdocs.yml")
    for alert in ALERTS:
        annotations = alert.to_rule(site)["annotations"]
        assert isinstance(annotations, dict)
        address = str(annotations["runbook_url"])
        assert address.startswith(f"{site}/")
        page = Path(address.removeprefix(f"{site}/").rstrip("/")).with_suffix(".md")
        assert (ROOT / "docs" / page).is_file()
