"""Queues and topologies that KAI cannot use are reported before anything else."""

from typing import Any

import pytest

from backend_controllers.contract.declaration import Report
from backend_controllers.kai.api import BINDINGS
from backend_controllers.kai.installation import KaiFeatures
from backend_controllers.kai.mirroring import mirror
from tests.backends.kai.kit import (
    HOST,
    RACK,
    ZONE,
    GivenFacts,
    binding,
    gang,
    group,
    installed,
    mirrored,
    on_topology,
    pack,
    queue,
    topology,
)


def test_a_missing_queue_is_reported_before_anything_else_with_those_that_exist() -> None:
    found = mirrored(queue("root"), queue("lab", "root"), queues=False)
    assert found.reason == "QueueDoesNotExist"
    assert "queue 'team' does not exist. Create it" in found.message
    assert "label kai.scheduler/queue" in found.message
    assert found.message.endswith("(existing queues: lab)")


def test_a_queue_with_children_is_no_place_for_gangs() -> None:
    found = mirrored(queue("sub-b", "team"), queue("sub-a", "team"))
    assert found.reason == "QueueNotLeaf"
    assert "Set one of sub-a, sub-b" in found.message


def test_a_queue_whose_parent_is_missing_does_not_exist_for_kai() -> None:
    found = mirrored(queue("team", "mid"), queue("mid", "gone"), queues=False)
    assert found.reason == "QueueDoesNotExist"
    assert "the parent 'gone' of queue 'mid' does not exist" in found.message


def test_queues_in_a_circle_do_not_hang_the_mirror() -> None:
    assert mirrored(queue("team", "team"), queues=False).reason == "QueueNotLeaf"


@pytest.mark.parametrize(
    ("objects", "reason", "text"),
    [
        ((), "TopologyDoesNotExist", "nor ClusterTopologyBinding 'net' exists"),
        (
            ((BINDINGS, binding("net", ZONE, RACK)),),
            "TopologyDoesNotExist",
            "being created from ClusterTopologyBinding 'net'",
        ),
        (
            ((BINDINGS, binding("net", ZONE, RACK, kai="theirs")),),
            "TopologyDoesNotExist",
            "refers to Topology 'theirs', which does not exist",
        ),
        (
            (topology("net", ZONE, HOST),),
            "TopologyLevelDoesNotExist",
            f"Topology 'net' has no level {RACK}. Use one of its levels: {ZONE}, {HOST}",
        ),
        ((topology("net", ZONE, RACK),), "", ""),
    ],
)
def test_a_topology_that_is_missing_or_lacks_a_level_is_reported(
    objects: tuple[Any, ...], reason: str, text: str
) -> None:
    it = gang(group("web-0-main", 2, pack(RACK)), metadata=on_topology())
    found = mirrored(*objects, of=it)
    assert found.reason == reason
    assert text in found.message


def test_without_topologies_in_the_cluster_none_is_looked_for() -> None:
    class Unwatched(GivenFacts):
        def get(self, resource: Any, namespace: str, name: str) -> Any:
            assert resource.plural not in ("topologies", "clustertopologybindings")
            return super().get(resource, namespace, name)

    it = gang(group("web-0-main", 2, pack(RACK)), metadata=on_topology())
    assert mirror(installed(KaiFeatures(topology=False)), it, Unwatched()) == Report()
