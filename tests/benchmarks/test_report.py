"""The table has the figures that belong to a run, with the targets that belong to its size."""

import dataclasses
from collections import Counter

import pytest

from benchmarks.product.choices import CHOICES, DEFAULT, KAI, STAND_IN, BackendUnderTest
from benchmarks.product.report import DELETE_RATIO, READY_RATIO, RELEASED_RATIO, figures, flatness
from benchmarks.product.report_backend import (
    BACKEND_RESTART_WRITES,
    BACKEND_WRITES,
    CAUGHT_UP,
    backend_flatness,
)
from benchmarks.product.results import (
    Awaited,
    BackendResults,
    Burst,
    Deleted,
    Deployed,
    InTurns,
    Life,
    OneByOne,
    Product,
    Replayed,
    RestartResults,
    Scaled,
    ServingResults,
    Start,
    Used,
)
from benchmarks.product.sightings import Delays
from benchmarks.product.workload import Sizes
from benchmarks.runtime.figures import Figure

START = Start(100.0, 10.0, 20.0, 30.0, server_cpu=15.0, others=0.1)
SCALED = {"scaled-1": 0.7, "scaled-2": 0.5, "scaled-3": 2.0}
BURSTS = {"tiny-1": 0.2, "scaled-0": 1.0, "scaled-1": 0.5, "scaled-2": 0.4, "scaled-3": 0.5}
BARE = Replayed(Start(0.0, 8.0, 16.0, 25.0, server_cpu=12.0, others=0.2), 5000, 4.0, BURSTS)
DELAYS = Delays(written=(0.01, 0.02), reported=(0.1, 0.3))


def used(cpu: float, writes: int) -> Used:
    return Used(Counter({("APPLY", "podgangs/status"): writes}), 0, cpu, 80.0)


def burst(name: str, replicas: int, seconds: float) -> Burst:
    return Burst(name, "uid", replicas, 2 * replicas, 200.0, seconds)


def product(choice: BackendUnderTest) -> Product:
    nothing = RestartResults(1.0, 0.5, Counter(), caught_up=2.0)
    served = ServingResults(used(2.0, 1000), 31.0, DELAYS) if choice.is_real else None
    backend = BackendResults(nothing, OneByOne(100, DELAYS, 0.4), Awaited(500, 4.0, 9.0))
    return Product(
        Deployed(START, "uid", used(4.0, 5500), served),
        nothing,
        Life(
            Deleted(11.0, Counter(), Counter()),
            (burst("tiny-0", 5, 0.2), burst("tiny-1", 5, 0.3)),
            (
                Scaled(100, 0.9, burst("scaled-0", 100, 1.5)),
                *(Scaled(50, 0.4, burst(name, 50, up)) for name, up in SCALED.items()),
            ),
        ),
        backend if choice.is_real else None,
        InTurns(150, watched=(5.0, 2.2, 2.0), alone=(2.0, 9.0, 1.0)),
        {"scaling": 0.05},
    )


def report(choice: BackendUnderTest, sizes: Sizes | None = None) -> dict[str, Figure]:
    rows = figures(product(choice), BARE, choice, sizes or Sizes())
    assert len({row.figure for row in rows}) == len(rows)
    return {row.figure: row for row in rows}


@pytest.mark.parametrize("choice", [DEFAULT, KAI])
def test_a_real_backend_is_judged_by_when_all_are_ready(choice: BackendUnderTest) -> None:
    rows = report(choice)
    assert (rows[READY_RATIO].value, rows[READY_RATIO].target) == (1.2, 1.25)
    assert rows[RELEASED_RATIO].target is None
    assert rows["1,000 pods in 500 gangs: all gangs report Scheduled and Ready"].value == 31


def test_the_stand_in_is_judged_by_when_all_are_released() -> None:
    rows = report(STAND_IN)
    assert (rows[RELEASED_RATIO].value, rows[RELEASED_RATIO].target) == (1.25, 1.25)
    assert rows[READY_RATIO].target is None
    assert not [name for name in rows if "backend" in name]


