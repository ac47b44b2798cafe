"""What `kubectl apply -k deploy/monitoring` brings, and that a server takes it."""

from collections import Counter

import pytest
import yaml

from local_cluster.cluster import Cluster
from monitoring.__main__ import DASHBOARDS, DIRECTORY

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
