"""The generated pages of the reference are what models and declarations say."""

from backend_controllers import registry
from shared_api import names
from shared_api.crdgen.kinds import KINDS
from tests.docs import api_page, capabilities_page
from tests.docs.capabilities_page import MEANINGS
from tests.docs.exploration import choices, dialects


def test_the_page_of_the_api_is_current() -> None:
    assert api_page.PAGE.read_text() == api_page.render(), "run: make reference"


def test_every_kind_and_field_is_on_it() -> None:
    page = api_page.render()
    for kind in KINDS:
        assert f"## {kind.model.KIND}\n" in page
    for path in ("template.cliques[].spec.minAvailable", "podgroups[].minReplicas"):
        assert f"`{path}`" in page


def test_rules_of_the_server_are_on_it() -> None:
    assert "| `spec.minAvailable` | minAvailable must not exceed replicas |" in api_page.render()


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
