"""A PodGang says who belongs together, and changes only when that does."""

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.layout.expansion import expand, gang_named
from core_operator.plan.manifests.podgangs import gang_manifest
from core_operator.plan.placement.backends import Choice
from shared_api.models import JsonObject, PodCliqueSet, PodGang
from shared_api.models.jobs import SetWorkloadPolicy
from tests.plan.samples import (
    NAMESPACE,
    QUICK,
    SET_UID,
    chosen,
    clique,
    pod_clique_set,
    pod_spec,
    worked_example,
    workloads,
)

EXAMPLE = chosen("example", "example-scheduler")


def manifest_of(
    pcs: PodCliqueSet,
    name: str = "w-0",
    references: Mapping[str, Sequence[str]] | None = None,
    backend: Choice = EXAMPLE,
    minimums: Mapping[str, int] | None = None,
) -> JsonObject:
    gang = gang_named(expand(pcs, {}), name)
    assert gang is not None
    return gang_manifest(pcs, gang, backend, references=references or {}, minimums=minimums or {})


def rendered(pcs: PodCliqueSet, name: str = "w-0") -> PodGang:
    return PodGang.model_validate(manifest_of(pcs, name))


def minimums_of(gang: PodGang) -> dict[str, int]:
    return {group.name: group.min_replicas for group in gang.spec.podgroups}


def test_a_gang_names_the_longest_runtime_of_its_set() -> None:
    policy = {"completion": {"failure": {"maxRuntime": "2h"}}}
    plain = pod_clique_set(clique("a", 2))
    spec = plain.spec.model_copy(update={"policy": SetWorkloadPolicy.model_validate(policy)})
    annotations = rendered(plain.model_copy(update={"spec": spec})).metadata.annotations
    assert annotations["grove.io/max-runtime"] == "2h"


