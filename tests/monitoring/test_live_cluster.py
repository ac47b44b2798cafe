"""What rules and dashboards name is on the pages of running processes, and every panel has data."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from local_cluster.cluster import Cluster
from local_cluster.waiting import wait_until
from monitoring.__main__ import DASHBOARDS, DIRECTORY
from monitoring.catalogue import GROUPS
from monitoring.objects import GANG
from monitoring.rules import Recording
from tests.monitoring.declared import of_programs
from tests.monitoring.processes import Site, running_site
from tests.monitoring.prometheus import Prometheus, scraping
from tests.monitoring.promql import uses
from tests.monitoring.test_named_metrics import ALL

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

SAMPLES = Path(__file__).parents[2] / "docs" / "samples"
CHOICES = {"__rate_interval": "30s", "backend": "default", "job": ".+"}


@pytest.fixture(scope="module")
def site(core_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Running processes, a gang that runs, and one that does not fit."""
    kubectl, namespace = core_cluster.kubectl, f"t-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", namespace)
    kubectl("wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=20s")
    with running_site(core_cluster, namespace, tmp_path_factory.mktemp("site")) as found:
        for sample in ("inference", "training"):
            kubectl("apply", "-n", namespace, "-f", str(SAMPLES / f"{sample}.yaml"))
            # One after the other: together they would compete for the room.
            phase = "Running" if sample == "inference" else "Pending"
            wait_until(
                core_cluster.kubeconfig,
                f"/apis/scheduler.grove.io/v1alpha1/namespaces/{namespace}/podgangs",
                lambda gangs, name=f"{sample}-0", phase=phase: any(  # type: ignore[misc]
                    gang["metadata"]["name"] == name
                    and gang.get("status", {}).get("phase") == phase
                    for gang in gangs
                ),
                seconds=60,
            )
        yield found
        kubectl("delete", "pcs", "--all", "-n", namespace)
        pods = f"/api/v1/namespaces/{namespace}/pods"
        wait_until(core_cluster.kubeconfig, pods, lambda left: not left, seconds=60)
    kubectl("delete", "schedulerbackend", "default", "--ignore-not-found")
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(scope="module")
def prometheus(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    rules = DIRECTORY / "rules" / "podgang.rules.yaml"
    with scraping(site.targets, rules, tmp_path_factory.mktemp("prometheus")) as found:
        yield found


def test_everything_named_is_on_a_page_with_its_labels(site: Site) -> None:
    on_pages: dict[str, set[str]] = {}
    families: set[str] = set()
    for job in site.targets:
        page = site.page(job)
        families |= set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                on_pages.setdefault(sample.name, set()).update(sample.labels)
    scraped = of_programs()
    for where, expression in ALL:
        for metric, matchers in uses(expression).selectors:
            if metric not in scraped:
                continue
            plain = re.sub(r"_(bucket|count|sum)$", "", metric)
            assert {metric, plain} & families, f"{where}: nobody shows {metric}"
            if metric in on_pages:
                assert set(matchers) - {"job"} <= on_pages[metric], where


def test_every_panel_has_data(prometheus: Prometheus) -> None:
    # Until a rate can be had; everything else is there from the first scrape on.
    prometheus.until("rate(controller_runtime_reconcile_total[30s])")
    empty = []
    for dashboard in DASHBOARDS:
        if dashboard is GANG:
            continue
        for panel in dashboard.panels:
            for query in panel.queries:
                expression = query.expression
                for name, value in CHOICES.items():
                    expression = expression.replace(f"${name}", value)
                if panel.quiet:
                    prometheus.query(expression)
                elif not _within(prometheus, expression):
                    empty.append(f"{dashboard.name}: {panel.title}: {expression}")
    assert not empty


def test_rules_are_evaluated_and_report_of_the_gang_without_capacity(
    prometheus: Prometheus,
) -> None:
    for group in GROUPS:
        for rule in group.rules:
            if isinstance(rule, Recording) and "failed" not in rule.name:
                prometheus.until(rule.name)
    (blocked,) = prometheus.until(
        'reason:grove_gangs_blocked:of_leader{reason="PodsNotScheduled"} > 0'
    )
    assert float(blocked["value"][1]) == 1
    prometheus.until('ALERTS{alertname="PodgangGangsUnschedulable",alertstate="pending"}')
    assert prometheus.query('ALERTS{alertstate="firing"}') == []


def _within(prometheus: Prometheus, expression: str) -> bool:
    try:
        return bool(prometheus.until(expression, 15))
    except AssertionError:
        return False
