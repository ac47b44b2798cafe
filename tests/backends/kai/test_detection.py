"""What is found of KAI in a cluster, and what is said where it is missing or too old."""

import pytest

from backend_controllers.contract.declaration import Absent, Dialect, Options, Served
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import BINDINGS, PODGROUPS, QUEUES, TOPOLOGIES
from backend_controllers.kai.installation import KaiFeatures, KaiOptions, detect_features
from shared_api import names
from tests.backends.kai.kit import SERVED, V0_13, V0_16, V0_17, Object, served


def dialect(answers: Served) -> Dialect:
    found = BACKEND.detect(answers, KaiOptions())
    assert isinstance(found, Dialect)
    return found


def absence(answers: Served) -> Absent:
    found = BACKEND.detect(answers, KaiOptions())
    assert isinstance(found, Absent)
    return found


@pytest.mark.parametrize(
    ("release", "features", "name"),
    [
        (
            "0.9",
            KaiFeatures(
                preemptibility=False,
                nested=False,
                min_sub_group=False,
                empty_groups=False,
                strict_names=False,
                delays=False,
            ),
            "scheduling.run.ai/v2alpha2",
        ),
        ("0.13", V0_13, "scheduling.run.ai/v2alpha2"),
        ("0.15", V0_16, "scheduling.run.ai/v2alpha2+minSubGroup"),
        ("0.17", V0_17, "scheduling.run.ai/v2alpha2+minSubGroup+preemptionDelay"),
    ],
)
def test_a_release_is_known_by_the_fields_of_its_crd(
    release: str, features: KaiFeatures, name: str
) -> None:
    assert detect_features(SERVED[release]) == features
    assert dialect(SERVED[release]).name == name


def test_a_minimum_of_zero_is_possible_only_where_the_schema_allows_it() -> None:
    fields: Object = {"name": {}, "minMember": {"minimum": 1}, "minSubGroup": {}}
    assert not detect_features(served({}, fields)).empty_groups
    assert detect_features(served({}, fields | {"minMember": {"minimum": 0}})).empty_groups


def test_only_releases_that_ignore_skip_podgrouper_come_with_a_warning() -> None:
    assert "podgrouper" in dialect(SERVED["0.13"]).warning
    assert dialect(SERVED["0.15"]).warning == ""


def test_where_a_pod_group_is_not_ours_the_podgrouper_is_named_with_the_way_out() -> None:
    [older], [newer] = (dialect(SERVED[release]).writes for release in ("0.13", "0.15"))
    assert "KAI's podgrouper" in older.rival
    assert "--namespace-label-selector, then delete the PodGroup" in older.rival
    assert "kai.scheduler/skip-podgrouper=true on the PodCliqueSet" in newer.rival


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        (Served(), "podgroups.scheduling.run.ai in version v2alpha2"),
        (
            Served(frozenset({(PODGROUPS.group, PODGROUPS.version, PODGROUPS.plural)})),
            "queues.scheduling.run.ai in version v2",
        ),
        (
            SERVED["0.6"],
            "the field spec.subGroups of podgroups.scheduling.run.ai, which KAI has since v0.9",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_to_install(answers: Served, missing: str) -> None:
    found = absence(answers)
    assert found.missing == missing
    assert "install KAI v0.10 or newer" in found.remedy
    assert names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP in found.capabilities


def test_capabilities_are_those_of_the_installed_release() -> None:
    old, new = dialect(SERVED["0.9"]).capabilities, dialect(SERVED["0.17"]).capabilities
    assert names.CAPABILITY_GANG in old
    assert names.CAPABILITY_TOPOLOGY_REQUIRED_GANG in old
    assert names.CAPABILITY_HIERARCHY not in old
    assert names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP not in old
    assert old < new
    assert names.CAPABILITY_PLACEMENT_SCORE not in new


def test_without_topologies_nothing_about_placement_is_promised_or_watched() -> None:
    fields: Object = {"name": {}, "minMember": {}, "parent": {}, "topologyConstraint": {}}
    found = dialect(served({"topologyConstraint": {}}, fields, topologies=False))
    assert not any(capability.startswith("Topology") for capability in found.capabilities)
    assert found.companions == ()
    assert not {TOPOLOGIES, BINDINGS} & {reads.resource for reads in found.reads}


def test_pods_are_prepared_for_their_sub_group_and_kept_from_the_podgrouper() -> None:
    members = dialect(SERVED["0.13"]).preparation.members
    assert members is not None
    assert members.manifest() == {
        "labels": {"kai.scheduler/subgroup-name": "{group}"},
        "annotations": {
            "pod-group-name": "pg-{gang}-{gangUID}",
            "kai.scheduler/skip-podgrouper": "true",
        },
        "spec": {"schedulerName": "kai-scheduler"},
    }


def test_any_pods_of_a_sub_group_make_up_its_minimum() -> None:
    assert dialect(SERVED["0.13"]).surplus_stands_in
    assert dialect(SERVED["0.13"]).preparation.surplus is None


def test_every_kind_that_may_change_an_answer_is_watched() -> None:
    found = dialect(SERVED["0.17"])
    assert {writes.resource for writes in found.writes} == {PODGROUPS}
    assert {QUEUES, TOPOLOGIES, BINDINGS} < {reads.resource for reads in found.reads}


def test_options_of_another_backend_are_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError):
        BACKEND.detect(SERVED["0.17"], Options())
