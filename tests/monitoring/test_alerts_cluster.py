"""Every alert fires on what it is for, and none of them while all is well (promtool)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.__main__ import DIRECTORY
from monitoring.catalogue import ALERTS
from monitoring.recordings import BLOCKED
from tests.monitoring.prometheus import promtool

# Not for the cluster, but for a program that may have to be fetched.
pytestmark = pytest.mark.cluster

RULES = DIRECTORY / "rules" / "podgang.rules.yaml"
CORE = 'job="core-operator",instance="a"'
STANDBY = 'job="core-operator",instance="b"'
BACKEND = 'job="grove-system/backend-default",instance="c"'
ITS = f'{BACKEND},backend="default"'
LEADS = "leader_election_master_status"
CORE_LEADS = f'{LEADS}{{{CORE},name="grove-system/core-operator"}}'
STANDBY_LEADS = f'{LEADS}{{{STANDBY},name="grove-system/core-operator"}}'
BACKEND_LEADS = f'{LEADS}{{{BACKEND},name="grove-system/backend-default"}}'
DIALECT = f'backend_dialect_info{{{ITS},dialect="v1"}}'
REMEMBERED = f'grove_gangs_blocked{{{STANDBY},reason="Conflict"}}'
OTHER = 'job="somebody",instance="d",controller="theirs"'
REQUESTS = f'rest_client_requests_total{{{CORE},verb="APPLY",resource="pods",code="%s"}}'
RECONCILES = f'controller_runtime_%s{{{CORE},controller="podgang"}}'

Series = dict[str, str | None]


def blocked(reason: str) -> str:
    return f'grove_gangs_blocked{{{CORE},reason="{reason}"}}'


def histogram(name: str, labels: str, *, fast: float, slow: float) -> Series:
    """A histogram all of whose observations lie between two of its bounds."""
    bounds = {f"{fast:g}": "0", f"{slow:g}": "0+1x130", "+Inf": "0+1x130"}
    return {
        f'{name}_bucket{{{labels},le="{bound}"}}': value if "x" in value else f"{value}x130"
        for bound, value in bounds.items()
    }


HEALTHY: Series = {
    CORE_LEADS: "1x130",
    STANDBY_LEADS: "0x130",
    BACKEND_LEADS: "1x130",
    DIALECT: "1x130",
    REMEMBERED: "7x130",
    blocked("Conflict"): "0x130",
    f'backend_gangs{{{ITS},state="Running",reason="MinimumReady"}}': "5x130",
    f'watch_age_seconds{{{CORE},resource="pods"}}': "3x130",
    f'cache_synced{{{CORE},resource="pods"}}': "1x130",
    f'cache_unreadable_objects{{{CORE},resource="pods"}}': "0x130",
    RECONCILES % "reconcile_total": "0+10x130",
    RECONCILES % "reconcile_errors_total": "0x130",
    REQUESTS % "200": "0+10x130",
    f'rest_client_requests_total{{{OTHER},code="403"}}': "0+10x130",
    f"controller_runtime_reconcile_panics_total{{{OTHER}}}": "0+10x130",
    f"controller_runtime_reconcile_errors_total{{{OTHER}}}": "0+10x130",
    f"controller_runtime_reconcile_total{{{OTHER}}}": "0+10x130",
}

TROUBLES: dict[str, Series] = {
    "CoreNotLeading": {CORE_LEADS: "0x130"},
    "BackendNotLeading": {BACKEND_LEADS: "0x130"},
    "TwoLeaders": {STANDBY_LEADS: "1x130", REMEMBERED: "0x130"},
    "BackendWithoutScheduler": {DIALECT: "1x60 0x70"},
    "BackendUnavailable": {blocked("BackendUnavailable"): "1x130"},
    "GangsStalled": {blocked("Conflict"): "1x130"},
    "GangsNotProgrammed": {
        f'backend_gangs{{{ITS},state="NotProgrammed",reason="Rejected"}}': "1x130"
    },
    "GangsHeld": {blocked("HeldByGates"): "1x130"},
    "GangsUnschedulable": {blocked("PodsNotScheduled"): "1x130"},
    "GangsNotReady": {blocked("PodsNotReady"): "1x130"},
    "GangsWrittenSlowly": histogram("backend_gang_written_seconds", ITS, fast=10, slow=30),
    "GangTerminations": {f"grove_gang_terminations_total{{{CORE}}}": "0+1x130"},
    "PodsLost": {f'grove_pods_lost_total{{{CORE},cause="NodeLost"}}': "0+10x130"},
    "RepairSlow": histogram("grove_gang_repair_seconds", CORE, fast=600, slow=1800),
    "MinimumAtRisk": {
        f'grove_invariant_violations_total{{{CORE},invariant="min_available"}}': "0+1x130"
    },
    "ObjectConflicts": {f"backend_conflicts_total{{{ITS}}}": "0+1x130"},
    "WatchStale": {f'watch_age_seconds{{{CORE},resource="pods"}}': "120x130"},
    "CacheNotFilled": {f'cache_synced{{{CORE},resource="pods"}}': "0x130"},
    "UnreadableObjects": {f'cache_unreadable_objects{{{CORE},resource="pods"}}': "1x130"},
    "ReconcileErrors": {RECONCILES % "reconcile_errors_total": "0+5x130"},
    "ReconcileDefects": {RECONCILES % "reconcile_panics_total": "0+1x130"},
    "WorkStuck": {RECONCILES % "reconcile_timeouts_total": "0+1x130"},
    "QueueSlow": histogram(
        "workqueue_queue_duration_seconds", f'{CORE},name="podgang"', fast=10, slow=60
    ),
    "ApiRefused": {REQUESTS % "403": "0+0.1x130"},
    "ApiFailing": {REQUESTS % "500": "0+10x130"},
}


def case(trouble: Series, expected: dict[str, float]) -> dict[str, Any]:
    """A case of promtool: which alerts fire after two hours of these series."""
    series = {name: values for name, values in {**HEALTHY, **trouble}.items() if values}
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "2h",
                "exp_samples": [
                    {"labels": f'{{alertname="{name}"}}', "value": count}
                    for name, count in expected.items()
                ],
            }
        ],
    }


def run(tmp_path: Path, *cases: dict[str, Any]) -> str:
    file = tmp_path / "cases.yaml"
    tests = {"rule_files": [str(RULES)], "evaluation_interval": "5m", "tests": list(cases)}
    file.write_text(yaml.safe_dump(tests))
    done = promtool("test", "rules", str(file))
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_prometheus_takes_the_rules() -> None:
    done = promtool("check", "rules", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case() -> None:
    assert set(TROUBLES) == {alert.name for alert in ALERTS}


def test_nothing_fires_while_all_is_well(tmp_path: Path) -> None:
    assert run(tmp_path, case({}, {})) == ""


def test_a_backend_whose_scheduler_was_never_there_is_quiet(tmp_path: Path) -> None:
    assert run(tmp_path, case({DIALECT: None}, {})) == ""


def test_every_alert_fires_on_its_trouble_alone(tmp_path: Path) -> None:
    cases = (case(series, {f"Podgang{name}": 1}) for name, series in TROUBLES.items())
    assert run(tmp_path, *cases) == ""


def test_what_a_standby_remembers_is_not_counted(tmp_path: Path) -> None:
    asked = case({}, {})
    asked["promql_expr_test"] = [
        {
            "expr": f'{BLOCKED}{{reason="Conflict"}}',
            "eval_time": "2h",
            "exp_samples": [{"labels": f'{BLOCKED}{{reason="Conflict"}}', "value": 0}],
        }
    ]
    assert run(tmp_path, asked) == ""
