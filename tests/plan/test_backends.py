"""Which backend a gang is given to, and what is said about the others."""

import itertools

import pytest

from core_operator.plan.placement.backends import Choice, RegisteredBackend, choose, needs_of
from shared_api import names
from shared_api.models import PodCliqueSet
from tests.plan.samples import clique, group, pod_clique_set, pod_spec, record

GANG = frozenset({"Gang"})
TOPOLOGY = frozenset({"Gang", "TopologyRequiredGroup"})
PLAIN = record("", "default-scheduler")
FANCY = record(
    "fancy-scheduler",
    "fancy-*",
    capabilities=("Gang", "TopologyRequiredGroup"),
    preparation={"mode": "Static", "members": {"spec": {"schedulerName": "fancy-scheduler"}}},
)


def backends(**unavailable_reason: str) -> dict[str, RegisteredBackend]:
    """Three backends, of which those given are unavailable."""
    records = {"plain": PLAIN, "fancy": FANCY, "other": record("other")}
    return {
        name: RegisteredBackend(
            name, rec, name not in unavailable_reason, unavailable_reason.get(name, "")
        )
        for name, rec in records.items()
    }


def workload(*schedulers: str | None, annotation: str | None = None) -> PodCliqueSet:
    """One clique for each schedulerName; a clique of None has no such field."""
    cliques = [
        clique(f"c{n}", pod=pod_spec() if name is None else pod_spec(schedulerName=name))
        for n, name in enumerate(schedulers or (None,))
    ]
    annotations = {} if annotation is None else {names.ANNOTATION_SCHEDULER_BACKEND: annotation}
    return pod_clique_set(*cliques, metadata={"annotations": annotations})


def chosen(
    pcs: PodCliqueSet,
    known: dict[str, RegisteredBackend] | None = None,
    *,
    needs: frozenset[str] = GANG,
    current: str | None = None,
    released: bool = False,
) -> Choice:
    return choose(
        pcs,
        needs,
        backends() if known is None else known,
        "plain",
        current,
        released=released,
    )


@pytest.mark.parametrize(
    ("pcs", "backend", "message"),
    [
        (workload(), "plain", "backend 'plain' by default"),
        (workload(""), "plain", "backend 'plain' by default"),
        (workload(annotation=""), "plain", "backend 'plain' by default"),
        (workload(annotation=" , "), "plain", "backend 'plain' by default"),
        (
            workload("default-scheduler"),
            "plain",
            "backend 'plain' by schedulerName 'default-scheduler'",
        ),
        (workload("fancy-7"), "fancy", "backend 'fancy' by schedulerName 'fancy-7'"),
        (workload("other", None), "other", "backend 'other' by schedulerName 'other'"),
        (
            workload(annotation="fancy"),
            "fancy",
            "backend 'fancy' by annotation grove.io/scheduler-backend",
        ),
        (
            workload("fancy-7", annotation=" other , fancy"),
            "other",
            "backend 'other' by annotation grove.io/scheduler-backend",
        ),
    ],
)
def test_annotation_before_scheduler_name_before_default(
    pcs: PodCliqueSet, backend: str, message: str
) -> None:
    choice = chosen(pcs)
    assert (choice.backend, choice.ok, choice.reason) == (backend, True, "Selected")
    assert choice.message == message


def test_the_configured_default_wins_over_who_answers_for_unnamed_schedulers() -> None:
    choice = choose(workload(), GANG, backends(), "fancy", None, released=False)
    assert choice.backend == "fancy"


def test_an_unknown_default_is_reported_and_nobody_is_chosen() -> None:
    choice = chosen(workload(), {})
    assert (choice.backend, choice.ok, choice.reason) == (None, False, "BackendUnknown")
    assert choice.message == "no backend 'plain'; known: none"


def test_a_name_that_nobody_registered_is_reported_with_those_that_are() -> None:
    choice = chosen(workload(annotation="foo"))
    assert (choice.backend, choice.ok, choice.reason) == (None, False, "BackendUnknown")
    assert choice.message == "no backend 'foo'; known: fancy, other, plain"


def test_a_scheduler_that_nobody_answers_for_is_not_given_to_the_default() -> None:
    choice = chosen(workload("mine"))
    assert (choice.backend, choice.ok, choice.reason) == (None, False, "BackendUnknown")
    assert choice.message == (
        "no backend has schedulerName 'mine'; known: fancy (fancy-scheduler, fancy-*),"
        " other (other), plain (default-scheduler)"
    )
    assert choice.scheduler_name == "mine"


def test_cliques_whose_schedulers_belong_to_two_backends_disagree() -> None:
    choice = chosen(workload("fancy-1", "other"))
    assert (choice.backend, choice.ok, choice.reason) == (None, False, "SchedulersDisagree")
    assert choice.message == (
        "cliques name schedulers of different backends: 'fancy-1', 'other' of fancy, other"
    )


def test_cliques_whose_schedulers_belong_to_one_backend_agree() -> None:
    assert chosen(workload("fancy-1", "fancy-2")).backend == "fancy"


def test_an_annotation_settles_what_cliques_disagree_about() -> None:
    assert chosen(workload("fancy-1", "other", annotation="plain")).backend == "plain"


