"""A gang that does not fit says what it needs, what exists, how much fits, and what would help."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.pod_counts import count
from backend_controllers.contract.shortage import demands_of, shortage, unit_of
from shared_api.capacity.nodes import ListedNode, PlannedPod
from shared_api.capacity.supply import Supply, allocatable
from shared_api.kube.podgangs import ObservedPodGang

GPU = "nvidia.com/gpu"
RACK = "example.com/rack"


def node(name: str, gpus: int, **labels: str) -> ListedNode:
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": {"name": name, **labels}},
            "status": {"allocatable": {GPU: str(gpus), "cpu": "64", "pods": "110"}},
        },
        ListedNode,
    )


def template(gpus: int, **fields: Any) -> PlannedPod:
    container = {"name": "main", "resources": {"limits": {GPU: str(gpus)}}}
    return msgspec.convert({"containers": [container], **fields}, PlannedPod)


def gang(*groups: tuple[str, int], level: str = "") -> ObservedPodGang:
    spec: dict[str, Any] = {
        "podgroups": [
            {"name": f"w-0-{name}", "minReplicas": minimum, "podReferences": []}
            for name, minimum in groups
        ]
    }
    if level:
        spec["topologyConstraint"] = {"packConstraint": {"required": level}}
    return msgspec.convert({"metadata": {"name": "w-0"}, "spec": spec}, ObservedPodGang)


def explained(
    about: ObservedPodGang, templates: Mapping[str, PlannedPod], *nodes: ListedNode, message: str
) -> str:
    named = {f"w-0-{name}": found for name, found in templates.items()}
    demands = demands_of(about, count(about, ()), named)
    by_name = {one.metadata.name: one for one in nodes}
    supply = Supply(by_name, {name: allocatable(one) for name, one in by_name.items()})
    wanted = sum(group.min_replicas for group in about.spec.podgroups)
    return shortage(unit_of(about, demands), supply).explain(message, wanted)


TEN = [node(f"n{i}", 4) for i in range(10)]
SHORT = f"0/10 nodes are available: 10 Insufficient {GPU}"


def test_a_gang_that_never_fits_names_need_supply_and_what_would_help() -> None:
    told = explained(gang(("a", 12)), {"a": template(4)}, *TEN, message=SHORT)
    assert told == (
        f"needs 48 {GPU} (12 pods x 4), 40 exist on 10 nodes, free: unknown; on empty nodes 10 of 12"
        f" pods fit; {SHORT}. Add nodes for 2 more pods of a (4 {GPU} each), or lower minAvailable of"
        " a to 10"
    )


def test_a_gang_that_fits_on_empty_nodes_waits_for_free_capacity() -> None:
    message = f"the gang fits 3 of 5: 10 Insufficient {GPU}."
    told = explained(gang(("a", 5)), {"a": template(4)}, *TEN, message=message)
    assert told == (
        f"needs 20 {GPU} (5 pods x 4), 40 exist on 10 nodes, free for 3 of 5 pods; the gang fits 3 of"
        f" 5: 10 Insufficient {GPU}. Free capacity, or add nodes"
    )


def test_a_message_about_something_else_gets_no_remedy_about_capacity() -> None:
    message = "0/10 nodes are available: 10 node(s) didn't match pod affinity rules"
    told = explained(gang(("a", 5)), {"a": template(4)}, *TEN, message=message)
    assert told.endswith(f"free: unknown; {message}")


def test_a_clique_that_alone_does_not_fit_is_named_and_so_is_a_pod_larger_than_any_node() -> None:
    templates = {"small": template(1), "large": template(8)}
    told = explained(gang(("small", 2), ("large", 2)), templates, *TEN, message=SHORT)
    assert "; clique large alone does not fit: 0 of 2 pods" in told
    assert f"; a pod of clique large needs 8 {GPU}, the largest node has 4" in told
    assert "small alone" not in told
    assert "lower minAvailable" not in told


def test_a_required_level_is_packed_by_domain_and_names_the_best() -> None:
    racks = [node(f"n{i}", 4, **{RACK: "r1" if i < 3 else "r2"}) for i in range(5)]
    told = explained(gang(("a", 4), level=RACK), {"a": template(4)}, *racks, message=SHORT)
    assert f"on empty nodes 3 of 4 pods fit in {RACK}=r1, the best domain" in told


def test_a_label_that_no_node_has_is_named() -> None:
    told = explained(gang(("a", 4), level=RACK), {"a": template(4)}, *TEN, message=SHORT)
    assert f"; no node has the label {RACK}, which a required topology level needs" in told
    assert told.endswith("Label the nodes, or correct the level in the ClusterTopologyBinding")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"nodeSelector": {"name": "n3"}}, "4 exist on 1 node,"),
        ({"nodeSelector": {"name": "none"}}, "0 exist on 0 nodes,"),
    ],
)
def test_only_nodes_that_admit_the_pods_count(fields: dict[str, Any], expected: str) -> None:
    told = explained(gang(("a", 2)), {"a": template(4, **fields)}, *TEN, message=SHORT)
    assert expected in told
