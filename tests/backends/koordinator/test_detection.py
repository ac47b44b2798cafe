"""Which Koordinator is found, from the CRDs alone."""

from collections.abc import Sequence

import pytest

from backend_controllers.contract.declaration import Absent, Dialect, Options
from backend_controllers.koordinator import BACKEND
from backend_controllers.koordinator.api import (
    DEVICES,
    PODGROUPS,
    QUOTAS,
    RESERVATIONS,
    TOPOLOGIES,
)
from backend_controllers.koordinator.installation import KoordinatorOptions
from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.models import PreparationMode, ProgramsRelease, SurplusRelease
from tests.backends.koordinator.kit import served

TOPOLOGY = {names.CAPABILITY_TOPOLOGY_REQUIRED_GANG, names.CAPABILITY_TOPOLOGY_PREFERRED_GANG}


def found(*without: Resource, fields: Sequence[str] = ("minMember",)) -> Dialect:
    answer = BACKEND.detect(served(*without, fields=fields), KoordinatorOptions())
    assert isinstance(answer, Dialect)
    return answer


def test_everything_that_is_there_is_used() -> None:
    dialect = found()
    assert dialect.name == "scheduling.sigs.k8s.io/v1alpha1+topology+quotas"
    assert dialect.capabilities >= TOPOLOGY | {names.CAPABILITY_GANG}
    assert {reads.resource for reads in dialect.reads} == {TOPOLOGIES, QUOTAS}
    assert dialect.warning == ""


def test_parts_of_a_gang_cannot_have_placements_of_their_own() -> None:
    asked = {name for name in found().capabilities if name.startswith("Topology")}
    assert asked == TOPOLOGY
    assert names.CAPABILITY_HIERARCHY not in found().capabilities


def test_without_a_network_there_is_no_placement() -> None:
    dialect = found(TOPOLOGIES, QUOTAS)
    assert dialect.name == "scheduling.sigs.k8s.io/v1alpha1"
    assert not dialect.capabilities & TOPOLOGY
    assert dialect.reads == ()


@pytest.mark.parametrize(
    ("without", "fields", "missing"),
    [
        ((PODGROUPS,), ("minMember",), "podgroups.scheduling.sigs.k8s.io in version v1alpha1"),
        ((), ("minReplicas",), "the field spec.minMember of podgroups.scheduling.sigs.k8s.io"),
    ],
)
def test_a_scheduler_that_is_absent_or_too_old_is_waited_for(
    without: tuple[Resource, ...], fields: tuple[str, ...], missing: str
) -> None:
    answer = BACKEND.detect(served(*without, fields=fields), KoordinatorOptions())
    assert isinstance(answer, Absent)
    assert answer.missing == missing
    assert "install Koordinator" in answer.remedy
    assert answer.capabilities >= TOPOLOGY


def test_kinds_that_the_scheduler_waits_for_in_silence_are_warned_of() -> None:
    warning = found(RESERVATIONS, DEVICES).warning
    assert warning.startswith(f"{RESERVATIONS} and {DEVICES} are not served")


def test_pods_are_released_before_the_scheduler_sees_the_gang_and_surplus_after_it_scheduled_them() -> (
    None
):
    assert BACKEND.release.programs is ProgramsRelease.AFTER_RELEASE
    assert BACKEND.release.surplus is SurplusRelease.AFTER_SCHEDULED
    assert found().preparation.mode is PreparationMode.PER_GANG
    assert found().follows_pods
    assert not found().surplus_stands_in


def test_options_of_another_backend_are_no_options() -> None:
    with pytest.raises(TypeError, match="expected KoordinatorOptions"):
        BACKEND.detect(served(), Options())