@pytest.mark.parametrize(
    ("patterns", "scheduler", "expected"),
    [
        ({"a": ["s*"], "b": ["sched-*"]}, "sched-1", "b"),
        ({"a": ["*"], "b": ["sched-1"]}, "sched-1", "b"),
        ({"b": ["s*"], "a": ["s*"]}, "sched", "a"),
        ({"a": ["s?"]}, "s1", "a"),
        ({"a": ["s?"]}, "s12", None),
        ({"a": ["S*"]}, "sched", None),
        ({"a": ["s[0-9]"]}, "s1", None),
        ({"a": ["s[0-9]"]}, "s[0-9]", "a"),
    ],
)
def test_the_most_exact_pattern_decides(
    patterns: dict[str, list[str]], scheduler: str, expected: str | None
) -> None:
    for order in itertools.permutations(patterns):
        known = {
            name: RegisteredBackend(
                name, record(*patterns[name]), available=True, unavailable_reason=""
            )
            for name in order
        }
        assert chosen(workload(scheduler), known).backend == expected


def test_the_first_that_is_available_is_chosen_and_the_others_are_explained() -> None:
    choice = chosen(
        workload(annotation="gone,fancy,other"), backends(fancy="no heartbeat since 12:00")
    )
    assert (choice.backend, choice.ok, choice.reason) == ("other", True, "Selected")
    assert choice.message == (
        "backend 'other' by annotation grove.io/scheduler-backend; passed over: no backend 'gone';"
        " backend 'fancy' is down: no heartbeat since 12:00"
    )


def test_a_backend_that_cannot_do_it_is_passed_over() -> None:
    choice = chosen(workload(annotation="plain,fancy"), needs=TOPOLOGY)
    assert choice.backend == "fancy"
    assert choice.message.endswith(
        "; passed over: backend 'plain' does not support: TopologyRequiredGroup"
    )


def test_when_none_will_do_the_first_known_one_stays_chosen() -> None:
    choice = chosen(
        workload(annotation="gone,fancy,plain"), backends(fancy="scaled to 0"), needs=TOPOLOGY
    )
    assert (choice.backend, choice.ok, choice.reason) == ("fancy", False, "BackendUnavailable")
    assert choice.message == (
        "backend 'fancy' is down: scaled to 0; no backend 'gone';"
        " backend 'plain' does not support: TopologyRequiredGroup; known: fancy, other, plain"
    )


def test_a_single_choice_that_cannot_do_it_reports_what_is_missing() -> None:
    needs = frozenset({"Gang", "B", "A"})
    choice = chosen(workload(annotation="plain"), needs=needs)
    assert (choice.backend, choice.ok, choice.reason) == ("plain", False, "Unsupported")
    assert choice.message == "backend 'plain' does not support: A, B"


def test_a_backend_that_is_allowed_to_schedule_pod_by_pod_takes_gangs_and_reports_it() -> None:
    lax = record("lax", capabilities=("PlainScheduling",))
    known = {"lax": RegisteredBackend("lax", lax, available=True, unavailable_reason="")}
    caveat = "it schedules pod by pod, so a gang is not guaranteed"
    pcs = workload(annotation="lax")
    choice = chosen(pcs, known)
    assert (choice.backend, choice.ok) == ("lax", True)
    assert choice.message == f"backend 'lax' by annotation grove.io/scheduler-backend; {caveat}"
    elsewhere = chosen(workload(annotation="other"), known, current="lax", released=True)
    assert elsewhere.message == f"backend 'lax', where its pods were released; {caveat}"
    # The permission is about gangs alone.
    assert chosen(pcs, known, needs=TOPOLOGY).message == (
        "backend 'lax' does not support: TopologyRequiredGroup"
    )


def test_a_backend_with_a_bind_timeout_takes_gangs_and_reports_it() -> None:
    release = {"bindTimeoutSeconds": 300}
    timed = record("timed", capabilities=("GangByTimeout",), release=release)
    known = {"timed": RegisteredBackend("timed", timed, available=True, unavailable_reason="")}
    choice = chosen(workload(annotation="timed"), known)
    assert (choice.backend, choice.ok) == ("timed", True)
    assert "not bound within 300 s gives back its pods" in choice.message


def test_a_bind_timeout_is_no_gang_scheduling_without_its_seconds() -> None:
    timed = record("timed", capabilities=("GangByTimeout",))
    known = {"timed": RegisteredBackend("timed", timed, available=True, unavailable_reason="")}
    choice = chosen(workload(annotation="timed"), known)
    assert (choice.ok, choice.reason) == (False, "Unsupported")


def test_a_backend_that_can_schedule_gangs_needs_no_permission() -> None:
    both = record("both", capabilities=("Gang", "PlainScheduling"))
    known = {"both": RegisteredBackend("both", both, available=True, unavailable_reason="")}
    choice = chosen(workload(annotation="both"), known)
    assert choice.message == "backend 'both' by annotation grove.io/scheduler-backend"


