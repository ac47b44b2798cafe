"""PodCliques carry the user's template, their place in the workload, and nobody's replicas."""

from typing import Any, cast

import pytest
from hypothesis import given

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import clique_named, expand
from core_operator.plan.layout.history import template_hashes
from core_operator.plan.layout.revisions import template_hash
from core_operator.plan.manifests.podcliques import (
    group_podclique,
    standalone_podclique,
    starts_after,
    with_environment,
)
from shared_api.models import JsonObject, OwnerReference, PodClique, PodCliqueSet
from tests.plan.samples import (
    NAMESPACE,
    QUICK,
    SET_UID,
    clique,
    group,
    pod_clique_set,
    pod_spec,
    worked_example,
    workloads,
)

GROUP_OWNER = OwnerReference(
    api_version="grove.io/v1alpha1",
    kind="PodCliqueScalingGroup",
    name="w-0-s",
    uid="5e7a0002-0000-4000-8000-000000000002",
    controller=True,
    block_owner_deletion=True,
)
IN_ORDER = "CliqueStartupTypeInOrder"
EXPLICIT = "CliqueStartupTypeExplicit"


def manifest_of(pcs: PodCliqueSet, name: str, live: int | None = None) -> JsonObject:
    instance = clique_named(expand(pcs, {}), name)
    assert instance is not None
    if instance.group is not None:
        return group_podclique(pcs, instance, GROUP_OWNER, live)
    return standalone_podclique(pcs, instance, naming.controller_reference(pcs), live)


def rendered(pcs: PodCliqueSet, name: str, live: int | None = None) -> PodClique:
    return PodClique.model_validate(manifest_of(pcs, name, live))


def containers(podclique: PodClique, kind: str = "containers") -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", podclique.spec.pod_spec[kind])


def test_the_standalone_clique_of_the_worked_example() -> None:
    pcs = worked_example()
    assert manifest_of(pcs, "w-0-a") == {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodClique",
        "metadata": {
            "name": "w-0-a",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "app.kubernetes.io/name": "w-0-a",
                "app.kubernetes.io/component": "pcs-podclique",
                "grove.io/podcliqueset-replica-index": "0",
                "grove.io/podgang": "w-0",
                "grove.io/pod-template-hash": template_hash(pcs.spec.template.cliques[0], None),
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
        "spec": {"roleName": "a", "podSpec": pod_spec(), "replicas": 2, "minAvailable": 1},
    }


def test_a_clique_without_a_role_has_an_empty_one_as_in_grove() -> None:
    manifest = pod_clique_set(clique("a")).manifest()
    template = cast("Any", manifest)["spec"]["template"]
    del template["cliques"][0]["spec"]["roleName"]
    podclique = manifest_of(PodCliqueSet.model_validate(manifest), "w-0-a")
    assert cast("Any", podclique)["spec"]["roleName"] == ""


def test_the_labels_of_a_member_of_a_scaled_gang() -> None:
    pcs = worked_example()
    assert rendered(pcs, "w-0-s-1-c").metadata.labels == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "w",
        "app.kubernetes.io/name": "w-0-s-1-c",
        "app.kubernetes.io/component": "pcsg-podclique",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podcliquescalinggroup": "w-0-s",
        "grove.io/podcliquescalinggroup-replica-index": "1",
        "grove.io/podgang": "w-0-s-0",
        "grove.io/base-podgang": "w-0",
        "grove.io/pod-template-hash": template_hashes(pcs, ())["c"],
    }


def test_a_group_member_in_the_base_gang_names_no_base_gang() -> None:
    labels = rendered(worked_example(), "w-0-s-0-c").metadata.labels
    assert labels["grove.io/podgang"] == "w-0"
    assert "grove.io/base-podgang" not in labels


def test_members_of_a_group_belong_to_the_group() -> None:
    assert rendered(worked_example(), "w-0-s-0-b").metadata.owner_references == (GROUP_OWNER,)


def test_a_clique_in_no_group_is_not_rendered_as_a_member() -> None:
    pcs = worked_example()
    instance = clique_named(expand(pcs, {}), "w-0-a")
    assert instance is not None
    with pytest.raises(ValueError, match="w-0-a is in no scaling group"):
        group_podclique(pcs, instance, GROUP_OWNER, None)


def test_replicas_belong_to_the_client_that_scales_the_clique() -> None:
    assert rendered(worked_example(), "w-0-a").spec.replicas == 2
    assert rendered(worked_example(), "w-0-a", live=7).spec.replicas == 7
    assert rendered(worked_example(), "w-0-s-1-c", live=9).spec.replicas == 9


