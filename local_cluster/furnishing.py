"""What a bare API server needs before it can run pods: nodes, accounts, schedulers."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import yaml

from local_cluster import components
from local_cluster.api import Api, ApiError, Object
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.components import Ports
from local_cluster.container_node.node import CONTAINER_NODE
from local_cluster.process_node.placement import dedicated_namespace
from local_cluster.schedulers.extra import ExtraScheduler
from local_cluster.simulation.nodes import simulated_node
from local_cluster.simulation.stages import kwok_config

OWNED_BY = "local-cluster/cluster"
CONTROLLERS = "grove-system"
"""Namespace whose pods are run as processes: the product's manifests install into it."""
_NOT_READY = "node.kubernetes.io/not-ready"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def furnish(cluster: Cluster, options: ClusterOptions, kwok: Path | None) -> None:
    """Start kwok, create the nodes, and wait until pods can be created and scheduled."""
    async with Api(cluster.kubeconfig) as api:
        if kwok is not None:
            config = cluster.directory / "kwok.yaml"
            config.write_text(kwok_config())
            cluster.control.start(components.kwok(kwok, cluster.kubeconfig, config))
        names = [f"node-{index}" for index in range(options.nodes)]
        if options.process_node:
            cluster.control.start(components.process_node(cluster.kubeconfig, cluster.process_root))
            names.append(components.PROCESS_NODE)
            if options.context is None and options.borrowed is None:
                # Only a control plane of ours knows what its annotations mean.
                await _create(api, "/api/v1/namespaces", dedicated_namespace(CONTROLLERS))
        if options.containers:
            names.append(CONTAINER_NODE)
        async with asyncio.TaskGroup() as tasks:
            for index in range(options.nodes):
                node = simulated_node(index)
                node["metadata"]["labels"][OWNED_BY] = cluster.name
                tasks.create_task(_create(api, "/api/v1/nodes", node))
            tasks.create_task(_until_default_account(api))
            tasks.create_task(_until_ready(api, set(names)))


async def _until_default_account(api: Api) -> None:
    """Pods are refused until their namespace has its ServiceAccount."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    await _until(api, path, lambda item: item["metadata"].get("name") == "default")


async def _until_ready(api: Api, missing: set[str]) -> None:
    def none_missing(node: Object) -> bool:
        taints = {taint["key"] for taint in node.get("spec", {}).get("taints") or []}
        if _has_condition(node, "Ready") and _NOT_READY not in taints:
            missing.discard(node["metadata"]["name"])
        return not missing

    if missing:
        await _until(api, "/api/v1/nodes", none_missing)


async def _until(api: Api, path: str, satisfied: Callable[[Object], bool]) -> None:
    """Watch a collection until one of its objects satisfies."""
    async with contextlib.aclosing(api.current_and_following(path)) as events:
        async for event in events:
            if satisfied(event["object"]):
                return


def _has_condition(item: Object, kind: str) -> bool:
    conditions = item.get("status", {}).get("conditions") or []
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)


async def install(cluster: Cluster, extra: ExtraScheduler, programs: Path, ports: Ports) -> None:
    """Install what a scheduler needs, start it, and wait until its log reports that it works."""
    async with Api(cluster.kubeconfig) as api:
        for file in extra.crds:
            crd = yaml.safe_load((programs / "assets" / file).read_text())
            await _create(api, _CRDS, crd)
            await _until(api, _CRDS, _established(crd["metadata"]["name"]))
        for path, manifest in extra.objects:
            await _create(api, path, manifest)
        for name, content in extra.files.items():
            written = cluster.directory / name
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(content.replace("{kubeconfig}", str(cluster.kubeconfig)))
        for component in extra.components(programs, cluster.kubeconfig, ports):
            cluster.control.start(component)
        for name, message in extra.ready_message.items():
            while message not in cluster.log_tail(name, lines=1000):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.05)
        for path, is_ready in extra.ready_objects:
            await _until(api, path, is_ready)


def _established(name: str) -> Callable[[Object], bool]:
    return lambda crd: crd["metadata"].get("name") == name and _has_condition(crd, "Established")


async def _create(api: Api, path: str, manifest: Object) -> None:
    try:
        await api.create(path, manifest)
    except ApiError as error:
        if error.code != 409:
            raise


async def remove_nodes(cluster: Cluster) -> None:
    """Delete the nodes that this cluster made."""
    async with asyncio.timeout(30), Api(cluster.kubeconfig) as api:
        await api.delete("/api/v1/nodes", labelSelector=f"{OWNED_BY}={cluster.name}")
        await api.delete("/api/v1/nodes", fieldSelector=f"metadata.name={components.PROCESS_NODE}")
