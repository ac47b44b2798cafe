"""What wakes a backend and what does not."""

from typing import Any

import msgspec
import pytest

from backend_controllers.contract.declaration import Writes
from backend_controllers.generic import predicates
from backend_controllers.generic.caches import GANG, BackendCaches, by_gang
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import Metadata, ObservedOwnerReference
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import (
    ContainerState,
    ContainerStatus,
    ContainerWaiting,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    SchedulingGate,
)
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Changed
from tests.backends.generic.samples import gang, going, pod

US = "backend/flock"
KIND = Resource("example.com", "v1", "flocks", "Flock", True)
KEPT: Any = applied(LooseObject)
drifted = predicates.drifted(US)


def kept(ours: bytes, *, status: dict[str, Any] | None = None, **metadata: Any) -> Any:
    value = LooseObject(Metadata(name="g", uid="u", **metadata), {}, status or {})
    return KEPT(value, {(US, ""): ours})


def test_a_change_of_what_we_applied_is_repaired() -> None:
    assert drifted(kept(b"1"), kept(b"2"))
    assert drifted(kept(b"1"), None)
    assert drifted(kept(b"1"), kept(b"1", deletion_timestamp="now"))
    owner = ObservedOwnerReference("v1", "PodGang", "g", "other", controller=True)
    assert drifted(kept(b"1"), kept(b"1", owner_references=(owner,)))


def test_neither_our_own_new_object_nor_a_status_is_a_reason_to_translate() -> None:
    assert not drifted(None, kept(b"1"))
    assert not drifted(kept(b"1", generation=0), kept(b"1", status={"phase": "x"}))


def test_of_our_own_objects_only_what_the_scheduler_says_is_news() -> None:
    said, more = kept(b"1", status={"phase": "x"}), kept(b"1", status={"phase": "x", "n": 1})
    for tells in (None, lambda value: value.status.get("phase")):
        reports_differ = predicates.reports_differ(Writes(KIND, LooseObject, mirrored_part=tells))
        assert reports_differ(said, None)
        assert reports_differ(kept(b"1"), said)
        assert reports_differ(said, more) is (tells is None)


def test_an_object_that_comes_is_news_only_if_somebody_has_written_into_it() -> None:
    said = kept(b"1", labels={"a": "b"}, status={"phase": "x"})
    for tells in (None, lambda value: value.status.get("phase")):
        reports_differ = predicates.reports_differ(Writes(KIND, LooseObject, mirrored_part=tells))
        assert not reports_differ(None, kept(b"1", labels={"a": "b"}))
        assert reports_differ(None, said)


def test_only_what_a_projection_shows_is_news() -> None:
    def shown(version: str, phase: str) -> Watched:
        return kept(b"1", status={"phase": phase}, resource_version=version)  # type: ignore[no-any-return]

    assert not predicates.content_differs(shown("1", "a"), shown("2", "a"))
    assert predicates.content_differs(shown("1", "a"), shown("2", "b"))
    assert predicates.content_differs(None, shown("1", "a"))
    plain = LooseObject(Metadata(name="q", resource_version="1"))
    again = LooseObject(Metadata(name="q", resource_version="2"))
    assert not predicates.content_differs(plain, again)


