"""A gang as a tree: every group with its own minimum and key, and all of them or none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import Translation, WhenRefused
from backend_controllers.default.served import (
    POD_GROUPS_V1BETA1,
    GangPolicy,
    GroupSpec,
    Policy,
    WorkloadPodGroup,
)
from shared_api.kube.metadata import Metadata
from tests.backends.default.kit import (
    TREE,
    UID,
    Known,
    dialect,
    gang,
    pack,
    pods_of,
    specs,
)

FORM = dialect(*TREE)
ROOT = f"w-0-{UID}"
ALL: dict[str, Any] = {"disruptionMode": {"all": {}}}


def _translate(written: Any) -> Translation:
    return FORM.translate(written, Known())


def _set(name: str, *groups: str, key: str = "rack") -> dict[str, Any]:
    return {"name": name, "podGroupNames": list(groups), "topologyConstraint": pack(key)}


def _in_tree(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All templates below a Workload or a template."""
    found: list[dict[str, Any]] = [*spec.get("podGroupTemplates", [])]
    for template in spec.get("compositePodGroupTemplates", []):
        found += [template, *_in_tree(template)]
    return found


def test_gang_has_a_root_that_needs_every_group() -> None:
    translation = _translate(gang({"a": 2, "b": 3}))
    found = specs(translation)
    assert [item.resource.kind for item in translation.objects] == [
        "Workload",
        "CompositePodGroup",
        "PodGroup",
        "PodGroup",
    ]
    assert found["CompositePodGroup", ""] == {
        "workloadRef": {"workloadName": ROOT, "templateName": "gang"},
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        **ALL,
    }
    assert found["PodGroup", "b"] == {
        "workloadRef": {"workloadName": ROOT, "templateName": "group-1"},
        "parentCompositePodGroupName": ROOT,
        "schedulingPolicy": {"gang": {"minCount": 3}},
        **ALL,
    }
    assert found["Workload", ""]["compositePodGroupTemplates"] == [
        {
            "name": "gang",
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            **ALL,
            "podGroupTemplates": [
                {"name": "group-0", "schedulingPolicy": {"gang": {"minCount": 2}}, **ALL},
                {"name": "group-1", "schedulingPolicy": {"gang": {"minCount": 3}}, **ALL},
            ],
        }
    ]


def test_topology_is_kept_at_all_three_levels() -> None:
    translation = _translate(
        gang(
            {"a": 1, "b": 1, "c": 1},
            keys={"a": "host"},
            topologyConstraint=pack("zone"),
            topologyConstraintGroupConfigs=[_set("s", "a", "b")],
        )
    )
    found = specs(translation)
    keys = {
        place: spec["schedulingConstraints"]["topology"]
        for place, spec in found.items()
        if "schedulingConstraints" in spec
    }
    assert keys == {
        ("CompositePodGroup", ""): [{"key": "zone"}],
        ("CompositePodGroup", "s"): [{"key": "rack"}],
        ("PodGroup", "a"): [{"key": "host"}],
    }
    parents = {place[1]: spec.get("parentCompositePodGroupName") for place, spec in found.items()}
    assert parents == {"": None, "s": ROOT, "a": f"{ROOT}-s", "b": f"{ROOT}-s", "c": ROOT}
    assert found["CompositePodGroup", ""]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}
    assert found["CompositePodGroup", "s"]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}


def test_parents_are_written_before_their_children() -> None:
    translation = _translate(gang(topologyConstraintGroupConfigs=[_set("s", "a")]))
    kinds = [item.resource.kind for item in translation.objects]
    assert kinds == ["Workload", "CompositePodGroup", "CompositePodGroup", "PodGroup", "PodGroup"]


def test_set_without_a_required_key_needs_no_level_of_its_own() -> None:
    config = {**_set("s", "a"), "topologyConstraint": pack(preferred="rack")}
    translation = _translate(gang(topologyConstraintGroupConfigs=[config]))
    assert ("CompositePodGroup", "s") not in specs(translation)
    assert "preferred=rack" in translation.remarks[0]


def test_priority_is_equal_everywhere() -> None:
    found = specs(
        _translate(gang(priorityClassName="high", topologyConstraintGroupConfigs=[_set("s", "a")]))
    )
    workload = found.pop(("Workload", ""))
    for spec in (*found.values(), *_in_tree(workload)):
        assert spec["priorityClassName"] == "high"


def test_group_without_a_minimum_does_not_count_for_the_gang() -> None:
    found = specs(_translate(gang({"a": 2, "b": 0}, pods=2, priorityClassName="high")))
    assert found["PodGroup", "b"] == {
        "schedulingPolicy": {"basic": {}},
        "priorityClassName": "high",
    }
    assert found["CompositePodGroup", ""]["schedulingPolicy"] == {"gang": {"minGroupCount": 1}}


def test_set_of_groups_without_minimums_is_left_out() -> None:
    written = gang({"a": 0, "b": 1}, topologyConstraintGroupConfigs=[_set("s", "a")])
    assert ("CompositePodGroup", "s") not in specs(_translate(written))


def test_gang_without_minimums_keeps_the_tree_that_it_has() -> None:
    live = tuple(
        WorkloadPodGroup(Metadata(name=f"{ROOT}-{group}"), GroupSpec(Policy(GangPolicy(count))))
        for group, count in (("a", 2), ("b", 3))
    )
    facts = Known(objects={POD_GROUPS_V1BETA1: live})
    kept = FORM.translate(gang({"a": 0, "b": 0}), facts).objects
    before = _translate(gang({"a": 2, "b": 3})).objects
    assert [item.manifest for item in kept] == [item.manifest for item in before]


