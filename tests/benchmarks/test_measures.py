"""Figures are read correctly from metrics pages and from the kernel's files."""

import pytest

from benchmarks.product.measures import (
    backend_budget,
    core_budget,
    cpu_ticks,
    gangs_counted,
    is_at_rest,
    medians,
    peak_mebibytes,
    refused,
    unwanted,
    write_figures,
    writes,
)
from benchmarks.runtime.figures import Figure

PAGE = """\
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="201",method="POST",resource="pods",verb="POST"} 20.0
rest_client_requests_total{code="409",method="POST",resource="pods",verb="POST"} 1.0
rest_client_requests_total{code="200",method="PATCH",resource="podgangs/status",verb="APPLY"} 1.2e+01
rest_client_requests_total{code="200",method="GET",resource="pods",verb="WATCH"} 3.0
rest_client_requests_created{code="201",method="POST",resource="pods",verb="POST"} 1.7e+09
"""
RESTING = """\
cache_synced{resource="pods"} 1.0
workqueue_depth{controller="podgang",name="podgang",priority="0"} 0.0
controller_runtime_active_workers{controller="podgang"} 0.0
"""


def test_writes_are_counted_by_verb_and_resource_and_reads_are_not() -> None:
    assert writes(PAGE) == {("POST", "pods"): 21, ("APPLY", "podgangs/status"): 12}


def test_refused_writes_are_counted_apart() -> None:
    assert refused(PAGE) == 1


@pytest.mark.parametrize(
    ("line", "at_rest"),
    [
        ("", True),
        ('workqueue_depth{controller="a",name="a",priority="1"} 2.0', False),
        ('controller_runtime_active_workers{controller="a"} 1.0', False),
        ('cache_synced{resource="leases"} 0.0', False),
        ('writes_not_yet_seen{controller="a"} 1.0', False),
        ('workqueue_waiting{controller="podclique-status",name="podclique-status"} 3.0', False),
        # It waits for a Lease that may end.
        ('workqueue_waiting{controller="schedulerbackend",name="schedulerbackend"} 1.0', True),
    ],
)
def test_an_operator_is_at_rest_when_nothing_waits(line: str, *, at_rest: bool) -> None:
    assert is_at_rest(RESTING + line) is at_rest


def test_an_operator_that_reports_nothing_is_not_at_rest() -> None:
    assert not is_at_rest("")


def test_the_budget_of_core_is_two_writes_a_pod_and_seven_a_gang() -> None:
    figures = write_figures(writes(PAGE), gangs=10, budget=core_budget(pods_per_gang=2))
    rows = {row.figure: row for row in figures}
    assert rows["core's writes per gang"].value == pytest.approx(3.3)
    assert rows["core's writes per gang"].target == 11
    excess = rows["core's writes per gang: APPLY podgangs/status"]
    assert (excess.value, excess.target, excess.verdict) == (1.2, 1, "MISSED")


def test_the_budget_of_a_backend_is_its_objects_and_three_statuses() -> None:
    figures = write_figures(writes(PAGE), gangs=10, budget=backend_budget(["one", "two"]))
    rows = {row.figure: row for row in figures}
    assert rows["backend's writes per gang"].target == 5
    assert rows["backend's writes per gang: APPLY podgangs/status"].target == 3
    # A kind that it has no business to write is shown, and has no share of its own.
    assert rows["backend's writes per gang: POST pods"].target is None


def test_writes_that_should_not_be_are_named() -> None:
    assert unwanted("restart", writes("")) == [Figure("restart", 0, "writes", 0)]
    total, *kinds = unwanted("restart", writes(PAGE))
    assert (total.value, total.verdict) == (33, "MISSED")
    assert [row.figure for row in kinds] == ["restart: APPLY podgangs/status", "restart: POST pods"]


def test_gangs_are_counted_by_state_whatever_the_reason() -> None:
    page = """\
backend_gangs{backend="kai",reason="MinimumReady",state="Running"} 3.0
backend_gangs{backend="kai",reason="Other",state="Running"} 1.0
backend_gangs{backend="kai",reason="PodsPending",state="Pending"} 7.0
"""
    assert gangs_counted(page, "Running") == 4
    assert gangs_counted("", "Running") == 0


def test_of_several_runs_the_median_of_each_figure_is_kept() -> None:
    runs = [
        [Figure("a", 3, "s", 5), Figure("b", 1, "x")],
        [Figure("a", 9, "s", 5), Figure("b", 2, "x")],
        [Figure("a", 4, "s", 5), Figure("c", 7, "ms")],
    ]
    expected = [Figure("a", 4, "s", 5), Figure("b", 1.5, "x"), Figure("c", 7, "ms")]
    assert medians(runs) == expected


def test_cpu_is_user_and_system_time_whatever_the_program_is_called() -> None:
    fields = ["S"] + ["0"] * 10 + ["150", "25"] + ["0"] * 20
    assert cpu_ticks(f"42 (a ) b) {' '.join(fields)}") == 175


def test_peak_memory_is_in_mebibytes() -> None:
    assert peak_mebibytes("VmPeak:\t  99999 kB\nVmHWM:\t  102400 kB\nVmRSS:\t 1 kB\n") == 100
