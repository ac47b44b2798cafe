"""The documents of the page: the same facts as the verbs, per object, with times instead of ages."""

from typing import Any

import msgspec

from gangctl.dashboard.activity import Sort, activity_document
from gangctl.dashboard.details import gang_details
from gangctl.dashboard.documents import (
    backend_documents,
    node_document,
    set_documents,
    topology_levels,
)
from gangctl.reports.view import Verdict
from gangctl.snapshot import Snapshot
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import ObjectKey
from tests.dashboard.fleet_scene import NOW, RACK
from tests.dashboard.fleets import usual
from tests.gangctl.scene import made


def of_set(namespace: str, name: str) -> dict[str, Any]:
    snapshot = usual().caches.of_set(ObjectKey(namespace, name), NOW)
    return {key: msgspec.to_builtins(doc) for key, doc in set_documents(snapshot).items()}


def test_a_set_has_a_document_and_each_of_its_gangs_has_one() -> None:
    found = of_set("research", "training")
    assert set(found) == {"set/research/training", "gang/research/training-0"}
    assert found["set/research/training"]["row"]["verdict"] == Verdict.WAITING


def test_a_gang_names_the_stage_that_blocks_and_since_when() -> None:
    gang = of_set("research", "training")["gang/research/training-0"]
    assert gang["blockedBy"] == "scheduled"
    assert gang["reason"] == "Unschedulable"
    assert gang["waitingSince"] == "2026-03-04T09:17:20Z"
    stages = {stage["name"]: stage for stage in gang["stages"]}
    assert stages["released"]["status"] == "True"
    assert stages["scheduled"]["count"] == "0/12"


def test_a_running_gang_waits_for_nothing() -> None:
    gang = of_set("serving", "llama-serve")["gang/serving/llama-serve-0"]
    assert (gang["verdict"], gang["blockedBy"], gang["waitingSince"]) == (Verdict.FINE, "", "")
    assert gang["gpus"] == 32


def test_documents_do_not_change_with_time() -> None:
    caches = usual().caches
    later = NOW.replace(hour=23)
    key = ObjectKey("research", "training")
    assert set_documents(caches.of_set(key, NOW)) == set_documents(caches.of_set(key, later))
    assert backend_documents(caches.of_backends(NOW)) == backend_documents(
        caches.of_backends(later)
    )


def test_the_version_of_a_gang_changes_with_its_pods() -> None:
    scene = usual()
    key = ObjectKey("research", "training")
    before = set_documents(scene.caches.of_set(key, NOW))["gang/research/training-0"]
    scene.waiting("training", "Scheduled", "Unschedulable", "", pods=12, gpus=4, since=760)
    after = set_documents(scene.caches.of_set(key, NOW))["gang/research/training-0"]
    assert msgspec.to_builtins(before)["version"] != msgspec.to_builtins(after)["version"]


def node(name: str) -> Any:
    caches = usual().caches
    found = caches.nodes.get(ObjectKey("", name))
    assert found is not None
    return node_document(found, caches.pods.by_index("node", name), [RACK])


def test_a_node_shows_what_gangs_and_others_use() -> None:
    full, mixed = node("node-0"), node("node-18")
    assert (full.total["gpu"], full.gangs["gpu"]) == (8, 8)
    assert (mixed.gangs.get("gpu", 0), mixed.others["gpu"]) == (0, 2)
    assert mixed.domains == {RACK: "rack-4"}
    assert [user.name for user in mixed.users] == ["batch/notebook-0"]


def test_a_tainted_node_names_the_taint() -> None:
    assert node("node-30").unschedulable == "taint example.com/maintenance"


def test_levels_come_from_the_bindings_or_from_usual_labels() -> None:
    levels = [{"domain": "zone", "key": "z"}, {"domain": "rack", "key": "r"}]
    binding = made(LooseObject, metadata={"name": "b"}, spec={"levels": levels})
    assert topology_levels([binding], ["example.com/block"]) == (("zone", "z"), ("rack", "r"))
    labels = ["example.com/rack", "topology.kubernetes.io/zone", "kubernetes.io/os"]
    assert topology_levels([], labels) == (
        ("zone", "topology.kubernetes.io/zone"),
        ("rack", "example.com/rack"),
    )


def everything(**changes: Any) -> Snapshot:
    caches = usual().caches
    caches.unread |= changes
    return caches.everything(NOW)


def test_details_have_the_numbers_of_why_and_where_the_gang_nearly_fits() -> None:
    found = gang_details(everything(), "research", "training-0", [RACK])
    assert found is not None
    assert any("10 of 12 pods fit" in sentence for sentence in found.sentences)
    shading = found.shading
    assert shading is not None
    assert (shading.wanted, shading.fitting) == (12, 10)
    assert shading.nodes["node-27"] == 2
    assert "node-0" not in shading.nodes
    assert "node-30" not in shading.nodes
    assert shading.domains[RACK]["rack-7"].fitting == 6
    assert not shading.domains[RACK]["rack-7"].is_complete
    assert [node.kind for node in found.objects] == ["PodClique"]
    assert len(found.objects[0].children) == 12


def test_details_of_a_running_gang_shade_nothing() -> None:
    found = gang_details(everything(), "serving", "llama-serve-0", [RACK])
    assert found is not None
    assert (found.sentences, found.shading) == ((), None)


def test_details_invent_no_capacity_that_is_not_known() -> None:
    found = gang_details(everything(pods="forbidden"), "research", "training-0", [RACK])
    assert found is not None
    assert found.shading is None
    assert "unknown" in found.sentences[0]


def test_a_gang_that_does_not_exist_has_no_details() -> None:
    assert gang_details(everything(), "research", "training-9", [RACK]) is None


def test_events_become_losses_preemptions_and_moves_with_their_cause() -> None:
    events = [event for cache in usual().caches.events.values() for event in cache]
    found = {event.reason: activity_document(event, "s") for event in events}
    assert found["PodLost"].sort is Sort.LOSS
    assert found["Preempted"].sort is Sort.PREEMPTION
    assert found["BackendMoved"].sort is Sort.MOVE
    assert "stopped reporting" in found["PodLost"].cause
    unknown = msgspec.structs.replace(events[0], reason="Other", type="Warning")
    assert activity_document(unknown, "").sort is Sort.PROBLEM
