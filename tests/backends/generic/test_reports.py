"""What is said about a gang, and how urgent it is to say it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from backend_controllers.contract.declaration import Report
from backend_controllers.contract.pod_counts import count, failures_of
from backend_controllers.generic.disruptions import Disruption
from backend_controllers.generic.gang_results import GangResult, GangStage
from backend_controllers.generic.reports import ReportedStatus, WriteUrgency, report, urgency
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import ContainerState, ContainerStatus, ContainerWaiting, Pod, PodStatus
from shared_api.models import PodPatch, PodPreparation, PodSpecPatch, SchedulingGroup
from tests.backends.generic.samples import gang, pod

NOW = datetime(2026, 5, 1, 12, 0, 0, 999, tzinfo=UTC)
LATER = datetime(2026, 5, 1, 13, 0, 0, tzinfo=UTC)
DONE = GangResult(GangStage.PROGRAMMED, generation=2)


def told(
    pods: list[Pod] | None = None,
    words: Report | None = None,
    result: GangResult = DONE,
    about: ObservedPodGang | None = None,
) -> ReportedStatus:
    about = about or gang(("a", 2, 2))
    return report(about, result, count(about, pods or []), words or Report())


def after(said: ReportedStatus) -> ObservedPodGang:
    """The gang once that was written."""
    return gang(("a", 2, 2), status=status_of(said))


def status_of(said: ReportedStatus, now: datetime = NOW) -> dict[str, Any]:
    status = said.manifest(gang(("a", 2, 2)), now)["status"]
    assert isinstance(status, dict)
    return status


def conditions(said: ReportedStatus) -> dict[str, tuple[str, str, str]]:
    found = status_of(said)["conditions"]
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found}


PLACED = [pod("a-0"), pod("a-1")]
FITS_2, FITS_4 = Report("NoRoom", "fits 2 of 5"), Report("NoRoom", "fits 4 of 5")
_LOOPS = ContainerState(waiting=ContainerWaiting("CrashLoopBackOff"))
_MAIN = ContainerStatus("main", state=_LOOPS, image="example/app:1")
FAILING = [
    structs.replace(pod("a-0"), status=PodStatus(container_statuses=(_MAIN,))),
    pod("a-1"),
]
RUNS = [pod("a-0", ready=True), pod("a-1", ready=True)]


def test_a_gang_that_was_just_written_down() -> None:
    assert conditions(told()) == {
        "Accepted": ("True", "Accepted", ""),
        "Programmed": ("True", "Programmed", ""),
        "Scheduled": ("False", "PodsPending", "0/2 pods scheduled"),
        "Ready": ("False", "PodsNotReady", "0/2 pods ready"),
    }
    assert status_of(told())["phase"] == "Pending"
    assert status_of(told())["observedGeneration"] == 2


def test_the_words_of_the_scheduler_follow_the_numbers() -> None:
    said = conditions(told([pod("a-0")], Report("Unschedulable", "0/5 nodes fit: cpu")))
    assert said["Scheduled"] == (
        "False",
        "Unschedulable",
        "1/2 pods scheduled: 0/5 nodes fit: cpu",
    )


def test_the_first_stage_that_is_not_passed_is_repeated_for_kubectl_get() -> None:
    refused = GangResult(GangStage.UNSUPPORTED, generation=2, refusals=("x",))
    rejected = GangResult(GangStage.REJECTED, "m", generation=2)
    shown = [
        status_of(told(pods, result=result)).get("backendBlocker", {}).get("reason")
        for pods, result in (
            ([], refused),
            ([], rejected),
            ([], DONE),
            (PLACED, DONE),
            (RUNS, DONE),
        )
    ]
    assert shown == ["Unsupported", "Rejected", "PodsPending", "PodsNotReady", None]


def test_a_placed_gang_has_no_use_for_old_words() -> None:
    said = conditions(told(PLACED, Report("Unschedulable", "no room")))
    assert said["Scheduled"] == ("True", "MinimumPlaced", "2/2 pods scheduled")
    assert status_of(told(PLACED))["phase"] == "Starting"
    assert status_of(told(RUNS))["phase"] == "Running"


def test_a_container_that_fails_is_named_with_its_image_and_a_pod() -> None:
    found = report(
        gang(("a", 2, 2)),
        DONE,
        count(gang(("a", 2, 2)), FAILING),
        Report(),
        None,
        failures_of(FAILING),
    )
    assert conditions(found)["Ready"][2] == (
        "0/2 pods ready; 1 in CrashLoopBackOff: container main, image example/app:1, pod a-0"
    )
    assert status_of(found)["backendBlocker"]["message"] == conditions(found)["Ready"][2]
    assert failures_of([pod("a-0", ready=True), pod("a-1")]) == {}


def test_a_gang_that_awaits_its_release_is_accepted_and_not_programmed() -> None:
    waits = GangResult(GangStage.AWAITING, "objects follow the release", generation=2)
    said = conditions(told(result=waits))
    assert said["Accepted"] == ("True", "Accepted", "")
    assert said["Programmed"] == ("False", "Awaiting", "objects follow the release")


def test_what_the_scheduler_cannot_do_is_listed() -> None:
    refused = GangResult(GangStage.UNSUPPORTED, generation=2, refusals=("one thing", "another"))
    said = conditions(told(result=refused))
    assert said["Accepted"] == (
        "False",
        "Unsupported",
        "not supported by the scheduler: one thing; another",
    )
    assert said["Programmed"][:2] == ("False", "NotAccepted")


def test_remarks_are_told_where_they_belong() -> None:
    remarked = GangResult(GangStage.PROGRAMMED, generation=2, remarks=("preferred rack",))
    said = conditions(told(words=Report(remarks=("two writers",)), result=remarked))
    assert said["Accepted"][2] == "not applied: preferred rack"
    assert said["Programmed"][2] == "two writers"


def test_a_disruption_is_told_and_taken_back() -> None:
    disrupted = told(PLACED, Report(disruption="preempted by w-1"))
    assert conditions(disrupted)["DisruptionTarget"] == ("True", "Preempted", "preempted by w-1")
    about = after(disrupted)
    assert conditions(told(PLACED, about=about))["DisruptionTarget"][0] == "False"
    assert "DisruptionTarget" not in conditions(told(PLACED))


def test_a_condition_is_dated_from_when_its_status_flipped() -> None:
    about = after(told())
    status = told(PLACED, about=about).manifest(about, LATER)["status"]
    assert isinstance(status, dict)
    listed: Any = status["conditions"]
    dates = {one["type"]: one["lastTransitionTime"] for one in listed}
    assert dates["Accepted"] == dates["Ready"] == "2026-05-01T12:00:00Z"
    assert dates["Scheduled"] == "2026-05-01T13:00:00Z"


def test_preparations_and_scores_are_part_of_the_status() -> None:
    prepared = GangResult(
        GangStage.PROGRAMMED, generation=2, preparations=(PodPreparation(name="a"),)
    )
    said = told(PLACED, Report(placement_score=0.5), result=prepared)
    assert status_of(said)["podPreparations"] == [{"name": "a"}]
    assert status_of(said)["placementScore"] == 0.5
    assert urgency(after(said).status, said) is WriteUrgency.NOTHING


def in_group(name: str) -> PodPatch:
    return PodPatch(spec=PodSpecPatch(scheduling_group=SchedulingGroup(pod_group_name=name)))


@pytest.mark.parametrize(
    ("published", "wanted", "soon"),
    [
        ({}, {}, WriteUrgency.NOTHING),
        ({}, {"members": None}, WriteUrgency.NOTHING),
        (
            {"members": PodPatch()},
            {"members": PodPatch(labels={}, spec=None)},
            WriteUrgency.NOTHING,
        ),
        ({"members": in_group("g")}, {"members": in_group("g")}, WriteUrgency.NOTHING),
        ({"members": in_group("g")}, {"members": in_group("h")}, WriteUrgency.NOW),
        ({"members": in_group("g")}, {"surplus": in_group("g")}, WriteUrgency.NOW),
        ({"members": PodPatch(labels={"a": "b"})}, {"members": PodPatch()}, WriteUrgency.NOW),
        # None is prepared like a member, an empty one like nothing.
        ({"surplus": None}, {"surplus": PodPatch()}, WriteUrgency.NOW),
    ],
)
def test_preparations_are_published_again_exactly_if_they_mean_something_else(
    published: dict[str, Any], wanted: dict[str, Any], soon: WriteUrgency
) -> None:
    said, then = (
        told(result=replace(DONE, preparations=(PodPreparation(name="a", **patches),)))
        for patches in (published, wanted)
    )
    assert urgency(after(said).status, then) is soon


def test_the_date_of_a_status_that_stays_is_taken_over_as_it_was_written() -> None:
    status = status_of(told())
    for condition in status["conditions"]:
        condition["lastTransitionTime"] = "2026-05-01T11:00:00.5+02:00"
    before = gang(("a", 2, 2), status=status)
    found: Any = told(PLACED).manifest(before, LATER)["status"]
    assert {one["type"]: one["lastTransitionTime"] for one in found["conditions"]} == {
        "Accepted": "2026-05-01T11:00:00.5+02:00",
        "Programmed": "2026-05-01T11:00:00.5+02:00",
        "Ready": "2026-05-01T11:00:00.5+02:00",
        "Scheduled": "2026-05-01T13:00:00Z",
    }


@pytest.mark.parametrize(
    ("said", "then", "soon"),
    [
        (told(), told(), WriteUrgency.NOTHING),
        (told(), told(PLACED), WriteUrgency.NOW),
        (told(PLACED), told(), WriteUrgency.NOW),
        (told(PLACED), told(RUNS), WriteUrgency.NOW),
        (told(), told(words=Report("Unschedulable", "no room")), WriteUrgency.SOON),
        (told(), told([pod("a-0")]), WriteUrgency.LATER),
        (told(words=FITS_2), told(words=FITS_4), WriteUrgency.MESSAGE),
        (told(words=FITS_2), told([pod("a-0")], FITS_4), WriteUrgency.MESSAGE),
        (told(words=FITS_2), told([pod("a-0")], FITS_2), WriteUrgency.LATER),
        (told(PLACED), told(PLACED, Report(placement_score=0.5)), WriteUrgency.LATER),
        (told(), told(result=GangResult(GangStage.PROGRAMMED, generation=3)), WriteUrgency.NOTHING),
        (
            told(RUNS),
            told(RUNS, result=GangResult(GangStage.PROGRAMMED, generation=3)),
            WriteUrgency.LATER,
        ),
        (told(), told(result=GangResult(GangStage.REPLACING, generation=2)), WriteUrgency.SOON),
        (told(PLACED), told(PLACED, Report(disruption="by w-1")), WriteUrgency.NOW),
    ],
)
def test_only_what_flips_is_said_at_once(
    said: ReportedStatus, then: ReportedStatus, soon: WriteUrgency
) -> None:
    assert urgency(after(said).status, then) is soon


def test_what_the_api_would_refuse_is_brought_into_form() -> None:
    said = told(words=Report("3 Queue-full!", "full", placement_score=1.5))
    assert conditions(said)["Scheduled"][1] == "Queuefull"
    assert status_of(said)["placementScore"] == 1.0
    assert conditions(told(words=Report("?", "x")))["Scheduled"][1] == "PodsPending"


def test_the_first_word_is_said_at_once() -> None:
    assert urgency(None, told()) is WriteUrgency.NOW


def test_a_long_message_is_cut_and_still_recognised() -> None:
    long = told(words=Report("Unschedulable", "x" * 5000))
    assert len(conditions(long)["Scheduled"][2]) == 1024
    assert urgency(after(long).status, long) is WriteUrgency.NOTHING


def test_a_disruption_lasts_until_the_minimum_is_placed_again() -> None:
    taken = Disruption("Preempted", "1 of 2 pods are being taken away: for others")
    about = gang(("a", 2, 2))
    first = report(about, DONE, count(about, PLACED[:1]), Report(), taken)
    expected = ("True", "Preempted", "1 of 2 pods are being taken away: for others")
    assert conditions(first)["DisruptionTarget"] == expected
    # The pods that said so are gone.
    assert conditions(told(PLACED[:1], about=after(first)))["DisruptionTarget"] == expected
    assert conditions(told(PLACED, about=after(first)))["DisruptionTarget"] == (
        "False",
        "NotDisrupted",
        "",
    )


def test_the_scheduler_says_better_than_pods_who_takes_the_room() -> None:
    about = gang(("a", 2, 2))
    words = Report(disruption="preempted by gang big-0")
    taken = Disruption("PreemptedForQuota", "text")
    said = report(about, DONE, count(about, []), words, taken)
    assert conditions(said)["DisruptionTarget"] == (
        "True",
        "PreemptedForQuota",
        "preempted by gang big-0",
    )


def test_the_schedulers_word_for_a_disruption_is_its_reason() -> None:
    words = Report(disruption="reclaimed by gang big-0", disruption_reason="Reclaimed")
    about = gang(("a", 2, 2))
    for taken in (None, Disruption("Preempted", "text")):
        said = conditions(report(about, DONE, count(about, []), words, taken))
        assert said["DisruptionTarget"][1] == "Reclaimed"
