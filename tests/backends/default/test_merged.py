"""A gang as one group: what is written on each version, and what is refused or left undone."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import Dialect, WhenRefused
from backend_controllers.default.served import (
    POD_GROUPS_V1ALPHA2,
    POD_GROUPS_V1BETA1,
    WORKLOADS_V1ALPHA1,
    EmbeddedGroup,
    GangPolicy,
    GroupSpec,
    Policy,
    Workload,
    WorkloadPodGroup,
    WorkloadSpec,
)
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource
from tests.backends.default.kit import (
    NAMESPACE,
    PRIORITY,
    TOPOLOGY,
    TREE,
    UID,
    V135,
    V136,
    V137,
    Known,
    dialect,
    gang,
    pack,
    pods_of,
    specs,
)

NAME = f"w-0-{UID}"
CONTROLLER = {"apiGroup": "scheduler.grove.io", "kind": "PodGang", "name": "w-0"}
V135_FORM, V136_FORM, V137_FORM = dialect(*V135), dialect(*V136), dialect(*V137)
FORMS = [V135_FORM, V136_FORM, V137_FORM]
ids = [form.name for form in FORMS]


def _gang_of(count: int, **rest: Any) -> dict[str, Any]:
    return {"schedulingPolicy": {"gang": {"minCount": count}}, **rest}


def test_1_35_has_the_group_in_the_workload() -> None:
    (only,) = V135_FORM.translate(gang({"a": 2, "b": 3}), Known()).objects
    assert only.manifest == {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "controllerRef": CONTROLLER,
            "podGroups": [{"name": "gang", "policy": {"gang": {"minCount": 5}}}],
        },
    }


def test_1_36_has_a_workload_and_then_its_pod_group() -> None:
    translation = V136_FORM.translate(gang({"a": 2, "b": 3}, priorityClassName="high"), Known())
    body = _gang_of(5, disruptionMode="PodGroup", priorityClassName="high")
    assert [item.resource.kind for item in translation.objects] == ["Workload", "PodGroup"]
    assert specs(translation) == {
        ("Workload", ""): {
            "controllerRef": CONTROLLER,
            "podGroupTemplates": [{"name": "gang", **body}],
        },
        ("PodGroup", ""): {
            "podGroupTemplateRef": {
                "workload": {"workloadName": NAME, "podGroupTemplateName": "gang"}
            },
            **body,
        },
    }


def test_1_37_refers_to_the_workload_in_its_own_form() -> None:
    translation = V137_FORM.translate(gang({"a": 2}, priorityClassName="high"), Known())
    body = _gang_of(2, disruptionMode={"all": {}}, priorityClassName="high")
    assert specs(translation) == {
        ("Workload", ""): {
            "controllerRef": CONTROLLER,
            "podGroupTemplates": [{"name": "gang", **body}],
        },
        ("PodGroup", ""): {
            "workloadRef": {"workloadName": NAME, "templateName": "gang"},
            **body,
        },
    }


def test_fields_that_the_server_would_drop_are_not_sent() -> None:
    form = dialect(*V136, kept=())
    translation = form.translate(gang({"a": 2}, priorityClassName="high"), Known())
    assert set(specs(translation)["PodGroup", ""]) == {"podGroupTemplateRef", "schedulingPolicy"}
    assert len(translation.remarks) == 1
    assert translation.remarks[0].startswith("spec.priorityClassName=high")


@given(st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(0, 50), min_size=1))
def test_count_is_the_sum_of_the_minimums_for_any_number_of_groups(
    groups: dict[str, int],
) -> None:
    translation = V136_FORM.translate(gang(groups), Known())
    if not sum(groups.values()):
        assert not translation.objects
        return
    found = specs(translation)
    assert found["PodGroup", ""]["schedulingPolicy"]["gang"]["minCount"] == sum(groups.values())
    assert len(found["Workload", ""]["podGroupTemplates"]) == 1


@pytest.mark.parametrize("form", [*FORMS, dialect(*TREE)], ids=[*ids, "tree"])
@pytest.mark.parametrize("remade", [False, True])
def test_members_that_are_gated_change_no_translation(form: Dialect, *, remade: bool) -> None:
    # Where it did, `heeds_gated_pods` would have to be declared.
    assert not form.heeds_gated_pods
    asked: dict[str, Any] = {"topologyConstraint": pack("zone"), "priorityClassName": "high"}
    whole = gang({"a": 2, "b": 3}, **asked)
    earlier = gang({"a": 2, "b": 3}, uid="earlier") if remade else whole
    held = Known(pods_of(form, earlier, gated=True))
    bare = form.translate(gang({"a": 2, "b": 3}, pods=0, **asked), Known())
    assert form.translate(whole, held) == bare


@pytest.mark.parametrize("form", FORMS, ids=ids)
def test_translating_changes_nothing_and_repeats_itself(form: Dialect) -> None:
    written = gang({"a": 2, "b": 3}, priorityClassName="high")
    facts = Known(pods_of(form, written))
    before = copy.deepcopy((written, facts))
    first, second = (form.translate(written, facts) for _ in range(2))
    assert first == second
    assert (written, facts) == before


@pytest.mark.parametrize("form", FORMS, ids=ids)
def test_nothing_is_sent_as_null(form: Dialect) -> None:
    rendered = form.translate(gang(), Known()).objects
    assert "None" not in str([item.manifest for item in rendered])


@pytest.mark.parametrize("form", [V136_FORM, V137_FORM], ids=ids[1:])
@pytest.mark.parametrize(
    "asked",
    [
        gang({"a": 1, "b": 1}, topologyConstraint=pack("zone")),
        gang({"a": 1}, keys={"a": "zone"}),
        gang({"a": 1}, keys={"a": "zone"}, topologyConstraint=pack("zone")),
        gang(
            {"a": 1, "b": 1},
            topologyConstraintGroupConfigs=[
                {"name": "s", "podGroupNames": ["a", "b"], "topologyConstraint": pack("zone")}
            ],
        ),
    ],
    ids=["gang", "only-group", "both-equal", "set-of-all"],
)
def test_key_that_covers_the_whole_gang_is_the_keys_of_its_group(form: Dialect, asked: Any) -> None:
    found = specs(form.translate(asked, Known()))
    constraints = {"topology": [{"key": "zone"}]}
    assert found["PodGroup", ""]["schedulingConstraints"] == constraints
    (template,) = found["Workload", ""]["podGroupTemplates"]
    assert template["schedulingConstraints"] == constraints


@pytest.mark.parametrize(
    ("form", "asked", "said"),
    [
        (
            V135_FORM,
            gang(topologyConstraint=pack("zone")),
            [
                "spec.topologyConstraint.packConstraint.required=zone is not supported: this cluster has no topology"
            ],
        ),
        (
            dialect(*V136, kept=(PRIORITY,)),
            gang(topologyConstraint=pack("zone")),
            [
                "spec.topologyConstraint.packConstraint.required=zone is not supported: this cluster has no topology"
            ],
        ),
        (
            V136_FORM,
            gang({"a": 1, "b": 1}, keys={"b": "rack"}),
            [
                "spec.podgroups[b].topologyConstraint.packConstraint.required=rack is not supported: here"
            ],
        ),
        (
            V137_FORM,
            gang({"a": 1}, keys={"a": "rack"}, topologyConstraint=pack("zone")),
            [
                "spec.podgroups[a].topologyConstraint.packConstraint.required=rack contradicts spec.topology"
            ],
        ),
        (
            V136_FORM,
            gang(
                {"a": 1, "b": 1, "c": 1},
                topologyConstraintGroupConfigs=[
                    {"name": "s", "podGroupNames": ["a", "b"], "topologyConstraint": pack("rack")}
                ],
            ),
            [
                "spec.topologyConstraintGroupConfigs[s].topologyConstraint.packConstraint"
                ".required=rack is not supported: here"
            ],
        ),
    ],
    ids=["1.35", "gate-off", "one-group", "two-keys", "set"],
)
def test_required_topology_that_is_not_available_is_refused(
    form: Dialect, asked: Any, said: list[str]
) -> None:
    translation = form.translate(asked, Known())
    assert not translation.objects
    assert len(translation.refusals) == len(said)
    for refusal, start in zip(translation.refusals, said, strict=True):
        assert refusal.startswith(start)


@pytest.mark.parametrize("form", FORMS, ids=ids)
def test_preferences_and_reservations_are_remarked_upon(form: Dialect) -> None:
    asked = gang(
        {"a": 1},
        topologyConstraint=pack(preferred="zone"),
        topologyConstraintGroupConfigs=[
            {"name": "s", "podGroupNames": ["a"], "topologyConstraint": pack(preferred="rack")}
        ],
        reuseReservationRef={"namespace": "team", "name": "old"},
    )
    translation = form.translate(asked, Known())
    assert translation.objects
    assert [remark.split(":")[0] for remark in translation.remarks] == [
        "spec.topologyConstraint.packConstraint.preferred=zone is ignored",
        "spec.topologyConstraintGroupConfigs[s].topologyConstraint.packConstraint.preferred=rack is ignored",
        "spec.reuseReservationRef is ignored",
    ]


def test_surplus_of_a_gang_with_a_topology_is_remarked_upon() -> None:
    asked = gang({"a": 1, "b": 2}, pods=3, topologyConstraint=pack("zone"))
    (remark,) = V136_FORM.translate(asked, Known()).remarks
    assert "zone" in remark
    assert "3 pods above it" in remark


@pytest.mark.parametrize("form", FORMS, ids=ids)
@pytest.mark.parametrize(
    ("made", "bound", "expected"),
    [
        (0, 0, WhenRefused.REPLACE),
        (3, 0, WhenRefused.REPLACE),
        (3, 2, WhenRefused.REPLACE),
        (3, 3, WhenRefused.KEEP),
    ],
    ids=["no-pods", "all-wait", "one-waits", "placed"],
)
def test_objects_are_replaced_only_while_a_member_waits(
    form: Dialect, made: int, bound: int, expected: WhenRefused
) -> None:
    written = gang({"a": 1, "b": 2})
    waiting, placed = pods_of(form, written), pods_of(form, written, node="n")
    facts = Known((*placed[:bound], *waiting[bound:made]))
    assert {item.when_refused for item in form.translate(written, facts).objects} == {expected}


@pytest.mark.parametrize(
    ("form", "resource", "live"),
    [
        (
            V135_FORM,
            WORKLOADS_V1ALPHA1,
            Workload(
                Metadata(name=NAME),
                WorkloadSpec((EmbeddedGroup(Policy(GangPolicy(7))),)),
            ),
        ),
        (
            V136_FORM,
            POD_GROUPS_V1ALPHA2,
            WorkloadPodGroup(Metadata(name=NAME), GroupSpec(Policy(GangPolicy(7)))),
        ),
        (
            V137_FORM,
            POD_GROUPS_V1BETA1,
            WorkloadPodGroup(Metadata(name=NAME), GroupSpec(Policy(GangPolicy(7)))),
        ),
    ],
    ids=ids,
)
def test_gang_without_minimums_keeps_the_object_that_it_has(
    form: Dialect, resource: Resource, live: Any
) -> None:
    without = gang({"a": 0, "b": 0}, pods=2)
    kept = form.translate(without, Known(objects={resource: (live,)})).objects
    before = form.translate(gang({"a": 3, "b": 4}), Known()).objects
    assert [item.manifest for item in kept] == [item.manifest for item in before]
    never = form.translate(without, Known())
    assert not never.objects
    assert any("no object" in remark for remark in never.remarks)


def test_topology_gate_alone_brings_topology() -> None:
    form = dialect(*V136, kept=(TOPOLOGY,))
    spec = specs(form.translate(gang(topologyConstraint=pack("zone")), Known()))["PodGroup", ""]
    assert set(spec) == {"podGroupTemplateRef", "schedulingPolicy", "schedulingConstraints"}