@pytest.mark.parametrize(("choice", "writes"), [(DEFAULT, 5), (KAI, 4)])
def test_a_backend_has_its_own_budget_of_writes(choice: BackendUnderTest, writes: float) -> None:
    rows = report(choice)
    assert (rows[BACKEND_WRITES].value, rows[BACKEND_WRITES].target) == (2, writes)
    assert (rows[BACKEND_RESTART_WRITES].value, rows[BACKEND_RESTART_WRITES].target) == (0, 0)


def test_delays_have_targets_only_where_nothing_queues() -> None:
    rows = report(DEFAULT)
    targets = {name: row.target for name, row in rows.items() if name.endswith("p99")}
    assert sorted(filter(None, targets.values())) == [100, 200]
    assert all("one by one" in name for name, target in targets.items() if target)
    told = rows["pod changed -> PodGang's status reports it, 100 gangs one by one: p99"]
    assert (told.value, told.verdict) == (300, "MISSED")


def test_catching_up_is_counted_for_a_thousand_gangs() -> None:
    row = report(DEFAULT)[CAUGHT_UP]
    assert (row.value, row.target) == (8, 10)


def test_deletion_is_judged_by_the_medians_of_its_turns() -> None:
    row = report(STAND_IN)[DELETE_RATIO]
    assert (row.value, row.target) == (1.1, 1.1)


def test_bursts_are_shown_beside_those_of_the_bare_client() -> None:
    rows = report(STAND_IN)
    scaled = rows["scale 50 -> 100 pods: released, 3 times: p50"]
    assert (scaled.value, scaled.target) == (0.7, 0.8)
    assert rows["scale 50 -> 100 pods: released, product / bare client, 3 times: p50"].value == 1.4
    assert rows["scale 100 -> 200 pods: released"].target is None
    assert (
        rows["first create of 10 pods, released, 2 times: bare client, 1 times: p50"].value == 0.2
    )


def test_absolute_targets_are_left_out_of_runs_of_other_sizes() -> None:
    rows = report(DEFAULT, Sizes(replicas=250))
    assert rows["500 pods in 250 gangs: all ready"].target is None


def test_the_load_of_others_is_shown_for_every_phase() -> None:
    rows = report(DEFAULT)
    shares = {name: row.value for name, row in rows.items() if name.startswith("other programs")}
    assert list(shares.values()) == [10, 20, 5]


def test_flat_means_that_a_gang_costs_the_same_among_many() -> None:
    small, large = (
        ServingResults(used(2.0, 1000), 31.0, DELAYS),
        ServingResults(used(12.0, 4000), 99.0, DELAYS),
    )
    rows = backend_flatness(small, Sizes(), large, Sizes(replicas=2000))
    assert [(row.value, row.verdict) for row in rows[1:]] == [(1.5, "MISSED"), (1.0, "ok")]
    core = flatness(product(DEFAULT).deployed, Sizes(), product(DEFAULT).deployed, Sizes())
    assert [row.value for row in core if row.unit == "x"] == [1, 1]


def test_what_the_control_plane_took_more_is_reported_beside_it() -> None:
    def took(**cpu: float) -> Deployed:
        start = dataclasses.replace(START, cluster_cpu={"etcd": 0.1, **cpu})
        return dataclasses.replace(product(DEFAULT).deployed, start=start)

    rows = flatness(took(scheduler=10.0), Sizes(), took(scheduler=80.0), Sizes(replicas=2000))
    named = {row.figure: row.value for row in rows if "etcd" in row.figure or "sched" in row.figure}
    assert named == {"scheduler: CPU per pod, 4,000 pods / 1,000 pods": 2.0}


def test_every_choice_is_found_by_its_name() -> None:
    assert {name: choice.name for name, choice in CHOICES.items()} == {
        "default": "default",
        "kai": "kai",
        "stand-in": "stand-in",
    }


def test_cpu_is_also_reported_in_writes_of_the_bare_client_which_a_busy_machine_leaves_alone() -> (
    None
):
    rows = report(DEFAULT)
    core = rows["core's CPU per pod / bare client's CPU per write"]
    assert core.value == pytest.approx(4 / 0.8)
    backend = rows["backend's CPU per gang / bare client's CPU per write"]
    assert backend.value == pytest.approx(4 / 0.8)
    assert core.target == backend.target == pytest.approx(14.3, abs=0.05)
