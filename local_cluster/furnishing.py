"""What a bare API server needs before anybody can work on it: nodes, accounts, schedulers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from local_cluster import components
from local_cluster.api import Api, ApiError, Object
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.components import Ports
from local_cluster.schedulers.extra import ExtraScheduler
from local_cluster.simulation.nodes import simulated_node
from local_cluster.simulation.stages import kwok_config

OWNED_BY = "local-cluster/cluster"
_NOT_READY = "node.kubernetes.io/not-ready"


async def furnish(cluster: Cluster, options: ClusterOptions, kwok: Path | None) -> None:
    """Start what plays nodes, make the nodes, and wait until pods can be created and placed."""
    async with Api(cluster.kubeconfig) as api:
        if kwok is not None:
            config = cluster.directory / "kwok.yaml"
            config.write_text(kwok_config())
            cluster.control.start(components.kwok(kwok, cluster.kubeconfig, config))
        names = [f"node-{index}" for index in range(options.nodes)]
        if options.process_node:
            cluster.control.start(components.process_node(cluster.kubeconfig, cluster.process_root))
            names.append(components.PROCESS_NODE)
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
    async for event in _current_and_following(api, path):
        if event["object"]["metadata"].get("name") == "default":
            return


async def _until_ready(api: Api, missing: set[str]) -> None:
    if not missing:
        return
    async for event in _current_and_following(api, "/api/v1/nodes"):
        node: Object = event["object"]
        ready = any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in node.get("status", {}).get("conditions", [])
        )
        taints = {taint["key"] for taint in node.get("spec", {}).get("taints", [])}
        if ready and _NOT_READY not in taints:
            missing.discard(node["metadata"]["name"])
        if not missing:
            return


def _current_and_following(api: Api, path: str) -> AsyncIterator[Object]:
    return api.watch(
        path,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )


async def install(cluster: Cluster, extra: ExtraScheduler, programs: Path, ports: Ports) -> None:
    """Install what a scheduler needs to find, start it, and wait until it says that it works."""
    async with Api(cluster.kubeconfig) as api:
        for file in extra.crds:
            crd = yaml.safe_load((programs / "assets" / file).read_text())
            await _create(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
            await _until_established(api, crd["metadata"]["name"])
        for path, manifest in extra.objects:
            await _create(api, path, manifest)
        for component in extra.components(programs, cluster.kubeconfig, ports):
            cluster.control.start(component)
        for name, words in extra.ready_words.items():
            while words not in cluster.log_tail(name, lines=1000):
                await asyncio.sleep(0.05)  # it tells in its log only


async def _until_established(api: Api, name: str) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    async for event in _current_and_following(api, path):
        conditions = event["object"].get("status", {}).get("conditions", [])
        established = any(
            condition["type"] == "Established" and condition["status"] == "True"
            for condition in conditions
        )
        if event["object"]["metadata"].get("name") == name and established:
            return


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
