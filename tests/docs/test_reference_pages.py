"""The generated pages of the reference are what models and declarations say."""

import re

from backend_controllers import registry
from crdgen.kinds import KINDS
from shared_api import names
from tests.docs import (
    api_page,
    capabilities_page,
    cli_examples,
    cli_page,
    settings_pages,
    watches_page,
)
from tests.docs.capabilities_page import MEANINGS
from tests.docs.exploration import choices, dialects


def test_the_page_of_the_api_is_current() -> None:
    assert api_page.PAGE.read_text() == api_page.render(), "run: make reference"


def test_the_pages_of_the_settings_are_current() -> None:
    assert settings_pages.CORE_PAGE.read_text() == settings_pages.render_core(), (
        "run: make reference"
    )
    backends = settings_pages.render_backends()
    assert settings_pages.BACKEND_PAGE.read_text() == backends, "run: make reference"


def test_every_kind_and_field_is_on_it() -> None:
    page = api_page.render()
    for kind in KINDS:
        assert f"## {kind.model.KIND}\n" in page
    for path in ("template.cliques[].spec.minAvailable", "podgroups[].minReplicas"):
        assert f"`{path}`" in page


def test_rules_of_the_server_are_on_it() -> None:
    assert "minAvailable must not be greater than replicas |" in api_page.render()


def test_the_page_of_capabilities_is_current() -> None:
    assert capabilities_page.PAGE.read_text() == capabilities_page.render(), "run: make reference"


def test_every_capability_has_a_meaning() -> None:
    declared = {value for name, value in vars(names).items() if name.startswith("CAPABILITY_")}
    assert set(MEANINGS) == declared


def test_every_way_of_answering_is_tried() -> None:
    backend = registry.find("default")
    found = {
        (answered.dialect.name, answered.dialect.capabilities)
        for _, options in choices(backend)
        for answered in dialects(backend, options)
    }
    versions = sorted(name for name, _ in found)
    # The gates for topology and for priority each double what there is.
    assert versions.count("scheduling.k8s.io/v1alpha2") == 4
    assert versions.count("scheduling.k8s.io/v1beta1") == 2
    assert "plain-scheduling" in versions


def test_the_page_of_the_watches_is_current() -> None:
    assert watches_page.PAGE.read_text() == watches_page.render(), "run: make reference"


def test_only_events_name_their_keys_themselves() -> None:
    page = watches_page.render()
    assert "### remotegang" in page
    for line in page.splitlines():
        assert "what the event names" not in line or line.startswith("| receives |"), line


def test_every_row_of_the_watches_is_explained() -> None:
    rows = [line for line in watches_page.render().splitlines() if line.count("|") >= 6]
    assert len(rows) > 80
    for row in rows:
        relation, source, keys, when, *_ = (cell.strip() for cell in row.strip("|").split("|"))
        assert all((relation, source.strip("`"), keys, when)), row
        assert "<lambda>" not in row


def test_the_page_of_the_command_line_shows_exactly_the_examples_that_are_run() -> None:
    shown = re.findall(r"^\$ kubectl gang (.*)$", cli_page.PAGE.read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(example.line for example in cli_examples.EXAMPLES)


def test_the_page_of_the_command_line_is_current() -> None:
    assert cli_page.PAGE.read_text() == cli_page.render(), "run: make reference"
