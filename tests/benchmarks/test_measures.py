"""Figures are read correctly from metrics pages and from the kernel's files."""

import pytest

from benchmarks.product.measures import (
    cpu_ticks,
    is_at_rest,
    peak_mebibytes,
    refused,
    write_figures,
    writes,
)

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
    ],
)
def test_an_operator_is_at_rest_when_nothing_waits(line: str, *, at_rest: bool) -> None:
    assert is_at_rest(RESTING + line) is at_rest


def test_an_operator_that_says_nothing_is_not_at_rest() -> None:
    assert not is_at_rest("")


def test_the_budget_is_two_writes_a_pod_and_seven_a_gang() -> None:
    rows = {row.figure: row for row in write_figures(writes(PAGE), pods=20, gangs=10)}
    assert rows["core's writes per gang"].value == pytest.approx(3.3)
    assert rows["core's writes per gang"].target == 11
    assert rows["core's writes per pod"].target == 5.5
    excess = rows["core's writes per gang: APPLY podgangs/status"]
    assert (excess.value, excess.target, excess.verdict) == (1.2, 1, "MISSED")


def test_cpu_is_user_and_system_time_whatever_the_program_is_called() -> None:
    fields = ["S"] + ["0"] * 10 + ["150", "25"] + ["0"] * 20
    assert cpu_ticks(f"42 (a ) b) {' '.join(fields)}") == 175


def test_peak_memory_is_in_mebibytes() -> None:
    assert peak_mebibytes("VmPeak:\t  99999 kB\nVmHWM:\t  102400 kB\nVmRSS:\t 1 kB\n") == 100
