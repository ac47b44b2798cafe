"""Which changes reconcile a key, and which do not."""

import msgspec

from core_operator.plan.manifests.autoscalers import Autoscaler, AutoscalerStatus
from core_operator.watches import predicates
from core_operator.watches.gang_predicates import pods_can_be_created
from core_operator.watches.keys import cliques_of_gang
from shared_api import names
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.pods import Pod, PodCondition, PodSpec, PodStatus, SchedulingGate
from shared_api.models import PodGang, SchedulerBackend
from shared_api.runtime.applying.applied_fields import Applied, applied
from tests.core.stand_in import record

HELD = Pod(
    Metadata(name="p", namespace="n", uid="u", labels={names.LABEL_PODGANG: "g"}),
    PodSpec(scheduling_gates=(SchedulingGate("example.com/gate"),)),
)
FREE = msgspec.structs.replace(HELD, spec=PodSpec())
BOUND = msgspec.structs.replace(HELD, spec=PodSpec(node_name="node-0"))
READY = msgspec.structs.replace(
    BOUND, status=PodStatus(phase="Running", conditions=(PodCondition("Ready", "True"),))
)
FAILED = msgspec.structs.replace(READY, status=PodStatus(phase="Failed"))


PUBLISHED = {"podPreparations": [{"name": "c", "members": {"labels": {"a": "b"}}}]}


def gang(**status: object) -> Applied[PodGang]:
    manifest = {
        "metadata": {"name": "g", "namespace": "n", "uid": "u"},
        "spec": {"podgroups": [{"name": "c", "podReferences": [], "minReplicas": 1}]},
        "status": status,
    }
    return applied(PodGang)(PodGang.model_validate(manifest), {})


def backend(available: str, **spec: object) -> Applied[SchedulerBackend]:
    manifest = record("b", **spec)
    said = {"type": names.CONDITION_AVAILABLE, "status": available, "reason": "R", "message": ""}
    manifest["metadata"]["generation"] = len(spec) + 1
    manifest["status"] = {"conditions": [{**said, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    return applied(SchedulerBackend)(SchedulerBackend.model_validate(manifest), {})


def test_a_podclique_is_woken_when_a_pod_is_lost_and_not_on_its_way() -> None:
    assert not predicates.pod_ended_or_drifted(None, HELD)
    assert not predicates.pod_ended_or_drifted(HELD, FREE)
    assert not predicates.pod_ended_or_drifted(BOUND, READY)
    assert predicates.pod_ended_or_drifted(READY, FAILED)
    assert predicates.pod_ended_or_drifted(READY, None)


def test_a_gang_is_woken_by_what_brings_it_further_and_not_by_readiness() -> None:
    assert predicates.pod_progressed(None, HELD)
    assert predicates.pod_progressed(HELD, FREE)
    assert predicates.pod_progressed(FREE, BOUND)
    assert predicates.pod_progressed(READY, None)
    assert not predicates.pod_progressed(BOUND, READY)


def test_marks_of_others_on_a_pod_are_no_news_and_ours_are() -> None:
    theirs = {**HELD.metadata.labels, "topology.kubernetes.io/zone": "z"}
    ours = {**HELD.metadata.labels, names.LABEL_POD_INDEX: "7"}
    zoned, drifted = (
        msgspec.structs.replace(
            HELD, metadata=msgspec.structs.replace(HELD.metadata, labels=labels)
        )
        for labels in (theirs, ours)
    )
    annotated = msgspec.structs.replace(HELD.metadata, annotations={"example.com/cni": "up"})
    assert not predicates.pod_ended_or_drifted(HELD, zoned)
    assert not predicates.pod_progressed(HELD, zoned)
    assert not predicates.pod_progressed(HELD, msgspec.structs.replace(HELD, metadata=annotated))
    assert predicates.pod_ended_or_drifted(HELD, drifted)
    assert predicates.pod_progressed(HELD, drifted)


def test_readiness_that_comes_or_goes_is_told_soon() -> None:
    assert predicates.readiness_changed(BOUND, READY)
    assert predicates.readiness_changed(READY, FAILED)
    assert predicates.readiness_changed(READY, None)
    assert not predicates.readiness_changed(HELD, FREE)
    assert not predicates.readiness_changed(None, HELD)


def test_pods_are_tried_again_when_their_preparation_is_published() -> None:
    bare = gang()
    published = gang(**PUBLISHED)
    assert pods_can_be_created(None, bare)
    assert pods_can_be_created(bare, published)
    assert pods_can_be_created(published, gang(**PUBLISHED, incarnation=1))
    assert not pods_can_be_created(bare, gang(phase="Running"))
    assert not pods_can_be_created(bare, None)
    assert list(cliques_of_gang(bare)) == [ObjectKey("n", "c")]


def test_gangs_look_again_when_a_backend_changes_and_not_at_its_heartbeat() -> None:
    alive, dead = backend("True"), backend("False")
    beating = backend("True")
    assert not predicates.backend_changed(alive, beating)
    assert predicates.backend_changed(alive, dead)
    assert predicates.backend_changed(alive, backend("True", capabilities=["Gang"]))
    assert predicates.backend_changed(None, alive)
    assert predicates.backend_changed(alive, None)
    assert not predicates.backend_readiness_changed(alive, beating)
    assert predicates.backend_readiness_changed(alive, dead), "somebody else wrote it, or we did"


def test_an_owner_looks_when_a_child_is_changed_or_gone_and_not_when_it_appears() -> None:
    assert not predicates.deleted_or_changed(None, HELD)
    assert predicates.deleted_or_changed(HELD, None)
    assert predicates.is_deleted(HELD, None)
    assert predicates.is_created(None, HELD)


def test_an_order_advances_by_readiness_and_by_a_node_for_one_who_waits() -> None:
    waits = msgspec.structs.replace(
        HELD.metadata, annotations={names.ANNOTATION_STARTUP_ORDER: "after a"}
    )
    unplaced = msgspec.structs.replace(FREE, metadata=waits)
    placed = msgspec.structs.replace(BOUND, metadata=waits)
    assert predicates.startup_order_may_advance(BOUND, READY)
    assert predicates.startup_order_may_advance(None, READY)
    assert predicates.startup_order_may_advance(unplaced, placed)
    assert predicates.startup_order_may_advance(None, placed)
    assert not predicates.startup_order_may_advance(FREE, BOUND)
    assert not predicates.startup_order_may_advance(unplaced, unplaced)
    assert not predicates.startup_order_may_advance(READY, None)


def autoscaler(applied_by_core: bytes, current: int = 0) -> Applied[Autoscaler]:
    value = Autoscaler(Metadata(name="h", uid="u"), AutoscalerStatus(current))
    return applied(Autoscaler)(value, {(names.FIELD_MANAGER_CORE, ""): applied_by_core})


def test_a_set_mends_its_autoscalers_and_does_not_hear_of_what_they_measure() -> None:
    asis = autoscaler(b"as core applied it")
    assert not predicates.autoscaler_drifted(None, asis)
    assert not predicates.autoscaler_drifted(asis, autoscaler(b"as core applied it", current=3))
    assert predicates.autoscaler_drifted(asis, autoscaler(b"drifted"))
    assert predicates.autoscaler_drifted(asis, None)
