"""What the minimum of a gang asks for, and when it is stated."""

from typing import Any

import pytest

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import Dialect, Translation, gang_of_clique
from backend_controllers.volcano.detection import detect
from backend_controllers.volcano.installation import VolcanoOptions
from backend_controllers.volcano.translation import translate
from tests.backends.volcano.kit import (
    GANG,
    NAMESPACE,
    SERVED,
    GivenFacts,
    clique,
    gang,
    group,
    installed,
)

TWO = gang(group("web-0-a", 2), group("web-0-b", 3))


def translated(*given: Any, admission: bool = True) -> Translation:
    return translate(installed(queue_admission=admission), TWO, GivenFacts(*given))


def stated(found: Translation) -> Any:
    [rendered] = found.objects
    spec = rendered.manifest["spec"]
    assert isinstance(spec, dict)
    return spec.get("minResources")


def test_the_members_of_all_groups_are_added_up() -> None:
    a = clique("web-0-a", cpu="500m", memory="1Gi")
    b = clique("web-0-b", cpu="2", **{"example.com/gpu": "1"})
    found = translated(a, b)
    assert stated(found) == {"cpu": "7", "memory": "2147483648", "example.com/gpu": "3"}


def test_nothing_is_written_before_every_clique_is_known() -> None:
    found = translated(clique("web-0-a", cpu="1"))
    assert found == Translation(lacks="PodClique web-0-b")


def test_without_the_option_nothing_is_stated_or_waited_for() -> None:
    assert stated(translated(admission=False)) is None


def test_pods_that_ask_for_nothing_state_nothing() -> None:
    assert stated(translated(clique("web-0-a"), clique("web-0-b", cpu="0"))) is None


def test_what_is_no_quantity_is_refused() -> None:
    [refusal] = translated(clique("web-0-a", cpu="lots"), clique("web-0-b")).refusals
    assert refusal == "container 'm' asks for cpu 'lots', which is not a quantity"


@pytest.mark.parametrize("admission", [False, True])
def test_cliques_are_watched_only_if_they_are_needed(admission: bool) -> None:
    found = detect(SERVED["1.14"], VolcanoOptions(queue_admission=admission))
    assert isinstance(found, Dialect)
    assert (CLIQUES in {reads.resource for reads in found.reads}) is admission


def test_a_clique_is_news_about_its_gang() -> None:
    assert gang_of_clique(clique("web-0-a")[1]) == (NAMESPACE, GANG)
