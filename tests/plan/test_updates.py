"""Whose turn an update is, and what of it may be replaced now."""

from datetime import timedelta
from typing import Any

import pytest

from core_operator.plan.layout.expansion import expand
from core_operator.plan.manifests.podcliques import standalone_podclique
from core_operator.plan.min_available import breaks_group_min_available, breaks_min_available
from core_operator.plan.pods.pod_plan import plan_pods
from core_operator.plan.pods.preparation import Preparation
from core_operator.plan.pods.replicas import (
    CliqueFacts,
    GroupFacts,
    GroupReplicaFacts,
    ReplicaFacts,
)
from core_operator.plan.statuses.update_progress import TargetRevision, clique_progress
from core_operator.plan.updates.progress import plan_progress
from core_operator.plan.updates.rolling import (
    Turn,
    next_replica,
    pods_to_replace,
    replicas_to_replace,
    updating_replica,
    with_live_template,
)
from core_operator.state.update_selections import UpdateSelections
from shared_api import names
from shared_api.models import OwnerReference, PodClique, PodCliqueSet
from tests.plan.pod_samples import (
    BACKEND,
    BOUND,
    NOW,
    READY,
    RELEASED,
    PodState,
    pod,
    podclique,
)
from tests.plan.samples import clique, pod_clique_set, pod_spec

OLD, NEW = "old", "new"
States = list[tuple[PodState, str]]


def facts(states: States, minimum: int = 1, said: str = NEW, name: str = "a") -> CliqueFacts:
    pods = [
        pod(index, state, clique=name, labels={names.LABEL_POD_TEMPLATE_HASH: made})
        for index, (state, made) in enumerate(states)
    ]
    return CliqueFacts(name, NEW, said, len(states), minimum, tuple(pods))


def replaced(states: States, minimum: int = 1) -> list[int]:
    found = facts(states, minimum)
    return [found.pods.index(one) for one in pods_to_replace(found)]


@pytest.mark.parametrize(
    ("states", "minimum", "expected"),
    [
        ([(READY, OLD), (READY, OLD)], 2, [0]),
        ([(READY, NEW), (READY, OLD)], 2, [1]),
        ([(BOUND, NEW), (READY, OLD)], 1, []),
        ([(RELEASED, NEW), (READY, OLD), (READY, OLD)], 1, []),
        ([(READY, OLD), (BOUND, OLD), (RELEASED, OLD)], 3, [1, 2]),
        ([(READY, OLD), (READY, OLD), (RELEASED, NEW)], 1, [0]),
        ([(READY, OLD), (READY, OLD), (RELEASED, NEW)], 2, []),
        ([(READY, NEW), (READY, NEW)], 2, []),
    ],
    ids=[
        "one-at-a-time",
        "the-next",
        "not-while-one-starts",
        "not-while-one-waits",
        "the-idle-at-once",
        "one-further-on-is-no-hindrance",
        "unless-the-minimum-needs-it",
        "done",
    ],
)
def test_one_pod_that_serves_goes_at_a_time(
    states: States, minimum: int, expected: list[int]
) -> None:
    assert replaced(states, minimum) == expected


@pytest.mark.parametrize(
    ("states", "minimum", "limit", "expected"),
    [
        ([(READY, OLD)] * 4, 1, 3, [0, 1, 2]),
        ([(READY, OLD)] * 4, 2, 3, [0, 1]),
        ([(READY, OLD)] * 4, 4, 3, [0]),
        ([(READY, OLD)] * 2, 1, 9, [0]),
        ([(BOUND, NEW), (READY, NEW), (READY, OLD), (READY, OLD)], 1, 2, [2]),
        ([(BOUND, NEW), (RELEASED, NEW), (READY, OLD), (READY, OLD)], 1, 2, []),
        ([(READY, OLD), (BOUND, OLD), (READY, OLD), (READY, OLD)], 1, 2, [1, 0]),
        ([(READY, OLD), (BOUND, OLD), (RELEASED, OLD), (READY, OLD)], 1, 2, [1, 2]),
        ([(READY, OLD), (BOUND, OLD), (READY, OLD)], 2, 2, [1]),
    ],
    ids=[
        "as-many-as-allowed",
        "never-below-the-minimum",
        "one-where-all-are-the-minimum",
        "not-all",
        "one-that-starts-counts",
        "not-while-as-many-start",
        "one-that-is-idle-counts",
        "all-idle-ones-at-once",
        "idle-and-at-the-minimum",
    ],
)
def test_as_many_pods_that_serve_go_at_a_time_as_max_unavailable_and_the_minimum_allow(
    states: States, minimum: int, limit: int, expected: list[int]
) -> None:
    found = facts(states, minimum)
    assert [found.pods.index(one) for one in pods_to_replace(found, limit)] == expected


