"""What `topology` reports about racks with gangs, other pods and free GPUs."""

import pytest

from gangctl.rendering import plain
from gangctl.reports.topology import (
    UnknownLevelError,
    UnknownResourceError,
    topology_report,
    topology_view,
)
from gangctl.reports.view import Verdict
from gangctl.snapshot import ListedPod, Snapshot
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import made, metadata, node, snapshot, spec

LEVELS = [{"domain": "rack", "key": "rack"}, {"domain": "host", "key": "kubernetes.io/hostname"}]
BINDING = made(LooseObject, metadata={"name": "cluster"}, spec={"levels": LEVELS})
OTHER = made(
    ListedPod,
    metadata=metadata("notebook", uid="n"),
    spec=spec(4, nodeName="node-3"),
    status={"phase": "Running"},
)


def cluster(**changed: object) -> Snapshot:
    found = snapshot()
    return snapshot(pods=[*found.pods, OTHER], bindings=[BINDING], **changed)


def test_domains_show_what_gangs_and_other_pods_use_and_what_is_free() -> None:
    report = topology_report(cluster(), "rack")
    assert report.verdict is Verdict.FINE
    assert plain(topology_view(report)) == (
        "RACK     NODES   TOTAL   GANGS   OTHERS   FREE   nvidia.com/gpu\n"
        "rack-0   4       32      24      4        4      ██████████████████▓▓▓···\n"
        "rack-1   4       32      0       0        32     ························\n"
        "█ gangs  ▓ other pods  · free\n"
        "Other levels: host.\n"
    )


def test_without_a_level_the_narrowest_with_several_nodes_is_shown() -> None:
    assert topology_report(cluster()).level == "rack"
    assert topology_report(snapshot()).level == "host"


def test_the_key_of_a_node_label_is_a_level_too() -> None:
    assert [row.name for row in topology_report(snapshot(), "rack").domains] == ["rack-0", "rack-1"]


def test_an_unknown_level_names_those_that_exist() -> None:
    with pytest.raises(UnknownLevelError, match=r"No level row.* Levels: rack, host\."):
        topology_report(cluster(), "row")


def test_free_gpus_of_a_cordoned_node_are_not_free() -> None:
    nodes = [*map(node, range(7)), node(7, unschedulable=True)]
    row = topology_report(cluster(nodes=nodes), "rack").domains[1]
    assert (row.total, row.free, row.cordoned) == ("32", "24", 1)


def test_nodes_without_the_label_are_a_row_of_their_own() -> None:
    bare = made(type(node(0)), metadata={"name": "bare"}, status={"allocatable": {"pods": "10"}})
    shown = plain(topology_view(topology_report(cluster(nodes=[node(0), bare]), "rack")))
    assert "(no label)   1" in shown
    assert "1 node has no label rack: gangs that require rack cannot use them." in shown


def test_another_resource_can_be_shown() -> None:
    row = topology_report(cluster(), "rack", "pods").domains[0]
    assert (row.total, row.ours, row.others, row.free) == ("440", "3", "1", "436")


def test_a_resource_that_no_node_has_is_an_error_that_lists_those_that_exist() -> None:
    with pytest.raises(UnknownResourceError, match=r"Resources: nvidia.com/gpu, pods\."):
        topology_report(cluster(), "rack", "nvidia.com/gup")
