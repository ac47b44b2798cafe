"""What the backend declares: one dialect, and what core has to do for YuniKorn."""

import pytest

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import (
    Absent,
    Dialect,
    Options,
    Served,
    gang_of_clique,
)
from backend_controllers.contract.events import EVENTS
from backend_controllers.yunikorn import BACKEND
from backend_controllers.yunikorn.api import (
    KEY_GROUPS,
    KEY_PLACEHOLDER_OF,
    clique_of_event,
    gang_of_placeholder,
    pod_of_event,
)
from backend_controllers.yunikorn.options import YuniKornOptions
from shared_api.kube.resources import PODS
from shared_api.models import MemberLost, PreparationMode, SurplusRelease
from tests.backends.yunikorn.kit import NAMESPACE, clique, event, placeholder, pod

INSTALLED = Served(services=frozenset(BACKEND.questions.services))


def dialect() -> Dialect:
    found = BACKEND.detect(INSTALLED, YuniKornOptions())
    assert isinstance(found, Dialect)
    return found


def test_without_its_service_it_is_absent_and_the_message_has_the_remedy() -> None:
    found = BACKEND.detect(Served(), YuniKornOptions())
    assert isinstance(found, Absent)
    assert found.missing == "Service yunikorn-service in any namespace"
    assert "assumeInstalled: true" in found.remedy
    # Gangs that choose it then wait for it, with what they need, instead of being rejected.
    assert found.capabilities == dialect().capabilities
    assert found.preparation == dialect().preparation


def test_an_option_asserts_that_it_is_installed() -> None:
    assert isinstance(BACKEND.detect(Served(), YuniKornOptions(assume_installed=True)), Dialect)


def test_there_is_one_dialect() -> None:
    assert dialect().name == "yunikorn.apache.org/task-groups"
    assert not dialect().writes
    assert dialect().preparation.mode is PreparationMode.PER_GANG


def test_no_topology_is_promised_nor_that_sizes_can_change() -> None:
    assert dialect().capabilities == {"Gang", "GroupMinimums", "Priority", "ElasticSurplus"}


def test_core_is_told_what_keeps_yunikorn_from_wedging() -> None:
    rules = BACKEND.release
    assert rules.surplus is SurplusRelease.AFTER_SCHEDULED
    assert rules.member_lost is MemberLost.RECREATE_GANG
    assert rules.after_bound is not None
    assert rules.after_bound.drop_annotations == (KEY_GROUPS,)


def test_options_of_others_are_no_options() -> None:
    with pytest.raises(TypeError):
        BACKEND.detect(Served(), Options())


def test_placeholders_and_cliques_are_news_about_their_gang() -> None:
    assert gang_of_placeholder(placeholder("tg-1")[1]) == (NAMESPACE, "web-0")
    assert gang_of_placeholder(pod("web-0-a-xxxx1")) is None
    assert gang_of_clique(clique()[1]) == (NAMESPACE, "web-0")
    told = event("web-0-a-xxxx1", "Preempted by ...")[1]
    assert clique_of_event(told) == (NAMESPACE, "web-0-a")
    assert pod_of_event(told) == (NAMESPACE, "web-0-a-xxxx1")
    ways = {reads.through for reads in dialect().reads if reads.resource == EVENTS}
    assert ways == {CLIQUES, PODS}
    assert clique_of_event(pod("web-0-a-xxxx1")) is None


def test_only_placeholders_are_watched_beside_members() -> None:
    (reads,) = [reads for reads in dialect().reads if reads.resource == PODS]
    assert reads.selector.labels == KEY_PLACEHOLDER_OF
    assert not reads.translated