def test_pods_that_are_missing_count_as_unavailable() -> None:
    found = facts([(READY, OLD)] * 3)
    short = CliqueFacts("a", NEW, NEW, 4, 1, found.pods)
    assert pods_to_replace(short, 1) == ()
    assert pods_to_replace(short, 2) == found.pods[:1]
    at_minimum = CliqueFacts("a", NEW, NEW, 4, 3, found.pods)
    assert pods_to_replace(at_minimum, 4) == ()


def test_a_podclique_that_was_not_given_the_template_yet_replaces_nothing() -> None:
    assert pods_to_replace(facts([(BOUND, OLD)], said=OLD)) == ()


def copies(*of: States, minimum: int = 1, limit: int = 1) -> frozenset[int]:
    found = tuple(GroupReplicaFacts(index, (facts(states),)) for index, states in enumerate(of))
    return replicas_to_replace(GroupFacts("g", minimum, found), limit)


def test_as_many_replicas_that_serve_go_at_a_time_as_max_unavailable_and_the_minimum_allow() -> (
    None
):
    good, old, down = [(READY, NEW)], [(READY, OLD)], [(BOUND, NEW)]
    assert copies(old, old, old, old, limit=2) == {0, 1}
    assert copies(old, old, old, old, minimum=3, limit=2) == {0}
    assert copies(old, old, minimum=2, limit=2) == {0}
    assert copies(down, good, old, old, limit=2) == {2}
    assert copies(down, down, old, old, limit=2) == frozenset()
    # One of which only some pods are deleted yet does not stop the other.
    assert copies([(BOUND, OLD)], old, old, old, limit=2) == {0, 1}


def test_one_replica_that_serves_goes_at_a_time() -> None:
    good, old, down = [(READY, NEW)], [(READY, OLD)], [(BOUND, NEW)]
    assert copies(old, old, minimum=2) == {0}
    assert copies(good, old, minimum=2) == {1}
    assert copies(down, old, old) == frozenset()
    assert copies(old, [(BOUND, OLD)], [(RELEASED, OLD)]) == {1, 2}
    assert copies(old, old, down) == {0}
    assert copies(old, old, down, minimum=2) == frozenset()


def replica(index: int, states: States, minimum: int = 2) -> ReplicaFacts:
    return ReplicaFacts(index, (facts(states, minimum),), ())


GOOD = [(READY, NEW), (READY, NEW)]
SERVING = [(READY, OLD), (READY, OLD)]
UNREADY = [(READY, OLD), (BOUND, OLD)]
UNSCHEDULED = [(READY, OLD), (RELEASED, OLD)]


@pytest.mark.parametrize(
    ("states", "current", "expected"),
    [
        ([SERVING, UNREADY, UNSCHEDULED], None, Turn(2)),
        ([SERVING, UNREADY, SERVING], None, Turn(1)),
        ([SERVING, SERVING], None, Turn(0)),
        ([SERVING, UNSCHEDULED], 0, Turn(0)),
        ([[(READY, NEW), (BOUND, NEW)], SERVING], 0, Turn(0)),
        ([GOOD, SERVING], 0, Turn(1)),
        ([[(READY, NEW), (BOUND, NEW)], SERVING], None, Turn(None, waits_for=0)),
        ([[(READY, NEW), (RELEASED, NEW)], SERVING], None, Turn(1)),
        ([GOOD, GOOD], 1, Turn(None)),
        ([GOOD], 7, Turn(None)),
    ],
    ids=[
        "unscheduled-first",
        "then-unready",
        "then-by-index",
        "what-was-begun-is-finished",
        "and-serves-again",
        "then-the-next",
        "another-one-starts",
        "another-one-has-no-room",
        "done",
        "scaled-in",
    ],
)
def test_the_worst_replica_is_next(
    states: list[States], current: int | None, expected: Turn
) -> None:
    replicas = [replica(index, of) for index, of in enumerate(states)]
    assert next_replica(replicas, current) == expected


def workload(*, strategy: Any = "RollingRecreate", **status: Any) -> PodCliqueSet:
    manifest = pod_clique_set(clique("a", 2), replicas=2).manifest()
    manifest["spec"]["updateStrategy"] = {"type": strategy}  # type: ignore[index, call-overload]
    return PodCliqueSet.model_validate({**manifest, "status": status})


