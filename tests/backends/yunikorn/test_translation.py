"""What the pods of a gang carry for YuniKorn, and what cannot be said to it."""

import pytest

from backend_controllers.contract.declaration import Translation
from backend_controllers.yunikorn.api import (
    KEY_APPLICATION,
    KEY_GROUP,
    KEY_GROUPS,
    KEY_PLACEHOLDER_OF,
    KEY_POLICY,
    KEY_QUEUE,
)
from shared_api.models import PodPatch
from tests.backends.yunikorn.kit import (
    UID,
    Object,
    clique,
    cliques,
    container,
    gang,
    group,
    rows,
    translated,
)

REQUIRED = {"packConstraint": {"required": "example.com/rack"}}
PREFERRED = {"packConstraint": {"preferred": "example.com/rack"}}


def members(translation: Translation, name: str = "web-0-a") -> PodPatch:
    found = {one.name: one.members for one in translation.preparations}[name]
    assert found is not None
    return found


def surplus(translation: Translation, name: str = "web-0-a") -> PodPatch:
    found = {one.name: one.surplus for one in translation.preparations}[name]
    assert found is not None
    return found


def test_every_member_carries_the_whole_table_its_group_and_the_policy() -> None:
    found = translated()
    assert not found.refusals
    assert not found.remarks
    assert [one.name for one in found.preparations] == ["web-0-a", "web-0-b"]
    for name in ("web-0-a", "web-0-b"):
        patch = members(found, name)
        assert patch.labels == {KEY_APPLICATION: "web-0-0b6c1d9e-{incarnation}"}
        assert patch.annotations[KEY_GROUP] == name
        assert patch.annotations[KEY_POLICY] == (
            "placeholderTimeoutInSeconds=315360000 gangSchedulingStyle=Hard"
        )
        assert patch.spec is not None
        assert patch.spec.scheduler_name == "yunikorn"
    mark = {KEY_PLACEHOLDER_OF: "web-0"}
    assert rows(found) == [
        {"name": "web-0-a", "minMember": 2, "minResource": {"cpu": "1"}, "labels": mark},
        {"name": "web-0-b", "minMember": 1, "minResource": {"cpu": "1"}, "labels": mark},
    ]


def test_surplus_pods_are_of_the_application_and_of_no_group() -> None:
    patch = surplus(translated())
    assert patch.labels == members(translated()).labels
    assert not patch.annotations
    assert patch.spec == members(translated()).spec


def test_a_group_without_minimum_is_not_in_the_table() -> None:
    found = translated(gang(group("web-0-a", 2), group("web-0-b", 0)))
    assert [row["name"] for row in rows(found)] == ["web-0-a"]
    assert not members(found, "web-0-b").annotations
    assert members(found, "web-0-b").labels == members(found).labels


def test_a_gang_without_minimums_reserves_nothing() -> None:
    found = translated(gang(group("web-0-a", 0)))
    assert KEY_GROUPS not in members(found).annotations
    assert not found.refusals


def test_a_placeholder_goes_where_its_pod_can_go() -> None:
    tolerations = [{"key": "pool", "operator": "Exists"}]
    nodes: Object = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    template = {
        "nodeSelector": {"pool": "a"},
        "tolerations": tolerations,
        "affinity": {"nodeAffinity": nodes},
    }
    first, second = rows(translated(None, *cliques(template)))
    assert first["nodeSelector"] == {"pool": "a"}
    assert first["tolerations"] == tolerations
    assert first["affinity"] == {"nodeAffinity": nodes}
    assert not second.keys() & {"nodeSelector", "tolerations", "affinity"}


@pytest.mark.parametrize(
    ("template", "remark"),
    [
        (
            {"affinity": {"podAntiAffinity": {"x": []}}, "topologySpreadConstraints": [{"x": 1}]},
            "YuniKorn ignores podAntiAffinity and topologySpreadConstraints of group 'web-0-a'",
        ),
        ({"runtimeClassName": "kata"}, "the overhead of runtime class 'kata' of group 'web-0-a'"),
    ],
)
def test_what_is_not_looked_at_while_capacity_is_reserved_is_remarked(
    template: Object, remark: str
) -> None:
    found = translated(None, *cliques(template))
    assert len(found.remarks) == 1
    assert found.remarks[0].startswith(remark)
    assert "affinity" not in rows(found)[0], "its labels are not the pod's"


