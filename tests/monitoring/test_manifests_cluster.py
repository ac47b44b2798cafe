"""What `kubectl apply -k deploy/monitoring` brings, and that a server takes it."""

import os
from collections import Counter
from pathlib import Path

import pytest
import yaml

from local_cluster.cluster import Cluster
from monitoring.__main__ import DASHBOARDS, DIRECTORY
from tests.monitoring.operator_kinds import definitions

pytestmark = pytest.mark.cluster


def test_the_folder_is_one_installation(core_cluster: Cluster) -> None:
    rendered = core_cluster.kubectl("kustomize", str(DIRECTORY)).stdout
    found = list(yaml.safe_load_all(rendered))
    kinds = Counter(item["kind"] for item in found)
    assert kinds == {"PrometheusRule": 1, "ConfigMap": len(DASHBOARDS) + 1, "ClusterRole": 1}
    shown = [item for item in found if "grafana_dashboard" in item["metadata"].get("labels", {})]
    assert len(shown) == len(DASHBOARDS)


def test_a_server_takes_dashboards_and_rights(core_cluster: Cluster) -> None:
    kubectl = core_cluster.kubectl
    kubectl("create", "namespace", "grove-system", check=False)
    for folder in ("dashboards", "kube-state-metrics"):
        target = str(DIRECTORY / folder)
        kubectl("apply", "--server-side", "--dry-run=server", "-k", target)


@pytest.fixture(scope="module")
def with_operator_kinds(core_cluster: Cluster) -> Cluster:
    """The cluster, with the Prometheus operator's kinds but without the operator."""
    for file in definitions():
        core_cluster.kubectl("apply", "--server-side", "-f", str(file))
        core_cluster.kubectl(
            "wait", "--for=condition=Established", "-f", str(file), "--timeout=30s"
        )
    core_cluster.kubectl("create", "namespace", "grove-system", check=False)
    return core_cluster


def test_the_operator_takes_the_alerts(with_operator_kinds: Cluster) -> None:
    rules = str(DIRECTORY / "rules")
    said = with_operator_kinds.kubectl("apply", "--server-side", "--dry-run=server", "-k", rules)
    assert "prometheusrule.monitoring.coreos.com/podgang serverside-applied" in said.stdout


def test_the_operator_takes_the_component_that_has_it_scrape(
    with_operator_kinds: Cluster, tmp_path: Path
) -> None:
    # As in an overlay of one's own; kustomize wants its paths to be relative.
    component = DIRECTORY.parent / "components" / "service-monitor"
    relative = os.path.relpath(component.resolve(), tmp_path.resolve())
    overlay = {"kind": "Kustomization", "components": [relative]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    options = ("--server-side", "--dry-run=server")
    said = with_operator_kinds.kubectl("apply", *options, "-k", str(tmp_path))
    assert "servicemonitor.monitoring.coreos.com/podgang serverside-applied" in said.stdout
