"""Which Volcano is installed, by the fields of its CRDs."""

import pytest

from backend_controllers.contract.declaration import Absent, Dialect, Options, Served
from backend_controllers.volcano import BACKEND
from backend_controllers.volcano.api import HYPERNODES, PODGROUPS, QUEUES
from backend_controllers.volcano.detection import detect
from backend_controllers.volcano.installation import (
    VolcanoFeatures,
    VolcanoOptions,
    detect_features,
)
from shared_api import names
from shared_api.models import SurplusRelease
from tests.backends.volcano.kit import SERVED, V1_0, V1_10, V1_12, V1_14, served

NESTED = {names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP, names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET}


def spoken(given: Served) -> Dialect:
    found = detect(given, VolcanoOptions())
    assert isinstance(found, Dialect)
    return found


@pytest.mark.parametrize(
    ("release", "features", "name"),
    [
        ("1.0", V1_0, "scheduling.volcano.sh/v1beta1"),
        ("1.10", V1_10, "scheduling.volcano.sh/v1beta1+minTaskMember"),
        ("1.12", V1_12, "scheduling.volcano.sh/v1beta1+minTaskMember+networkTopology"),
        ("1.14", V1_14, "scheduling.volcano.sh/v1beta1+subGroupPolicy+networkTopology"),
    ],
)
def test_the_dialect_follows_from_the_fields_that_are_found(
    release: str, features: VolcanoFeatures, name: str
) -> None:
    assert detect_features(SERVED[release]) == features
    assert spoken(SERVED[release]).name == name


@pytest.mark.parametrize(
    ("release", "minimums", "gang", "nested"),
    [
        ("1.0", False, False, False),
        ("1.10", True, False, False),
        ("1.12", True, True, False),
        ("1.14", True, True, True),
    ],
)
def test_capabilities_are_those_that_were_found(
    release: str,
    minimums: bool,
    gang: bool,
    nested: bool,
) -> None:
    found = spoken(SERVED[release]).capabilities
    assert (names.CAPABILITY_GROUP_MINIMUMS in found) is minimums
    assert (names.CAPABILITY_TOPOLOGY_REQUIRED_GANG in found) is gang
    assert (found >= NESTED) is nested
    assert {names.CAPABILITY_GANG, names.CAPABILITY_ELASTIC_SURPLUS} <= found


@pytest.mark.parametrize("missing", [PODGROUPS, QUEUES])
def test_without_a_kind_it_waits_and_reports_what_to_install(missing: object) -> None:
    kinds = [kind for kind in (PODGROUPS, QUEUES, HYPERNODES) if kind != missing]
    found = detect(served({"minMember": {"type": "integer"}}, *kinds), VolcanoOptions())
    assert isinstance(found, Absent)
    assert found.missing == f"{missing} in version v1beta1"
    assert "install Volcano" in found.remedy
    # Gangs are to wait for it and not to be told that it can never serve them.
    assert found.capabilities == spoken(SERVED["1.14"]).capabilities


def test_another_projects_pod_group_is_not_taken_for_volcanos() -> None:
    found = detect(served({}, PODGROUPS, QUEUES), VolcanoOptions())
    assert isinstance(found, Absent)
    assert "spec.minMember" in found.missing


def test_without_hyper_nodes_the_record_warns_that_nothing_is_scheduled() -> None:
    full = SERVED["1.14"]
    kinds = {key for key in full.resources if key[2] != HYPERNODES.plural}
    found = spoken(Served(frozenset(kinds), full.schemas))
    assert "hypernodes.topology.volcano.sh is not installed" in found.warning
    assert names.CAPABILITY_TOPOLOGY_REQUIRED_GANG not in found.capabilities
    assert HYPERNODES not in {reads.resource for reads in found.reads}
    assert spoken(full).warning == ""


def test_pods_name_their_pod_group_and_where_there_are_no_sub_groups_their_task() -> None:
    members = {name: spoken(given).preparation.members for name, given in SERVED.items()}
    for patch in members.values():
        assert patch is not None
        assert patch.annotations["scheduling.k8s.io/group-name"] == "{gang}"
        assert patch.spec is not None
        assert patch.spec.scheduler_name == "volcano"
    tasks = {
        name
        for name, patch in members.items()
        if patch and "volcano.sh/task-spec" in patch.annotations
    }
    assert tasks == {"1.0", "1.10", "1.12"}


def test_surplus_pods_wait_for_the_gang() -> None:
    assert BACKEND.release.surplus is SurplusRelease.AFTER_SCHEDULED


def test_surplus_pods_that_run_count_for_the_minimum_as_they_do_for_volcano() -> None:
    assert spoken(SERVED["1.14"]).surplus_stands_in
    assert spoken(SERVED["1.14"]).preparation.surplus is None


def test_options_of_another_backend_are_a_mistake() -> None:
    with pytest.raises(TypeError, match="expected VolcanoOptions"):
        detect(SERVED["1.14"], Options())
