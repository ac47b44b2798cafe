"""Only pods are sent to the process node, and a manifest given is not changed."""

import copy
import json
from typing import Any

import pytest

from local_cluster.process_node.placement import (
    LABEL,
    TAINT,
    TOLERATION,
    dedicated_namespace,
    place_on_process_node,
)

POD_SPEC: dict[str, Any] = {"containers": [], "nodeSelector": {"a": "b"}}
TEMPLATE = {"template": {"spec": POD_SPEC}}


@pytest.mark.parametrize(
    ("kind", "spec", "path"),
    [
        ("Pod", POD_SPEC, ()),
        ("Deployment", TEMPLATE, ("template", "spec")),
        ("StatefulSet", TEMPLATE, ("template", "spec")),
        ("Job", TEMPLATE, ("template", "spec")),
        (
            "CronJob",
            {"jobTemplate": {"spec": TEMPLATE}},
            ("jobTemplate", "spec", "template", "spec"),
        ),
    ],
)
def test_pods_are_bound_for_the_process_node(kind: str, spec: Any, path: tuple[str, ...]) -> None:
    manifest = {"kind": kind, "spec": spec}
    before = copy.deepcopy(manifest)
    placed = place_on_process_node(manifest)["spec"]
    for step in path:
        placed = placed[step]
    assert placed["nodeSelector"] == {"a": "b", LABEL: "true"}
    (toleration,) = placed["tolerations"]
    assert (toleration["key"], toleration["effect"]) == (TAINT["key"], TAINT["effect"])
    assert manifest == before


def test_placing_twice_is_placing_once() -> None:
    once = place_on_process_node({"kind": "Deployment", "spec": TEMPLATE})
    assert place_on_process_node(once) == once


@pytest.mark.parametrize(
    "manifest", [{"kind": "ConfigMap", "data": {}}, {"kind": "Service", "spec": {"ports": []}}]
)
def test_what_has_no_pods_stays_as_it_is(manifest: dict[str, Any]) -> None:
    assert place_on_process_node(manifest) == manifest


def test_a_dedicated_namespace_sends_its_pods_by_annotations() -> None:
    annotations = dedicated_namespace("place")["metadata"]["annotations"]
    assert annotations["scheduler.alpha.kubernetes.io/node-selector"] == f"{LABEL}=true"
    tolerated = annotations["scheduler.alpha.kubernetes.io/defaultTolerations"]
    assert json.loads(tolerated) == [TOLERATION]