def test_gang_that_never_had_minimums_has_groups_that_its_pods_can_join() -> None:
    found = specs(_translate(gang({"a": 0})))
    assert found == {("PodGroup", "a"): {"schedulingPolicy": {"basic": {}}}}


def test_group_in_two_sets_is_refused() -> None:
    sets = [_set("s", "a", "b"), _set("t", "b")]
    (refusal,) = _translate(gang(topologyConstraintGroupConfigs=sets)).refusals
    assert refusal.startswith("spec.topologyConstraintGroupConfigs[t].")
    assert "group 'b'" in refusal


def test_names_in_a_set_that_are_no_groups_mean_nothing() -> None:
    found = specs(_translate(gang(topologyConstraintGroupConfigs=[_set("s", "nobody")])))
    assert ("CompositePodGroup", "s") not in found


@pytest.mark.parametrize(
    ("bound", "expected"), [("", WhenRefused.REPLACE), ("n", WhenRefused.KEEP)]
)
def test_tree_is_replaced_only_while_a_member_waits(bound: str, expected: WhenRefused) -> None:
    written = gang()
    facts = Known(pods_of(FORM, written, node=bound))
    assert {item.when_refused for item in FORM.translate(written, facts).objects} == {expected}


def test_more_groups_than_templates_share_them_by_shape() -> None:
    groups = {f"g{index}": index % 3 + 1 for index in range(12)}
    found = specs(_translate(gang(groups)))
    (root,) = found["Workload", ""]["compositePodGroupTemplates"]
    assert [t["name"] for t in root["podGroupTemplates"]] == ["group-0", "group-1", "group-2"]
    assert found["PodGroup", "g10"]["workloadRef"]["templateName"] == "group-1"
    assert found["PodGroup", "g10"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert found["CompositePodGroup", ""]["schedulingPolicy"] == {"gang": {"minGroupCount": 12}}


def test_more_minimums_than_templates_share_them_by_key() -> None:
    groups = {f"g{index}": index + 1 for index in range(9)}
    found = specs(_translate(gang(groups)))
    (root,) = found["Workload", ""]["compositePodGroupTemplates"]
    assert len(root["podGroupTemplates"]) == 1
    assert found["PodGroup", "g8"]["schedulingPolicy"] == {"gang": {"minCount": 9}}


def test_more_keys_than_templates_are_refused() -> None:
    groups = {f"g{index}": 1 for index in range(9)}
    (refusal,) = _translate(gang(groups, keys={name: f"key-{name}" for name in groups})).refusals
    assert "more than 8 different topology keys" in refusal


def test_many_equal_sets_share_a_template() -> None:
    groups = {
        f"{role}{index}": count for index in range(12) for role, count in (("p", 2), ("d", 4))
    }
    sets = [_set(f"s{index}", f"p{index}", f"d{index}") for index in range(12)]
    found = specs(_translate(gang(groups, topologyConstraintGroupConfigs=sets)))
    (root,) = found["Workload", ""]["compositePodGroupTemplates"]
    assert [t["name"] for t in root["compositePodGroupTemplates"]] == ["set-0"]
    assert found["CompositePodGroup", "s11"]["workloadRef"]["templateName"] == "set-0"
    names = {group: found["PodGroup", group]["workloadRef"]["templateName"] for group in groups}
    assert names["p11"] == names["p0"] == "group-0"
    assert names["d11"] == names["d0"] == "group-1"


def test_too_many_different_sets_are_refused() -> None:
    groups = {f"g{index}": index + 1 for index in range(9)}
    sets = [_set(f"s{index}", f"g{index}") for index in range(9)]
    (refusal,) = _translate(gang(groups, topologyConstraintGroupConfigs=sets)).refusals
    assert "9 different sets" in refusal


@given(
    minimums=st.lists(st.integers(0, 4), min_size=1, max_size=20),
    sets=st.lists(st.integers(0, 11), max_size=20),
)
def test_tree_is_whole_whatever_its_shape(minimums: list[int], sets: list[int]) -> None:
    groups = {f"g{index}": minimum for index, minimum in enumerate(minimums)}
    members: dict[int, list[str]] = {}
    for group, chosen in zip(groups, sets, strict=False):
        members.setdefault(chosen, []).append(group)
    configs = [_set(f"s{chosen}", *inside) for chosen, inside in members.items()]
    translation = _translate(gang(groups, topologyConstraintGroupConfigs=configs))
    if translation.refusals:
        assert "different sets" in translation.refusals[0]
        return
    found = specs(translation)
    children: dict[str, int] = {}
    for (kind, name), spec in found.items():
        if kind == "PodGroup" and groups[name]:
            assert spec["schedulingPolicy"]["gang"]["minCount"] == groups[name]
        if parent := spec.get("parentCompositePodGroupName"):
            children[parent] = children.get(parent, 0) + 1
    assert {name for kind, name in found if kind == "PodGroup"} == set(groups)
    needed = {
        f"{ROOT}-{name}".removesuffix("-"): spec["schedulingPolicy"]["gang"]["minGroupCount"]
        for (kind, name), spec in found.items()
        if kind == "CompositePodGroup"
    }
    assert needed == children
    _assert_templates(found)


def _assert_templates(found: dict[tuple[str, str], Any]) -> None:
    workload = found.get(("Workload", ""), {})
    templates = _in_tree(workload)
    names = [template["name"] for template in templates]
    assert len(names) == len(set(names))
    for template in (workload, *templates):
        for field in ("podGroupTemplates", "compositePodGroupTemplates"):
            assert len(template.get(field, ())) <= 8
    for spec in found.values():
        assert spec.get("workloadRef", {}).get("templateName", "gang") in (*names, "gang")
