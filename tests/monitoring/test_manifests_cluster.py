"""What `kubectl apply -k deploy/monitoring` brings, and that a server takes it."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster.cluster import Cluster
from monitoring.__main__ import DASHBOARDS, DIRECTORY
from shared_api.runtime.configuration import ServerSettings
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
    said = _dry_run(with_operator_kinds, tmp_path, components=("service-monitor",))
    assert "servicemonitor.monitoring.coreos.com/podgang serverside-applied" in said


def test_secured_metrics_have_one_port_from_the_process_to_the_monitor(
    with_operator_kinds: Cluster, tmp_path: Path
) -> None:
    folders = ("core", "backends/default", "backends/kai")
    components = ("service-monitor", "secure-metrics")
    _dry_run(with_operator_kinds, tmp_path, folders, components)
    text = with_operator_kinds.kubectl("kustomize", str(tmp_path)).stdout
    found: dict[str, list[dict[str, Any]]] = {}
    for item in yaml.safe_load_all(text):
        found.setdefault(item["kind"], []).append(item.get("spec", item))
    for policy in found["NetworkPolicy"]:
        assert policy["ingress"][0]["ports"] == [{"port": "metrics"}]
    for service in found["Service"]:
        assert [port["targetPort"] for port in service["ports"]] == ["metrics"]
    assert [point["port"] for point in found["ServiceMonitor"][0]["endpoints"]] == ["metrics"]
    for deployment in found["Deployment"]:
        container = deployment["template"]["spec"]["containers"][0]
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        options = dict(word.split("=") for word in container["args"] if "=" in word)
        assert options["--metrics-certificates"] in mounts
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert ports == {"http": 8080, "metrics": ServerSettings().metrics_port}
    assert [len(found[kind]) for kind in ("Deployment", "Service", "NetworkPolicy")] == [3, 3, 3]


def _dry_run(
    cluster: Cluster, overlay: Path, folders: Sequence[str] = (), components: Sequence[str] = ()
) -> str:
    """What the server says to an overlay of one's own; kustomize wants its paths to be relative."""
    root = os.path.relpath(DIRECTORY.parent.resolve(), overlay.resolve())
    manifest = {
        "kind": "Kustomization",
        "resources": [f"{root}/{folder}" for folder in folders],
        "components": [f"{root}/components/{name}" for name in components],
    }
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(manifest))
    options = ("--server-side", "--dry-run=server", "--force-conflicts")
    return cluster.kubectl("apply", *options, "-k", str(overlay)).stdout