def test_the_minimum_does_not_follow_the_scaling_of_a_clique() -> None:
    assert rendered(pod_clique_set(clique("a", 2)), "w-0-a", live=7).spec.min_available == 2
    assert rendered(pod_clique_set(clique("a", 3, 2)), "w-0-a", live=7).spec.min_available == 2


def test_a_set_that_means_all_and_grew_does_not_ask_for_more_than_there_is() -> None:
    assert rendered(pod_clique_set(clique("a", 4)), "w-0-a", live=2).spec.minimum == 2


def test_autoscaling_is_handed_on_as_the_user_wrote_it() -> None:
    scaling = {"maxReplicas": 5, "metrics": [{"type": "Resource"}]}
    pcs = pod_clique_set(clique("a", spec={"autoScalingConfig": scaling}))
    spec = cast("JsonObject", manifest_of(pcs, "w-0-a")["spec"])
    assert spec["autoScalingConfig"] == scaling


def test_template_metadata_is_handed_on_but_ours_wins() -> None:
    labels = {"team": "x", "app.kubernetes.io/part-of": "mine", "grove.io/base-podgang": "forged"}
    made = rendered(pod_clique_set(clique("a", labels=labels)), "w-0-a")
    assert made.metadata.labels["team"] == "x"
    assert made.metadata.labels["app.kubernetes.io/part-of"] == "w"
    assert "grove.io/base-podgang" not in made.metadata.labels


def test_labels_of_a_clique_under_our_prefix_are_kept_unless_core_owns_them() -> None:
    labels = {"grove.io/team": "x", "grove.io/podgang": "forged"}
    made = rendered(pod_clique_set(clique("a", labels=labels)), "w-0-a")
    assert made.metadata.labels["grove.io/team"] == "x"
    assert made.metadata.labels["grove.io/podgang"] == "w-0"


def test_template_annotations_are_handed_on_without_the_topology() -> None:
    annotations = {"note": "y", "grove.io/mnnvl-group": "rack", "grove.io/topology-name": "forged"}
    made = rendered(pod_clique_set(clique("a", annotations=annotations)), "w-0-a")
    assert made.metadata.annotations == {"note": "y", "grove.io/mnnvl-group": "rack"}


def test_the_pod_spec_of_a_standalone_clique_is_the_users() -> None:
    pod = pod_spec(hostNetwork=True, unknownToUs={"z": None, "a": [1]})
    made = rendered(pod_clique_set(clique("a", pod=pod)), "w-0-a")
    assert made.spec.pod_spec == pod
    assert list(made.spec.pod_spec) == list(pod)


@pytest.mark.parametrize("own", [{}, {"priorityClassName": "low"}])
def test_the_priority_class_of_the_set_is_that_of_all_its_pods(own: dict[str, object]) -> None:
    pcs = pod_clique_set(
        clique("a", pod=pod_spec(**own)),
        clique("b", pod=pod_spec(**own)),
        groups=(group("g", "b"),),
        priorityClassName="high",
    )
    for name in ("w-0-a", "w-0-g-0-b"):
        assert rendered(pcs, name).spec.pod_spec["priorityClassName"] == "high"


def test_a_clique_keeps_its_own_priority_class_where_the_set_has_none() -> None:
    pcs = pod_clique_set(clique("a", pod=pod_spec(priorityClassName="low")))
    assert rendered(pcs, "w-0-a").spec.pod_spec["priorityClassName"] == "low"


def test_members_of_a_group_are_reported_about_the_group() -> None:
    [main] = containers(rendered(worked_example(), "w-0-s-1-c"))
    assert main["env"] == [
        {
            "name": "GROVE_PCSG_NAME",
            "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.labels['grove.io/podcliquescalinggroup']"}
            },
        },
        {"name": "GROVE_PCSG_TEMPLATE_NUM_PODS", "value": "4"},
        {
            "name": "GROVE_PCSG_INDEX",
            "valueFrom": {
                "fieldRef": {
                    "fieldPath": "metadata.labels['grove.io/podcliquescalinggroup-replica-index']"
                }
            },
        },
    ]


