"""Pods name the very objects that are written for their gang, and only those that can join count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import Dialect, WhenRefused
from backend_controllers.default.gang_form import when_refused
from backend_controllers.default.membership import GATE, members
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.models import SchedulerBackend
from tests.backends.default.kit import (
    TREE,
    UID,
    V135,
    V136,
    V137,
    Known,
    dialect,
    gang,
    name_of,
    patch_of,
    pod,
    pods_of,
    specs,
)

FORMS = [dialect(*kinds) for kinds in (V135, V136, V137, TREE)]
MERGED = FORMS[:3]
TREE_FORM = FORMS[3]
ids = [form.name for form in FORMS]


def _group_named(spec: dict[str, dict[str, str]]) -> str:
    if "workloadRef" in spec:
        return spec["workloadRef"]["name"]
    return spec["schedulingGroup"]["podGroupName"]


@pytest.mark.parametrize("form", FORMS, ids=ids)
def test_members_name_an_object_that_is_written(form: Dialect) -> None:
    written = gang({"a": 1, "b": 2})
    kind = "Workload" if form is FORMS[0] else "PodGroup"
    rendered = form.translate(written, Known()).objects
    names = {name_of(item) for item in rendered if item.resource.kind == kind}
    joined = {_group_named(patch_of(form, written, g, 0)["spec"]) for g in ("a", "b")}
    assert joined == names
    assert all(UID in name for name in joined)


def test_pod_group_of_1_35_is_the_one_in_the_workload() -> None:
    written = gang()
    spec = specs(FORMS[0].translate(written, Known()))["Workload", ""]
    assert patch_of(FORMS[0], written, "a", 0)["spec"]["workloadRef"]["podGroup"] in {
        group["name"] for group in spec["podGroups"]
    }


@pytest.mark.parametrize("form", MERGED, ids=ids[:3])
def test_surplus_stays_outside_a_merged_gang(form: Dialect) -> None:
    patch = patch_of(form, gang({"a": 1, "b": 1}, pods=2), "a", 1)
    assert patch == {"spec": {"schedulerName": "default-scheduler"}}


def test_surplus_joins_its_own_group_in_a_tree() -> None:
    written = gang({"a": 1}, pods=2)
    assert patch_of(TREE_FORM, written, "a", 1) == patch_of(TREE_FORM, written, "a", 0)


@pytest.mark.parametrize("form", FORMS, ids=ids)
def test_every_pod_is_given_to_the_same_scheduler(form: Dialect) -> None:
    chosen = dialect(*V136, schedulerName="gpu-profile")
    for index in (0, 1):
        assert (
            patch_of(chosen, gang({"a": 1}), "a", index)["spec"]["schedulerName"] == "gpu-profile"
        )
        spec = patch_of(form, gang({"a": 1}), "a", index)["spec"]
        assert spec["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize("form", FORMS, ids=ids)
def test_preparation_survives_the_record(form: Dialect) -> None:
    record = {
        "metadata": {"name": "default"},
        "spec": {
            "schedulerNames": ["default-scheduler"],
            "preparation": form.preparation.manifest(),
            "schedulingGate": GATE,
        },
    }
    assert SchedulerBackend.model_validate(record).spec.preparation == form.preparation


def test_gang_recreated_under_its_name_has_other_objects() -> None:
    before, after = gang(), gang(uid="another")
    for form in FORMS:
        names = [
            {str(o.manifest["metadata"]) for o in form.translate(one, Known()).objects}
            for one in (before, after)
        ]
        assert not names[0] & names[1]


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5), min_size=1))
def test_names_of_a_tree_are_unique_by_kind(groups: dict[str, int]) -> None:
    rendered = TREE_FORM.translate(gang(groups), Known()).objects
    keys = [(o.resource, str(o.manifest["metadata"])) for o in rendered]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("form", MERGED, ids=ids[:3])
def test_members_that_cannot_join_are_not_waited_for(form: Dialect) -> None:
    written = gang({"a": 2, "b": 3})
    pods = list(pods_of(form, written))
    pods[0] = pod("a", 0, node="n", joined="podgroup/w-0-earlier")
    pods[4] = pod("b", 2, node="n")
    translation = form.translate(written, Known(tuple(pods)))
    assert _count(form, written, tuple(pods)) == 3
    assert "2 pods were created before" in translation.remarks[-1]


@pytest.mark.parametrize("form", MERGED, ids=ids[:3])
def test_members_without_a_node_never_lower_what_is_asked_for(form: Dialect) -> None:
    written = gang({"a": 2, "b": 3})
    pods = list(pods_of(form, written))
    pods[0] = pod("a", 0, joined="podgroup/w-0-earlier")
    pods[4] = pod("b", 2)
    assert _count(form, written, tuple(pods)) == 5


@pytest.mark.parametrize("form", MERGED, ids=ids[:3])
def test_members_that_are_gated_will_be_recreated_and_count(form: Dialect) -> None:
    written = gang({"a": 2, "b": 3})
    held = tuple(pod("a", index, gates=(GATE,), joined="kai") for index in range(2))
    assert _count(form, written, held) == 5


@pytest.mark.parametrize("form", MERGED, ids=ids[:3])
def test_gang_of_which_nobody_can_join_has_no_object(form: Dialect) -> None:
    written = gang({"a": 2})
    pods = tuple(pod("a", index, node="n") for index in range(2))
    translation = form.translate(written, Known(pods))
    assert not translation.objects
    assert any("no object" in remark for remark in translation.remarks)


def test_group_of_a_tree_that_nobody_can_join_stands_outside_it() -> None:
    written = gang({"a": 1, "b": 1})
    pods = (pod("a", 0, node="n"), *pods_of(TREE_FORM, written)[1:])
    found = specs(TREE_FORM.translate(written, Known(pods)))
    assert found["PodGroup", "a"] == {"schedulingPolicy": {"basic": {}}}
    assert found["CompositePodGroup", ""]["schedulingPolicy"] == {"gang": {"minGroupCount": 1}}


def test_pods_above_the_minimum_and_foreign_objects_are_no_members() -> None:
    written = gang({"a": 1}, pods=2)
    found = members(written, (pod("a", 0), pod("a", 1), pod("x", 0)))
    assert [one.metadata.name for _, one in found] == ["a-0"]


@pytest.mark.parametrize(
    ("bound", "phase", "placed"),
    [
        (("a-0", "b-0"), "Running", True),
        (("a-0", "a-1"), "Running", False),
        (("a-0", "b-0"), "Failed", False),
    ],
)
def test_objects_are_kept_as_they_are_once_the_minimum_of_every_group_is_scheduled(
    bound: tuple[str, ...], phase: str, placed: bool
) -> None:
    written = gang({"a": 1, "b": 1}, pods=2)
    pods = tuple(
        pod(group, index, node="n" if f"{group}-{index}" in bound else "", phase=phase)
        for group in "ab"
        for index in range(2)
    )
    kept = when_refused(written, Known(pods)) is WhenRefused.KEEP
    assert kept is placed


def _count(form: Dialect, written: ObservedPodGang, pods: tuple[Pod, ...]) -> int:
    found = specs(form.translate(written, Known(pods)))
    if form is FORMS[0]:
        return int(found["Workload", ""]["podGroups"][0]["policy"]["gang"]["minCount"])
    return int(found["PodGroup", ""]["schedulingPolicy"]["gang"]["minCount"])
