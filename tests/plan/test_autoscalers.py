"""Autoscalers: which there are, what they scale, and what they remember."""

import msgspec
import pytest

from core_operator.plan.layout.expansion import expand
from core_operator.plan.manifests.autoscalers import (
    Autoscaler,
    AutoscalerStatus,
    autoscaled,
    autoscalers,
    remembered_groups,
    remembered_size,
    rival_autoscalers,
)
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.models import AutoScalingConfig, JsonObject, PodCliqueSet
from tests.plan.samples import NAMESPACE, SET_UID, clique, group, pod_clique_set

METRIC: JsonObject = {"type": "Resource", "resource": {"name": "cpu"}}


def test_other_autoscalers_of_the_same_pods_are_named_with_a_command() -> None:
    own = {"name": "w-0-a", "namespace": "n"}
    listed = "pods by selector x=y are controlled by multiple HPAs: [n/w-0-a n/mine n/yours]"
    status = {"conditions": [{"reason": "AmbiguousSelector", "message": listed}]}
    found = msgspec.convert({"metadata": own, "status": status}, Autoscaler)
    assert rival_autoscalers([found]) == (
        "HorizontalPodAutoscaler w-0-a does not scale: the same pods are scaled by n/mine, n/yours."
        " Delete one of them: kubectl -n n delete hpa mine"
    )
    assert not rival_autoscalers([msgspec.convert({"metadata": own}, Autoscaler)])


def workload(**more: object) -> PodCliqueSet:
    """One clique and one group that scale themselves, and one of each that do not."""
    scaled: dict[str, object] = {"autoScalingConfig": {"maxReplicas": 5, "metrics": [METRIC]}}
    bounds: dict[str, object] = {"minReplicas": 2, "maxReplicas": 6}
    return pod_clique_set(
        clique("a", 3, 1, spec=scaled),
        clique("b", 2),
        clique("c"),
        clique("d"),
        groups=(group("g", "c", replicas=2, scaleConfig=bounds), group("h", "d")),
        **more,  # type: ignore[arg-type]
    )


def planned(pcs: PodCliqueSet) -> list[JsonObject]:
    return list(autoscalers(pcs, expand(pcs, {})))


def test_each_replica_has_its_own_autoscalers_under_the_names_of_what_they_scale() -> None:
    pcs = workload(replicas=2)
    named = [scaled.name for scaled in autoscaled(expand(pcs, {}))]
    assert named == ["w-0-a", "w-1-a", "w-0-g", "w-1-g"]
    assert [found["metadata"]["name"] for found in planned(pcs)] == named  # type: ignore[index,call-overload]


def test_an_autoscaler_is_labelled_owned_and_aimed_as_in_grove() -> None:
    of_clique, of_group = planned(workload())
    assert of_clique == {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": "w-0-a",
            "namespace": NAMESPACE,
            "labels": {
                names.LABEL_MANAGED_BY: names.MANAGED_BY,
                names.LABEL_PART_OF: "w",
                names.LABEL_APP_NAME: "w-0-a",
                names.LABEL_COMPONENT: "pcs-hpa",
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
            "scaleTargetRef": {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "PodClique",
                "name": "w-0-a",
            },
            # Not said, so what the set begins with.
            "minReplicas": 3,
            "maxReplicas": 5,
            "metrics": [METRIC],
        },
    }
    assert of_group["spec"] == {
        "scaleTargetRef": {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueScalingGroup",
            "name": "w-0-g",
        },
        "minReplicas": 2,
        "maxReplicas": 6,
    }


def test_a_set_that_asks_for_none_has_none() -> None:
    assert planned(pod_clique_set(clique("a"), groups=(group("g", "a"),))) == []


def known(name: str, desired: int, current: int = 0) -> Autoscaler:
    return Autoscaler(Metadata(name=name), AutoscalerStatus(current, desired))


@pytest.mark.parametrize(
    ("desired", "current", "size"),
    [
        (0, 0, 3),
        (5, 4, 5),
        (0, 4, 4),
        (1, 0, 2),
        (9, 0, 6),
    ],
    ids=["knows nothing", "wanted", "only seen", "below the bounds", "above the bounds"],
)
def test_what_is_made_again_has_the_size_that_its_autoscaler_last_wanted(
    desired: int, current: int, size: int
) -> None:
    bounds = AutoScalingConfig(min_replicas=2, max_replicas=6)
    assert remembered_size(known("w-0-a", desired, current), bounds, 3) == size


def test_without_an_autoscaler_the_set_reports_the_size() -> None:
    bounds = AutoScalingConfig(max_replicas=6)
    assert remembered_size(None, bounds, 3) == 3
    # One that is about to go, since the template does not ask for it any more.
    assert remembered_size(known("w-0-a", 5), None, 3) == 3


def test_a_group_that_is_made_again_has_its_last_size() -> None:
    pcs = workload(replicas=2)
    assert remembered_groups(pcs, []) == {}
    sizes = remembered_groups(pcs, [known("w-1-g", 5), known("w-0-h", 5), known("w-0-a", 4)])
    assert sizes == {"w-0-g": 2, "w-1-g": 5, "w-0-h": 1, "w-1-h": 1}
    found = {found.name: found.replicas for found in expand(pcs, sizes).groups}
    assert found["w-1-g"] == 5
