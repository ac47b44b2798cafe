"""What wakes a backend and what does not."""

from typing import Any

import msgspec

from backend_controllers.generic import predicates as wakes
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import Metadata, OwnerReference
from shared_api.kube.pods import PodCondition, PodSpec, PodStatus, SchedulingGate
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.watching.predicates import Watched
from tests.backends.generic.samples import gang, going, pod

US = "backend/flock"
KEPT: Any = applied(LooseObject)
bent = wakes.bent(US)


def kept(ours: bytes, *, status: dict[str, Any] | None = None, **metadata: Any) -> Any:
    value = LooseObject(Metadata(name="g", uid="u", **metadata), {}, status or {})
    return KEPT(value, {(US, ""): ours})


def test_a_change_of_what_we_applied_is_repaired() -> None:
    assert bent(kept(b"1"), kept(b"2"))
    assert bent(kept(b"1"), None)
    assert bent(kept(b"1"), kept(b"1", deletion_timestamp="now"))
    owner = OwnerReference("v1", "PodGang", "g", "other", controller=True)
    assert bent(kept(b"1"), kept(b"1", owner_references=(owner,)))


def test_neither_our_own_new_object_nor_a_status_is_a_reason_to_translate() -> None:
    assert not bent(None, kept(b"1"))
    assert not bent(kept(b"1", generation=0), kept(b"1", status={"phase": "x"}))


def test_of_our_own_objects_only_what_the_scheduler_says_is_news() -> None:
    said, more = kept(b"1", status={"phase": "x"}), kept(b"1", status={"phase": "x", "n": 1})
    for tells in (None, lambda value: value.status.get("phase")):
        tells_other = wakes.tells_other(tells)
        assert tells_other(said, None)
        assert tells_other(kept(b"1"), said)
        assert tells_other(said, more) is (tells is None)


def test_an_object_that_comes_is_news_only_if_somebody_has_written_into_it() -> None:
    said = kept(b"1", labels={"a": "b"}, status={"phase": "x"})
    for tells in (None, lambda value: value.status.get("phase")):
        tells_other = wakes.tells_other(tells)
        assert not tells_other(None, kept(b"1", labels={"a": "b"}))
        assert tells_other(None, said)


def test_only_what_a_projection_shows_is_news() -> None:
    def shown(version: str, phase: str) -> Watched:
        return kept(b"1", status={"phase": phase}, resource_version=version)  # type: ignore[no-any-return]

    assert not wakes.shows_other(shown("1", "a"), shown("2", "a"))
    assert wakes.shows_other(shown("1", "a"), shown("2", "b"))
    assert wakes.shows_other(None, shown("1", "a"))
    plain = LooseObject(Metadata(name="q", resource_version="1"))
    again = LooseObject(Metadata(name="q", resource_version="2"))
    assert not wakes.shows_other(plain, again)


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
    assert wakes.status_differs(said, gang(("a", 1, 1)))
    assert wakes.status_differs(said, others)
    assert wakes.status_differs(said, overwritten)
    assert wakes.status_differs(said, gang(("a", 1, 1), status={"phase": "Running"}))
    assert not wakes.status_differs(said, said)
    assert not wakes.status_differs(others, gang(("a", 1, 1)))


def test_a_pod_is_news_when_it_gets_further_or_is_thrown_back() -> None:
    held = pod("a-0", node="")
    assert not wakes.pod_moved_on(None, held)
    assert wakes.pod_moved_on(None, pod("a-0"))
    assert wakes.pod_moved_on(held, msgspec.structs.replace(held, spec=PodSpec(node_name="n")))
    assert wakes.pod_moved_on(pod("a-0"), pod("a-0", ready=True))
    assert wakes.pod_moved_on(pod("a-0"), going(pod("a-0")))
    assert wakes.pod_moved_on(pod("a-0"), None)


def test_of_a_pods_conditions_only_those_that_are_told_are_news() -> None:
    def saying(*conditions: PodCondition) -> Any:
        return pod("a-0", status=PodStatus(phase="Pending", conditions=conditions))

    full = PodCondition("PodScheduled", "False", "Unschedulable", "no room")
    assert wakes.pod_moved_on(saying(), saying(full))
    started = PodCondition("PodReadyToStartContainers", "True")
    assert not wakes.pod_moved_on(saying(full), saying(full, started))


def test_a_translation_that_follows_pods_follows_their_gates_nodes_and_ends() -> None:
    held = pod("a-0", node="")
    gated = msgspec.structs.replace(held, spec=PodSpec(scheduling_gates=(SchedulingGate("g"),)))
    bound = msgspec.structs.replace(held, spec=PodSpec(node_name="n"))
    ended = msgspec.structs.replace(held, status=PodStatus(phase="Failed"))
    for old, new in ((None, held), (held, None), (gated, held), (held, bound), (held, ended)):
        assert wakes.pod_freed_or_lost(old, new)
    assert wakes.pod_freed_or_lost(bound, going(bound))
    assert not wakes.pod_freed_or_lost(pod("a-0"), pod("a-0", ready=True))