def test_an_update_begins_goes_on_from_its_record_and_ends() -> None:
    first = plan_progress(workload(), "h1", [replica(0, GOOD)], {}, NOW)
    assert first.manifest() == {"currentGenerationHash": "h1"}
    replicas = [replica(0, SERVING), replica(1, SERVING)]
    begun = plan_progress(workload(currentGenerationHash="h1"), "h2", replicas, {}, NOW)
    assert (begun.is_active, begun.turn) == (True, Turn(0))
    assert begun.message == "0/2 replicas updated; replica 0: 0/2 pods updated"
    recorded = workload(**begun.manifest())
    assert updating_replica(recorded, "h2") == 0
    assert updating_replica(recorded, "h3") is None
    done = [replica(0, GOOD), replica(1, GOOD)]
    ended = plan_progress(recorded, "h2", done, {}, NOW + timedelta(minutes=1))
    assert not ended.is_active
    assert updating_replica(workload(**ended.manifest()), "h2") is None


def test_limits_that_the_user_wrote_are_in_the_message() -> None:
    manifest = workload(currentGenerationHash="h1").manifest()
    manifest["spec"]["template"]["cliques"][0]["rollingUpdate"] = {"maxUnavailable": 2}  # type: ignore[index, call-overload]
    pcs = PodCliqueSet.model_validate(manifest)
    begun = plan_progress(pcs, "h2", [replica(0, SERVING)], {}, NOW)
    assert begun.message.endswith("replica 0: 0/2 pods updated; at most 2 of a unavailable")


def with_deadline(seconds: int, **status: Any) -> PodCliqueSet:
    manifest = workload(**status).manifest()
    limits: Any = {"progressDeadlineSeconds": seconds}
    manifest["spec"]["updateStrategy"] = {"rollingUpdate": limits}  # type: ignore[index, call-overload]
    return PodCliqueSet.model_validate(manifest)


def test_an_update_without_another_ready_pod_is_late_after_its_deadline() -> None:
    half = [(READY, NEW), (READY, OLD)]
    late = NOW + timedelta(seconds=61)
    begun = plan_progress(
        with_deadline(60, currentGenerationHash="h1"), "h2", [replica(0, SERVING)], {}, NOW
    )
    assert (begun.reason, begun.deadline) == (
        "ReplicaUpdating",
        NOW.replace(microsecond=0) + timedelta(seconds=60),
    )
    recorded = with_deadline(60, **begun.manifest())
    stuck = plan_progress(recorded, "h2", [replica(0, SERVING)], {}, late)
    assert stuck.reason == "ProgressDeadlineExceeded"
    assert stuck.message == (
        f"no updated pod became ready since {NOW:%Y-%m-%dT%H:%M:%SZ}, progressDeadlineSeconds is 60:"
        " 0/1 replicas updated; replica 0: 0/2 pods updated. Correct the template, or apply the"
        " former one to roll back"
    )
    # The record of the pods that were ready survives a restart, and another pod is progress.
    moved = plan_progress(with_deadline(60, **stuck.manifest()), "h2", [replica(0, half)], {}, late)
    assert moved.reason == "ReplicaUpdating"
    assert moved.deadline == late.replace(microsecond=0) + timedelta(seconds=60)
    later = late + timedelta(seconds=61)
    again = plan_progress(
        with_deadline(60, **moved.manifest()), "h2", [replica(0, half)], {}, later
    )
    assert again.reason == "ProgressDeadlineExceeded"
    ended = plan_progress(
        with_deadline(60, **again.manifest()), "h2", [replica(0, GOOD)], {}, later
    )
    assert (ended.is_active, ended.deadline) == (False, None)
    assert "lastProgressAt" not in str(ended.manifest())


def test_an_update_without_a_deadline_records_no_progress_and_is_never_late() -> None:
    begun = plan_progress(
        with_deadline(60, currentGenerationHash="h1"), "h2", [replica(0, SERVING)], {}, NOW
    )
    plain = workload(**begun.manifest())
    found = plan_progress(plain, "h2", [replica(0, SERVING)], {}, NOW + timedelta(days=1))
    assert (found.reason, found.deadline) == ("ReplicaUpdating", None)
    assert "lastProgressAt" not in str(found.manifest())


def test_templates_that_change_again_begin_again_with_the_replica_that_was_begun() -> None:
    replicas = [replica(0, SERVING), replica(1, SERVING)]
    record = {"updateStartedAt": NOW, "currentlyUpdating": [{"replicaIndex": 1}]}
    pcs = workload(currentGenerationHash="h1", updateProgress=record)
    later = NOW + timedelta(minutes=1)
    begun = plan_progress(pcs, "h2", replicas, {}, later)
    assert begun.turn == Turn(1)
    assert begun.record is not None
    assert begun.record.update_started_at == later.replace(microsecond=0)