def test_before_release_a_gang_moves_and_moves_back() -> None:
    pcs = workload(annotation="fancy,other")
    assert chosen(pcs, backends(fancy="dead"), current="fancy").backend == "other"
    assert chosen(pcs, current="other").backend == "fancy"


def test_a_gang_that_waits_stays_where_it_is_while_nobody_can_have_it() -> None:
    known = backends(fancy="dead", other="being rolled out")
    choice = chosen(workload(annotation="fancy,other"), known, current="other")
    assert (choice.backend, choice.ok, choice.reason) == ("other", False, "BackendUnavailable")
    assert choice.message == (
        "backend 'other' is down: being rolled out; backend 'fancy' is down: dead"
    )
    assert choice.scheduler_name == "other"


def test_a_gang_whose_backend_is_no_candidate_any_more_waits_with_the_first() -> None:
    known = backends(fancy="dead", other="dead", plain="dead")
    assert chosen(workload(annotation="fancy,other"), known, current="plain").backend == "fancy"


@pytest.mark.parametrize("annotation", ["other", "fancy,other", "unknown", None])
@pytest.mark.parametrize("scheduler", ["other", "mine", None])
def test_after_release_a_gang_never_moves(annotation: str | None, scheduler: str | None) -> None:
    pcs = workload(scheduler, annotation=annotation)
    for known in (backends(), backends(fancy="dead"), {}):
        assert chosen(pcs, known, current="fancy", released=True).backend == "fancy"


def test_release_itself_reports_nothing_new() -> None:
    pcs = workload(annotation="fancy,other")
    assert chosen(pcs, current="fancy", released=True) == chosen(pcs, current="fancy")


def test_a_released_gang_reports_when_its_backend_is_gone() -> None:
    pcs = workload(annotation="fancy,other")
    dead = chosen(pcs, backends(fancy="scaled to 0"), current="fancy", released=True)
    assert (dead.ok, dead.reason) == (False, "BackendUnavailable")
    assert dead.message == "backend 'fancy' is down: scaled to 0"
    gone = chosen(pcs, {}, current="fancy", released=True)
    assert (gone.ok, gone.reason) == (False, "BackendUnknown")


def test_a_released_gang_is_not_judged_by_capabilities_again() -> None:
    choice = chosen(workload(), current="plain", released=True, needs=TOPOLOGY)
    assert (choice.backend, choice.ok, choice.reason) == ("plain", True, "Selected")


def test_released_without_a_backend_is_not_yet_decided() -> None:
    assert chosen(workload(), current=None, released=True).backend == "plain"


@pytest.mark.parametrize(
    ("pcs", "scheduler"),
    [
        (workload(), "default-scheduler"),
        (workload("default-scheduler"), "default-scheduler"),
        (workload("fancy-7"), "fancy-scheduler"),
        (workload("mine", annotation="fancy"), "fancy-scheduler"),
        (workload("mine", annotation="other"), "other"),
        (workload("mine", annotation="unknown"), "mine"),
        (workload(annotation="unknown"), ""),
    ],
)
def test_the_scheduler_name_is_the_one_that_pods_will_have(
    pcs: PodCliqueSet, scheduler: str
) -> None:
    choice = chosen(pcs)
    assert choice.scheduler_name == scheduler
    assert choice.scheduler_name == scheduler


def test_of_several_schedulers_of_a_backend_the_one_that_cliques_name_is_kept() -> None:
    known = {
        "two": RegisteredBackend(
            "two", record("first", "second-*"), available=True, unavailable_reason=""
        )
    }
    assert chosen(workload("second-2"), known).scheduler_name == "second-2"
    assert chosen(workload(annotation="two"), known).scheduler_name == "first"


def test_every_gang_needs_a_scheduler_of_gangs() -> None:
    assert needs_of(workload()) == GANG
    assert not chosen(
        workload(), {"plain": RegisteredBackend("plain", record("", capabilities=()), True, "")}
    ).ok


@pytest.mark.parametrize("constraint", [{"pack": {"required": "rack"}}, {"packDomain": "rack"}])
def test_a_required_placement_is_a_need_at_its_level(constraint: dict[str, object]) -> None:
    at_set = pod_clique_set(clique("a"), topologyConstraint=constraint)
    at_group = pod_clique_set(clique("a"), groups=(group("s", "a", topologyConstraint=constraint),))
    at_clique = pod_clique_set(clique("a", topologyConstraint=constraint))
    assert needs_of(at_set) == GANG | {"TopologyRequiredGang"}
    # Its replicas above the minimum are gangs of their own.
    assert needs_of(at_group) == GANG | {"TopologyRequiredGang", "TopologyRequiredGroupSet"}
    assert needs_of(at_clique) == GANG | {"TopologyRequiredGroup"}


def test_a_preferred_placement_is_no_need() -> None:
    constraint = {"pack": {"preferred": "rack"}}
    assert needs_of(pod_clique_set(clique("a", topologyConstraint=constraint))) == GANG


def test_choosing_changes_nothing() -> None:
    pcs, known = workload(annotation="gone,fancy"), backends(fancy="dead")
    before = (pcs.model_copy(deep=True), dict(known))
    assert chosen(pcs, known) == chosen(pcs, known)
    assert (pcs, known) == before