def test_only_a_change_of_what_the_backend_writes_into_a_status_wakes_it() -> None:
    entry = {
        "type": "Accepted",
        "status": "True",
        "reason": "Accepted",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    said = gang(("a", 1, 1), status={"conditions": [entry]})
    others = gang(("a", 1, 1), status={"conditions": [{**entry, "type": "Initialized"}]})
    overwritten = gang(("a", 1, 1), status={"conditions": [{**entry, "status": "False"}]})
    assert predicates.status_differs(said, gang(("a", 1, 1)))
    assert predicates.status_differs(said, others)
    assert predicates.status_differs(said, overwritten)
    assert predicates.status_differs(said, gang(("a", 1, 1), status={"phase": "Running"}))
    assert not predicates.status_differs(said, said)
    assert not predicates.status_differs(others, gang(("a", 1, 1)))


def test_a_pod_is_news_when_it_gets_further_or_is_thrown_back() -> None:
    held = pod("a-0", node="")
    assert not predicates.pod_changes_status(None, held)
    assert predicates.pod_changes_status(None, pod("a-0"))
    assert predicates.pod_changes_status(
        held, msgspec.structs.replace(held, spec=PodSpec(node_name="n"))
    )
    assert predicates.pod_changes_status(pod("a-0"), pod("a-0", ready=True))
    assert predicates.pod_changes_status(pod("a-0"), going(pod("a-0")))
    assert predicates.pod_changes_status(pod("a-0"), None)


def test_a_container_that_begins_to_fail_is_news_and_one_that_starts_is_not() -> None:
    def waiting(reason: str) -> Any:
        state = ContainerState(waiting=ContainerWaiting(reason))
        found = ContainerStatus("main", state=state, image="app:1")
        return pod("a-0", status=PodStatus(phase="Pending", container_statuses=(found,)))

    creating, pulls = waiting("ContainerCreating"), waiting("ErrImagePull")
    assert not predicates.pod_changes_status(pod("a-0"), creating)
    assert predicates.pod_changes_status(creating, pulls)
    assert predicates.pod_changes_status(pulls, creating)
    assert not predicates.pod_changes_status(pulls, waiting("ImagePullBackOff"))


def test_of_a_pods_conditions_only_those_that_are_told_are_news() -> None:
    def saying(*conditions: PodCondition) -> Any:
        return pod("a-0", status=PodStatus(phase="Pending", conditions=conditions))

    full = PodCondition("PodScheduled", "False", "Unschedulable", "no room")
    assert predicates.pod_changes_status(saying(), saying(full))
    started = PodCondition("PodReadyToStartContainers", "True")
    assert not predicates.pod_changes_status(saying(full), saying(full, started))


def test_a_translation_that_follows_pods_follows_their_gates_nodes_and_ends() -> None:
    held = pod("a-0", node="")
    gated = msgspec.structs.replace(held, spec=PodSpec(scheduling_gates=(SchedulingGate("g"),)))
    bound = msgspec.structs.replace(held, spec=PodSpec(node_name="n"))
    ended = msgspec.structs.replace(held, status=PodStatus(phase="Failed"))
    for old, new in ((None, held), (held, None), (gated, held), (held, bound), (held, ended)):
        assert predicates.pod_freed_or_lost(old, new)
    assert predicates.pod_freed_or_lost(bound, going(bound))
    assert not predicates.pod_freed_or_lost(pod("a-0"), pod("a-0", ready=True))


REJECTED = PodCondition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")
GATED = PodCondition("PodScheduled", "False", "SchedulingGated", "gates")


def waiting(*conditions: PodCondition) -> Pod:
    status = PodStatus(phase="Pending", conditions=conditions)
    return pod("a-0", node="", status=status)


def annotated(value: Pod, **annotations: str) -> Pod:
    metadata = msgspec.structs.replace(value.metadata, annotations=annotations)
    return msgspec.structs.replace(value, metadata=metadata)


RUNNING = annotated(pod("a-0", ready=True), group="ours")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (waiting(GATED), waiting(REJECTED)),
        (waiting(REJECTED), pod("a-0")),
        (waiting(), annotated(waiting(), note="x")),
        (RUNNING, going(RUNNING)),
        (RUNNING, annotated(pod("a-0"), group="ours")),
        (RUNNING, annotated(pod("a-0", status=PodStatus(phase="Failed")), group="ours")),
        (RUNNING, annotated(RUNNING, group="other")),
        (RUNNING, None),
    ],
    ids=["rejected", "bound", "note", "going", "not-ready", "failed", "note-changed", "gone"],
)
def test_a_pod_that_changes_the_status_of_its_gang_adds_the_gang(old: Pod, new: Pod | None) -> None:
    assert predicates.pod_changes_status(old, new)


def test_a_condition_that_repeats_the_binding_changes_no_status() -> None:
    conditions = (*RUNNING.status.conditions, PodCondition("PodBound", "True", "Bound"))
    again = msgspec.structs.replace(RUNNING.status, conditions=conditions)
    assert not predicates.pod_changes_status(
        RUNNING, msgspec.structs.replace(RUNNING, status=again)
    )
    assert not predicates.pod_changes_status(waiting(), waiting(GATED))


@pytest.mark.parametrize(
    ("node", "after", "recounted"),
    [
        ("node", gang(("a", 1, 3)), True),
        ("node", gang(("a", 2, 2)), True),
        ("node", gang(("a", 2, 3)), False),
        ("", gang(("a", 1, 3)), False),
    ],
    ids=["minimum", "references", "same", "nothing-bound"],
)
def test_a_gang_that_counts_otherwise_is_recounted_once_pods_are_bound(
    node: str, after: ObservedPodGang, recounted: bool
) -> None:
    caches = BackendCaches(Cache(), Cache({GANG: by_gang}))
    caches.pods.take(Changed(pod("a-0", node=node)))
    before = gang(("a", 2, 3))
    older = msgspec.structs.replace(before.metadata, generation=1)
    is_recounted = predicates.gang_is_recounted(caches)
    assert is_recounted(msgspec.structs.replace(before, metadata=older), after) is recounted
    assert not is_recounted(before, after)