def test_on_delete_is_over_when_it_begins_and_ends_what_goes_on() -> None:
    replicas = [replica(0, SERVING)]
    begun = plan_progress(
        workload(strategy="OnDelete", currentGenerationHash="h1"), "h2", replicas, {}, NOW
    )
    assert not begun.is_active
    record = {"updateStartedAt": NOW, "currentlyUpdating": [{"replicaIndex": 0}]}
    pcs = workload(strategy="OnDelete", currentGenerationHash="h2", updateProgress=record)
    taken_over = plan_progress(pcs, "h2", replicas, {}, NOW)
    assert not taken_over.is_active
    assert updating_replica(workload(**taken_over.manifest()), "h2") is None
    # Back again, nothing is replaced: the PodCliques have the template, and pods are the user's.
    again = plan_progress(workload(**taken_over.manifest()), "h2", replicas, {}, NOW)
    assert not again.is_active


def test_a_podclique_that_has_to_wait_keeps_the_template_of_its_pods() -> None:
    def made(version: int, replicas: int | None = None) -> dict[str, Any]:
        template = clique("a", 2, pod=pod_spec(version=version), labels={"v": str(version)})
        pcs = pod_clique_set(template)
        instance = expand(pcs, {}).cliques[0]
        owner = OwnerReference(api_version="v1", kind="Any", name="o", uid="o")
        return standalone_podclique(pcs, instance, owner, replicas)

    live = PodClique.model_validate(made(1))
    kept = with_live_template(made(2, replicas=5), live)
    expected = made(1, replicas=5)
    assert kept == expected


def test_scaling_in_takes_surplus_pods_of_an_old_template_first() -> None:
    owner = podclique(2, 1, labels={names.LABEL_POD_TEMPLATE_HASH: NEW})
    made = [OLD, OLD, NEW, NEW]
    pods = [
        pod(index, READY, labels={names.LABEL_POD_TEMPLATE_HASH: template})
        for index, template in enumerate(made)
    ]
    plan = plan_pods(owner, pods, 1, Preparation(BACKEND))
    assert [one.index for one in plan.keep] == [0, 2]


def test_a_deletion_that_would_break_the_minimum_is_noticed() -> None:
    pods = facts(SERVING).pods
    assert breaks_min_available(pods, pods[:1], 2, 2, is_updating=False)
    assert not breaks_min_available(pods, pods[:1], 2, 2, is_updating=True)
    assert breaks_min_available(pods, pods, 2, 2, is_updating=True)
    assert not breaks_min_available(pods, pods[:1], 1, 2, is_updating=False)
    group = GroupFacts(
        "g", 1, (GroupReplicaFacts(0, (facts(SERVING),)), GroupReplicaFacts(1, (facts([]),)))
    )
    assert breaks_group_min_available(group, 0)
    assert not breaks_group_min_available(group, 1)


def test_pods_that_an_update_took_are_reported_in_their_order_until_it_ends() -> None:
    record = {
        "updateStartedAt": "2026-03-01T00:00:00Z",
        "podCliqueSetGenerationHash": "set",
        "podTemplateHash": "hash",
        "readyPodsSelectedToUpdate": {"current": "b", "completed": ["a"]},
    }
    updating = podclique(3, status={"updateProgress": record})
    before = updating.status
    assert before is not None

    def told(*selected: str, complete: bool = False) -> object:
        revision = TargetRevision("set", "hash", selected=selected)
        found = clique_progress(
            updating, before, revision, NOW, complete=complete, outdated=not complete
        )
        progress = found["updateProgress"]
        assert isinstance(progress, dict)
        return progress.get("readyPodsSelectedToUpdate")

    # After a restart only what came since is known here; what was told before stays.
    assert told("c") == {"current": "c", "completed": ["a", "b"]}
    assert told("a", "b") == told() == {"current": "b", "completed": ["a"]}
    assert told("c", complete=True) is None


def test_only_pods_of_another_template_that_served_count_as_taken() -> None:
    selections, updating = UpdateSelections(), podclique(3)
    old, new = {names.LABEL_POD_TEMPLATE_HASH: "old"}, {names.LABEL_POD_TEMPLATE_HASH: "hash"}
    going = [pod(0, READY, labels=old), pod(1, BOUND, labels=old), pod(2, READY, labels=new)]
    selections.note(updating, going)
    selections.note(updating, going)
    assert selections.of(updating) == ("w-0-a-0",)
    other = podclique(3, labels={names.LABEL_POD_TEMPLATE_HASH: "next"})
    assert selections.of(other) == ()
    selections.forget(updating.metadata.uid or "")
    assert selections.of(updating) == ()
