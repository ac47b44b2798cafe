"""Core and the backends agree on which pods are members of a gang."""

from dataclasses import replace

import pytest

from backend_controllers.contract.pod_counts import count
from core_operator.plan.pods.gang_pods import GroupPods
from core_operator.plan.pods.preparation import Preparation
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import (
    ObservedPodGang,
    ObservedPodGangSpec,
    ObservedPodGroup,
    ObservedReference,
)
from tests.plan.pod_samples import BACKEND, BOUND, CLIQUE, GATE, GATED, pod

MINIMUM = 2


@pytest.mark.parametrize(
    ("index", "is_member"),
    [
        ("0", True),
        ("1", True),
        ("2", False),
        (None, False),
        ("", False),
        ("-1", False),
        ("x", False),
    ],
)
def test_a_member_has_an_index_below_the_minimum(index: str | None, *, is_member: bool) -> None:
    bound = pod(index, BOUND, name="p")
    assert GroupPods(CLIQUE, MINIMUM, 2, (bound,), frozenset()).is_member(bound) is is_member
    for digest, wanted in ((f"{GATE}:members", is_member), (f"{GATE}:surplus", not is_member)):
        annotations = ((names.ANNOTATION_PREPARATION, digest),)
        gated = pod(index, replace(GATED, annotations=annotations))
        preparation = Preparation(BACKEND, MINIMUM, f"{GATE}:members", f"{GATE}:surplus")
        assert preparation.matches(gated) is wanted
    group = ObservedPodGroup(
        name=CLIQUE,
        min_replicas=MINIMUM,
        pod_references=(ObservedReference(namespace="", name="p"),),
    )
    gang = ObservedPodGang(
        metadata=Metadata(name="w-0"), spec=ObservedPodGangSpec(podgroups=(group,))
    )
    assert count(gang, [bound]).groups[0].scheduled == is_member