def test_group_variables_come_first_in_all_containers_and_replace_the_users() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "GROVE_PCSG_INDEX", "value": "forged"}]
    pod: dict[str, object] = {
        "initContainers": [{"name": "first", "env": env}],
        "containers": [{"name": "main", "env": env, "image": "x"}, {"name": "side"}],
    }
    pcs = pod_clique_set(clique("b", pod=pod), groups=(group("s", "b"),))
    made = rendered(pcs, "w-0-s-0-b")
    ours = ["GROVE_PCSG_NAME", "GROVE_PCSG_TEMPLATE_NUM_PODS", "GROVE_PCSG_INDEX"]
    [first] = containers(made, "initContainers")
    main, side = containers(made)
    assert [variable["name"] for variable in first["env"]] == [*ours, "A"]
    assert [variable["name"] for variable in main["env"]] == [*ours, "A"]
    assert [variable["name"] for variable in side["env"]] == ours
    assert {"name": "GROVE_PCSG_INDEX", "value": "forged"} not in main["env"]
    assert list(main) == ["name", "env", "image"]


def test_what_is_no_container_is_left_for_the_api_server_to_refuse() -> None:
    odd: JsonObject = {"containers": "none", "initContainers": [7, {"env": "x"}]}
    assert with_environment(odd, [{"name": "A", "value": "1"}]) == {
        "containers": "none",
        "initContainers": [7, {"env": [{"name": "A", "value": "1"}]}],
    }


@pytest.mark.parametrize(
    ("name", "parents"),
    [
        ("w-0-a", ()),
        ("w-0-s-0-b", ("w-0-a",)),
        ("w-0-s-0-c", ("w-0-s-0-b",)),
        ("w-0-s-1-b", ()),
        ("w-0-s-1-c", ("w-0-s-1-b",)),
    ],
)
def test_in_order_each_clique_waits_for_the_one_before_it(
    name: str, parents: tuple[str, ...]
) -> None:
    pcs = worked_example(cliqueStartupType=IN_ORDER)
    assert rendered(pcs, name).spec.starts_after == parents


def test_in_any_order_nobody_waits() -> None:
    pcs = worked_example()
    assert all(starts_after(pcs, c) == () for c in expand(pcs, {}).cliques)


def test_a_parent_in_a_group_is_all_its_replicas_of_the_base_gang() -> None:
    pcs = pod_clique_set(
        clique("b"),
        clique("z", spec={"startsAfter": ["b"]}),
        groups=(group("s", "b", replicas=3, minimum=2),),
        cliqueStartupType=EXPLICIT,
    )
    assert rendered(pcs, "w-0-z").spec.starts_after == ("w-0-s-0-b", "w-0-s-1-b")


def test_explicit_parents_outside_a_scaled_gang_are_not_waited_for() -> None:
    pcs = pod_clique_set(
        clique("a"),
        clique("b"),
        clique("c", spec={"startsAfter": ["a", "b"]}),
        groups=(group("s", "b", "c", replicas=2),),
        cliqueStartupType=EXPLICIT,
    )
    assert rendered(pcs, "w-0-s-0-c").spec.starts_after == ("w-0-a", "w-0-s-0-b")
    assert rendered(pcs, "w-0-s-1-c").spec.starts_after == ("w-0-s-1-b",)


def test_in_a_scaled_gang_a_predecessor_outside_its_group_is_not_waited_for() -> None:
    pcs = pod_clique_set(
        clique("b"),
        clique("x"),
        clique("c"),
        groups=(group("s", "b", "c", replicas=2),),
        cliqueStartupType=IN_ORDER,
    )
    assert rendered(pcs, "w-0-s-0-c").spec.starts_after == ("w-0-x",)
    assert rendered(pcs, "w-0-s-1-c").spec.starts_after == ()


@QUICK
@given(workloads())
def test_cliques_wait_only_for_others_of_their_gang_and_never_in_a_circle(
    pcs: PodCliqueSet,
) -> None:
    for gang in expand(pcs, {}).gangs:
        waits = {member.name: set(starts_after(pcs, member)) for member in gang.cliques}
        assert set().union(*waits.values()) <= set(waits)
        while ready := {name for name, parents in waits.items() if not parents}:
            waits = {n: parents - ready for n, parents in waits.items() if n not in ready}
        assert not waits


@QUICK
@given(workloads())
def test_rendering_is_repeatable_and_changes_nothing(pcs: PodCliqueSet) -> None:
    before = pcs.model_copy(deep=True)
    for instance in expand(pcs, {}).cliques:
        first = manifest_of(pcs, instance.name)
        assert manifest_of(pcs.model_copy(deep=True), instance.name) == first
        assert PodClique.model_validate(first).metadata.name == instance.name
    assert pcs == before
