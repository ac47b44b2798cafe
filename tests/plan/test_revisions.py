"""Hashes follow what the user wrote, and nothing else."""

import json
import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from core_operator.plan.layout.revisions import (
    revision_hash,
    revision_manifest,
    revision_number,
    template_hash,
)
from shared_api.models import JsonObject, PodCliqueSet, PodCliqueTemplateSpec
from tests.plan.samples import (
    JSON_OBJECTS,
    NAMESPACE,
    QUICK,
    SET_UID,
    clique,
    pod_clique_set,
    pod_spec,
    worked_example,
)

LABEL_VALUE = re.compile(r"[a-z0-9]{1,63}")


def reordered(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [reordered(part) for part in value]
    return value


def with_pod(pod: JsonObject) -> PodCliqueTemplateSpec:
    return clique("a", pod=cast("dict[str, object]", pod) or {"empty": {}})


@pytest.mark.parametrize(
    ("template", "priority_class", "pinned"),
    [
        (clique("a"), None, "642bdd313c22"),
        (
            clique("a", 2, labels={"team": "x"}, pod=pod_spec(schedulerName="example")),
            "high",
            "55d0a3997e69",
        ),
    ],
    ids=["bare", "full"],
)
def test_an_upgrade_changes_the_hash_of_no_template(
    template: PodCliqueTemplateSpec, priority_class: str | None, pinned: str
) -> None:
    assert template_hash(template, priority_class) == pinned


@QUICK
@given(JSON_OBJECTS)
def test_the_order_of_keys_makes_no_difference(pod: JsonObject) -> None:
    other = cast("JsonObject", reordered(pod))
    assert template_hash(with_pod(pod), None) == template_hash(with_pod(other), None)


@QUICK
@given(JSON_OBJECTS, st.text("abc", min_size=5, max_size=6))
def test_a_field_that_is_null_is_a_field_that_is_not_there(pod: JsonObject, key: str) -> None:
    more: JsonObject = {**pod, "x": {key: None}, key: None}
    assert template_hash(with_pod({**pod, "x": {}}), None) == template_hash(with_pod(more), None)


@QUICK
@given(JSON_OBJECTS)
def test_hashes_fit_in_labels_and_do_not_depend_on_the_process(pod: JsonObject) -> None:
    again = cast("JsonObject", json.loads(json.dumps(pod)))
    assert LABEL_VALUE.fullmatch(template_hash(with_pod(pod), None))
    assert template_hash(with_pod(pod), None) == template_hash(with_pod(again), None)


@QUICK
@given(JSON_OBJECTS)
def test_hashing_changes_nothing(pod: JsonObject) -> None:
    template = with_pod(pod)
    before = template.model_copy(deep=True)
    template_hash(template, None)
    assert template == before


class NewerTemplate(PodCliqueTemplateSpec):
    """The template in a later version of the models, with an optional field more."""

    novelty: str | None = None
    more: tuple[str, ...] = ()


def test_a_new_optional_field_in_the_models_changes_no_hash() -> None:
    old = clique("a", labels={"team": "x"})
    new = NewerTemplate.model_validate(old.manifest())
    assert template_hash(new, None) == template_hash(old, None)


def test_a_default_that_is_written_out_changes_no_hash() -> None:
    silent = clique("a")
    aloud = clique("a", labels={}, annotations={}, resourceSharing=[], spec={"startsAfter": []})
    assert template_hash(aloud, None) == template_hash(silent, None)
    assert template_hash(silent, "") == template_hash(silent, None)


@pytest.mark.parametrize(
    "other",
    [
        clique("a", 2, pod=pod_spec(terminationGracePeriodSeconds=5)),
        clique(
            "a", 2, pod={"containers": [{"name": "main", "image": "registry.example.com/app:2"}]}
        ),
        clique("a", 2, labels={"team": "x"}),
        clique("a", 2, annotations={"team": "x"}),
    ],
    ids=["pod spec", "image", "labels", "annotations"],
)
def test_what_pods_are_made_from_is_in_the_hash(other: PodCliqueTemplateSpec) -> None:
    template = clique("a", 2)
    assert template_hash(other, None) != template_hash(template, None)
    assert revision_hash(pod_clique_set(other)) != revision_hash(pod_clique_set(template))


def test_the_priority_class_is_in_the_hash() -> None:
    assert template_hash(clique("a"), "high") != template_hash(clique("a"), None)
    high = worked_example(priorityClassName="high")
    assert revision_hash(high) != revision_hash(worked_example())


@pytest.mark.parametrize(
    "other",
    [
        clique("a", 5),
        clique("a", 2, 1),
        clique("a", 2, spec={"roleName": "leader"}),
        clique("a", 2, labels={"grove.io/podgang": "forged", "grove.io/team": "x"}),
        clique("a", 2, annotations={"grove.io/topology-name": "h100"}),
        clique("a", 2, spec={"autoScalingConfig": {"maxReplicas": 9}}),
    ],
    ids=["replicas", "minimum", "role", "our label", "topology name", "autoscaling"],
)
def test_what_no_pod_is_made_from_is_not_in_the_hash(other: PodCliqueTemplateSpec) -> None:
    assert template_hash(other, None) == template_hash(clique("a", 2), None)


def test_putting_cliques_in_another_order_is_no_new_revision() -> None:
    a, b = clique("a"), clique("b", 2)
    assert revision_hash(pod_clique_set(a, b)) == revision_hash(pod_clique_set(b, a))
    one, other = (revision_manifest(pod_clique_set(*order)) for order in ((a, b), (b, a)))
    assert json.dumps(one) == json.dumps(other)


def test_swapping_the_templates_of_two_cliques_is_a_new_revision() -> None:
    x, y = {"k": "x"}, {"k": "y"}
    before = pod_clique_set(clique("a", labels=x), clique("b", labels=y))
    after = pod_clique_set(clique("a", labels=y), clique("b", labels=x))
    assert revision_hash(after) != revision_hash(before)


def test_scaling_the_set_is_no_new_revision() -> None:
    assert revision_hash(worked_example(replicas=9)) == revision_hash(worked_example())


def test_a_revision_stores_the_templates_under_the_name_of_their_hash() -> None:
    pcs = pod_clique_set(clique("a", labels={"team": "x"}), priorityClassName="high")
    assert revision_manifest(pcs, 3) == {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"w-{revision_hash(pcs)}",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "app.kubernetes.io/name": f"w-{revision_hash(pcs)}",
            },
            "ownerReferences": [
                {
                    "apiVersion": "grove.io/v1alpha1",
                    "kind": "PodCliqueSet",
                    "name": "w",
                    "uid": SET_UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "revision": 3,
        "data": {
            "cliques": {"a": {"podSpec": pod_spec(), "labels": {"team": "x"}}},
            "priorityClassName": "high",
        },
    }


def name_of(pcs: PodCliqueSet) -> str:
    return f"w-{revision_hash(pcs)}"


def test_revisions_are_numbered_in_the_order_in_which_they_first_appear() -> None:
    pcs = worked_example()
    assert revision_number(pcs, {}) == 1
    assert revision_number(pcs, {"w-other": 4}) == 5
    assert revision_number(pcs, {"w-other": 4, name_of(pcs): 2}) == 2