def test_the_base_gang_of_the_worked_example_before_there_are_pods() -> None:
    assert manifest_of(worked_example()) == {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {
            "name": "w-0",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "app.kubernetes.io/component": "podgang",
                "grove.io/podcliqueset-replica-index": "0",
                "grove.io/scheduler-backend": "example",
                "grove.io/scheduler-name": "example-scheduler",
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
        "spec": {
            "podgroups": [
                {"name": "w-0-a", "podReferences": [], "minReplicas": 1},
                {"name": "w-0-s-0-b", "podReferences": [], "minReplicas": 1},
                {"name": "w-0-s-0-c", "podReferences": [], "minReplicas": 2},
            ]
        },
    }


def test_a_scaled_gang_holds_one_replica_and_names_its_base() -> None:
    gang = rendered(worked_example(), "w-0-s-0")
    assert minimums_of(gang) == {"w-0-s-1-b": 1, "w-0-s-1-c": 2}
    assert gang.metadata.labels["grove.io/base-podgang"] == "w-0"


def test_pods_are_referred_to_in_the_order_of_their_names() -> None:
    references = {"w-0-a": ["w-0-a-z", "w-0-a-b"], "w-0-s-1-b": ["not-of-this-gang"]}
    gang = PodGang.model_validate(manifest_of(worked_example(), references=references))
    found = {g.name: [(r.namespace, r.name) for r in g.pod_references] for g in gang.spec.podgroups}
    assert found == {
        "w-0-a": [(NAMESPACE, "w-0-a-b"), (NAMESPACE, "w-0-a-z")],
        "w-0-s-0-b": [],
        "w-0-s-0-c": [],
    }


def test_the_priority_class_is_handed_on() -> None:
    assert rendered(worked_example(priorityClassName="high")).spec.priority_class_name == "high"
    assert rendered(worked_example()).spec.priority_class_name is None


@pytest.mark.parametrize(
    ("cliques", "of_set", "of_gang"),
    [
        (("high", "high"), None, "high"),
        (("high", "low"), None, None),
        (("high", None), None, None),
        (("low", "low"), "high", "high"),
    ],
)
def test_a_gang_has_the_priority_class_that_all_its_pods_have(
    cliques: tuple[str | None, ...], of_set: str | None, of_gang: str | None
) -> None:
    named = [
        clique(f"c{n}", pod=pod_spec(priorityClassName=name) if name else pod_spec())
        for n, name in enumerate(cliques)
    ]
    pcs = pod_clique_set(*named, priorityClassName=of_set)
    assert rendered(pcs).spec.priority_class_name == of_gang


def test_the_minimum_of_an_existing_podclique_wins() -> None:
    manifest = manifest_of(worked_example(), minimums={"w-0-s-0-c": 1})
    assert minimums_of(PodGang.model_validate(manifest)) == {
        "w-0-a": 1,
        "w-0-s-0-b": 1,
        "w-0-s-0-c": 1,
    }


def test_a_gang_without_a_backend_is_labelled_for_nobody() -> None:
    gang = PodGang.model_validate(manifest_of(worked_example(), backend=chosen(None, "x")))
    assert "grove.io/scheduler-backend" not in gang.metadata.labels
    assert gang.metadata.labels["grove.io/scheduler-name"] == "x"


@pytest.mark.parametrize("scheduler", ["", "has space", "-x", "x" * 64])
def test_a_scheduler_that_no_label_can_name_is_not_in_a_label(scheduler: str) -> None:
    made = manifest_of(worked_example(), backend=chosen("example", scheduler))
    assert "grove.io/scheduler-name" not in PodGang.model_validate(made).metadata.labels


def test_the_users_metadata_is_handed_on_but_ours_wins() -> None:
    metadata: dict[str, object] = {
        "labels": {
            "team": "x",
            "app.kubernetes.io/component": "mine",
            "grove.io/scheduler-backend": "forged",
            "grove.io/other": "forged",
        },
        "annotations": {
            "scheduling.grove.io/volcano-queue": "q",
            "grove.io/reconcile-trigger": "1",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
    }
    made = rendered(worked_example(metadata=metadata)).metadata
    assert made.labels["team"] == "x"
    assert made.labels["app.kubernetes.io/component"] == "podgang"
    assert made.labels["grove.io/scheduler-backend"] == "example"
    assert "grove.io/other" not in made.labels
    assert made.annotations == {"scheduling.grove.io/volcano-queue": "q"}


def test_changing_what_is_not_the_gangs_leaves_its_manifest_alone() -> None:
    before = pod_clique_set(clique("a", 2, 1))
    after = pod_clique_set(
        clique("a", 5, 1, labels={"k": "v"}),
        replicas=3,
        metadata={"generation": 2, "annotations": {"grove.io/reconcile-trigger": "2"}},
        terminationDelay="1h",
    )
    assert manifest_of(after) == manifest_of(before)


@QUICK
@given(st.data(), workloads())
def test_equal_pods_give_equal_bytes_in_whatever_order(
    data: st.DataObject, pcs: PodCliqueSet
) -> None:
    before = pcs.model_copy(deep=True)
    for gang in expand(pcs, {}).gangs:
        pods = [f"pod-{number}" for number in range(4)]
        one = {member.name: tuple(pods) for member in gang.cliques}
        other = {
            member.name: tuple(data.draw(st.permutations(pods)))
            for member in reversed(gang.cliques)
        }
        first = gang_manifest(pcs, gang, EXAMPLE, references=one)
        second = gang_manifest(pcs, gang, EXAMPLE, references=other)
        assert json.dumps(first) == json.dumps(second)
        assert set(other) == set(one)
    assert pcs == before


@QUICK
@given(workloads())
def test_every_podclique_is_a_group_of_exactly_one_gang(pcs: PodCliqueSet) -> None:
    expansion = expand(pcs, {})
    groups = [
        group.name
        for gang in expansion.gangs
        for group in PodGang.model_validate(gang_manifest(pcs, gang, EXAMPLE)).spec.podgroups
    ]
    assert sorted(groups) == sorted(c.name for c in expansion.cliques)
