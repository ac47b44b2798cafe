"""The product as a platform team installs it: `kubectl apply -k` and nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import dedicated_namespace
from local_cluster.waiting import wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMESPACE = "grove-system"
PATIENCE = 120.0
"""Seconds for programs to start or to go on a machine that is busy."""

Object = dict[str, Any]


def rendered(cluster: Cluster, folder: str) -> list[Object]:
    """What `kubectl apply -k` applies."""
    text = cluster.kubectl("kustomize", str(DEPLOY / folder)).stdout
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def install(cluster: Cluster, folder: str, *backends: str) -> None:
    """Apply a folder as it is; return when core and those backends serve."""
    namespace = json.dumps(dedicated_namespace(NAMESPACE))
    # Under another name than that of `kubectl apply`, which would take back what it does not have.
    ours = ("--server-side", "--field-manager=local-cluster")
    cluster.kubectl("apply", *ours, "-f", "-", input=namespace)
    cluster.kubectl("apply", "--server-side", "-k", str(DEPLOY / folder))
    awaited = {"core-operator", "all-in-one", *(f"backend-{name}" for name in backends)}
    for manifest in rendered(cluster, folder):
        if manifest["kind"] != "Deployment":
            continue
        name = f"deployment/{manifest['metadata']['name']}"
        if manifest["metadata"]["name"] not in awaited:
            # Its scheduler is not here: it would only say so, with processes that others need.
            cluster.kubectl("scale", name, f"-n{NAMESPACE}", "--replicas=0")
            continue
        patience = f"--timeout={PATIENCE:.0f}s"
        cluster.kubectl("rollout", "status", name, f"-n{NAMESPACE}", patience)
    until_available(cluster, *backends)


def until_available(cluster: Cluster, *backends: str) -> None:
    """Wait until records say that these backends serve."""

    def serve(records: list[Object]) -> bool:
        found = {record["metadata"]["name"] for record in records if _is_available(record)}
        return set(backends) <= found

    path = "/apis/grove.io/v1alpha1/schedulerbackends"
    wait_until(cluster.kubeconfig, path, serve, seconds=PATIENCE)


def uninstall(cluster: Cluster, folder: str) -> None:
    """Delete a folder as the page on operating says; return when nothing of it is left."""
    if cluster.kubectl("get", "namespace", NAMESPACE, check=False).returncode:
        return
    patience = f"--timeout={PATIENCE:.0f}s"
    cluster.kubectl("delete", "--ignore-not-found", "-k", str(DEPLOY / folder), patience)
    wait_until(
        cluster.kubeconfig,
        "/api/v1/namespaces",
        lambda found: NAMESPACE not in {item["metadata"]["name"] for item in found},
        seconds=PATIENCE,
    )


@contextmanager
def applied(cluster: Cluster, folder: str) -> Iterator[None]:
    """A folder without Deployments, as long as the block lasts."""
    cluster.kubectl("apply", "--server-side", "-k", str(DEPLOY / folder))
    try:
        yield
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-k", str(DEPLOY / folder))


def _is_available(record: Object) -> bool:
    conditions = record.get("status", {}).get("conditions") or []
    held = {entry["type"] for entry in conditions if entry["status"] == "True"}
    return {"Ready", "Available"} <= held
