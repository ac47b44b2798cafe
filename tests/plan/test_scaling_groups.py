"""A scaling group carries what its controller and autoscalers need."""

from core_operator.plan.layout.expansion import expand
from core_operator.plan.manifests.scaling_groups import scaling_group
from shared_api.models import PodCliqueScalingGroup, PodCliqueSet
from tests.plan.samples import NAMESPACE, SET_UID, clique, group, pod_clique_set, worked_example


def rendered(pcs: PodCliqueSet, live: dict[str, int] | None = None) -> PodCliqueScalingGroup:
    return PodCliqueScalingGroup.model_validate(
        scaling_group(pcs, expand(pcs, live or {}).groups[0])
    )


def test_the_group_of_the_worked_example() -> None:
    pcs = worked_example()
    assert scaling_group(pcs, expand(pcs, {}).groups[0]) == {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueScalingGroup",
        "metadata": {
            "name": "w-0-s",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "app.kubernetes.io/name": "w-0-s",
                "app.kubernetes.io/component": "pcs-podcliquescalinggroup",
                "grove.io/podcliqueset-replica-index": "0",
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
        "spec": {"replicas": 3, "minAvailable": 1, "cliqueNames": ["b", "c"]},
    }


def test_a_group_that_was_scaled_keeps_its_size() -> None:
    assert rendered(worked_example(), {"w-0-s": 7}).spec.replicas == 7


def test_of_the_sets_annotations_only_the_fabric_group_is_inherited() -> None:
    annotations = {"grove.io/mnnvl-group": "rack", "team": "x"}
    pcs = worked_example(metadata={"annotations": annotations})
    assert rendered(pcs).metadata.annotations == {"grove.io/mnnvl-group": "rack"}


def test_a_groups_own_annotations_win() -> None:
    own = {"grove.io/mnnvl-group": "none", "note": "y"}
    pcs = pod_clique_set(
        clique("b"),
        groups=(group("s", "b", annotations=own),),
        metadata={"annotations": {"grove.io/mnnvl-group": "rack"}},
    )
    assert rendered(pcs).metadata.annotations == own