def test_pods_of_a_group_that_reserves_no_capacity_are_not_remarked_upon() -> None:
    odd = clique("web-0-b", template={"runtimeClassName": "kata"})
    of = gang(group("web-0-a", 2), group("web-0-b", 0))
    assert not translated(of, clique(), odd).remarks


def test_nothing_is_reported_before_all_cliques_are_there() -> None:
    found = translated(None, clique("web-0-a"))
    assert found == Translation(lacks="PodClique web-0-b")


def test_an_application_has_a_short_name_that_is_the_gangs_alone() -> None:
    long = gang(metadata={"name": f"{'n' * 39}-{'m' * 20}"})
    (label,) = members(translated(long)).labels.values()
    assert label == f"{'n' * 39}-{UID[:8]}-{{incarnation}}"
    other = gang(metadata={"uid": "1" + UID[1:]})
    assert members(translated(other)).labels != members(translated()).labels


@pytest.mark.parametrize(
    ("metadata", "options", "queue"),
    [
        ({}, {}, None),
        ({}, {"default_queue": "root.team"}, "root.team"),
        ({"annotations": {KEY_QUEUE: "root.own"}}, {"default_queue": "root.team"}, "root.own"),
        ({"labels": {KEY_QUEUE: "own"}, "annotations": {KEY_QUEUE: "root.other"}}, {}, "own"),
    ],
)
def test_the_queue_is_the_gangs_or_the_usual_one(
    metadata: Object, options: Object, queue: str | None
) -> None:
    found = translated(gang(metadata=metadata), **options)
    assert members(found).labels.get(KEY_QUEUE) == queue
    assert surplus(found).labels.get(KEY_QUEUE) == queue


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        (f"root.{'q' * 60}", "at most 63 letters"),
        ("root.a@b", "at most 63 letters"),
        ("root..a", "between the dots"),
        ("root", "accepts no gangs itself"),
    ],
)
def test_a_queue_that_placeholders_could_not_name_is_refused(queue: str, why: str) -> None:
    found = translated(gang(metadata={"annotations": {KEY_QUEUE: queue}}))
    (refusal,) = found.refusals
    assert refusal.startswith(KEY_QUEUE)
    assert why in refusal
    assert not found.preparations


@pytest.mark.parametrize(
    ("of", "refusal"),
    [
        (gang(topologyConstraint=REQUIRED), "the gang cannot be packed by"),
        (
            gang(group("web-0-a", 2, topologyConstraint=REQUIRED)),
            "group 'web-0-a' cannot be packed by",
        ),
        (
            gang(
                topologyConstraintGroupConfigs=[
                    {
                        "name": "s",
                        "podGroupNames": ["web-0-a", "web-0-b"],
                        "topologyConstraint": REQUIRED,
                    }
                ]
            ),
            "group set 's' cannot be packed by",
        ),
    ],
)
def test_a_required_place_is_refused_at_every_level(of: object, refusal: str) -> None:
    [found] = translated(of).refusals  # type: ignore[arg-type]
    assert found.startswith(refusal)


def test_a_preferred_place_is_left_to_core_to_report_of() -> None:
    assert not translated(gang(topologyConstraint=PREFERRED)).refusals


def test_a_quantity_that_is_none_is_refused() -> None:
    template = {"containers": [container(requests={"cpu": "lots"})]}
    found = translated(None, *cliques(template))
    assert found.refusals == ("container 'main' asks for cpu 'lots', which is not a quantity",)


def test_a_gang_of_too_many_groups_is_refused_with_numbers() -> None:
    many = [f"web-0-{index:03}" for index in range(120)]
    found = translated(gang(*(group(name) for name in many)), *(clique(name) for name in many))
    (refusal,) = found.refusals
    assert refusal.startswith("the gang has 120 groups, whose annotations have ")
    assert "Use fewer groups" in refusal


def test_reuse_of_a_reservation_is_ignored() -> None:
    of = gang(reuseReservationRef={"namespace": "team-a", "name": "old-0"})
    assert translated(of).remarks == (
        "spec.reuseReservationRef is ignored: YuniKorn cannot reuse a reservation",
    )
