"""One control plane with the product on it as it is deployed, and ways to disturb both.

Core and the backends run from the manifests in deploy/ on the process node, each a single
replica with its own rights. Only their settings differ: numbers are written sooner.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import yaml

from backend_controllers.generic.kinds import BACKENDS
from local_cluster import components
from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import place_on_process_node
from local_cluster.waiting import until, wait_until
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import LEASES, PODS
from tests.backends.suite.contender import Contender

DEPLOY = Path(__file__).parents[3] / "deploy"
NAMESPACE = "grove-system"
PATIENCE = 120.0
"""Seconds for a program to start on a machine that is busy."""

_HERE = f"--namespace={NAMESPACE}"
_BEATS = ("Ready", "Available")
_SHARED = ("CustomResourceDefinition", "Namespace", "Deployment")


class Bed:
    """A cluster with core, the contender's backend, and those beside it."""

    def __init__(self, contender: Contender, cluster: Cluster) -> None:
        self.contender = contender
        self.cluster = cluster

    @contextlib.contextmanager
    def furnished(self, *, lent: bool) -> Iterator["Bed"]:
        """The bed with everything deployed and serving; a lent cluster is given back as it was."""
        self._start_process_node()
        kubectl, manifests = self.cluster.kubectl, list(self._manifests())
        try:
            kubectl("apply", "--server-side", "-f", "-", input=_listing(manifests))
            self._until_serving()
            if self.contender.settled:
                kubectl("wait", *self.contender.settled, f"--timeout={PATIENCE:.0f}s")
            yield self
        finally:
            # Also after an apply that failed half way: a backend that is left serves foreign tests.
            if lent:
                self._remove(manifests)

    @contextlib.asynccontextmanager
    async def scaled_to_zero(self) -> AsyncIterator[None]:
        """No process of the backend, until the block ends."""
        await self.scale(0)
        try:
            yield
        finally:
            await self.scale(1)

    async def scale(self, replicas: int) -> None:
        """Scale the backend's Deployment; to zero: return when its process is gone."""
        name = self.contender.backend
        await self._kubectl("scale", f"deployment/backend-{name}", f"--replicas={replicas}", _HERE)
        if not replicas:
            await self._until_pods(name, lambda found: not found)

    async def until_ready(self, replicas: int) -> None:
        """Wait until the backend has so many ready pods."""

        def are_ready(found: list[dict[str, Any]]) -> bool:
            return len(found) == replicas and all(_holds(pod, "Ready") for pod in found)

        await self._until_pods(self.contender.backend, are_ready)

    async def leader(self, other_than: str = "") -> str:
        """The pod of the contender's backend that leads, once one does, or another does."""
        (lease,) = await until(
            self.cluster.kubeconfig,
            LEASES.path(NAMESPACE),
            lambda found: any(_holder(item) not in ("", other_than) for item in found),
            seconds=PATIENCE,
            fieldSelector=f"metadata.name=backend-{self.contender.backend}",
        )
        return _holder(lease)

    async def delete_leader(self, *, force: bool) -> str:
        """Take the leading pod away, by force without a chance to say good-bye; its name."""
        leader = await self.leader()
        how = ("--force", "--grace-period=0") if force else ("--wait=false",)
        await self._kubectl("delete", "pod", leader, _HERE, *how)
        return leader

    async def stop_scheduler(self) -> None:
        for name in self.contender.processes:
            await asyncio.to_thread(self.cluster.control.stop, name)

    async def start_scheduler(self) -> None:
        for name in self.contender.processes:
            await asyncio.to_thread(self.cluster.control.resume, name)

    async def _kubectl(self, *arguments: str) -> None:
        await asyncio.to_thread(self.cluster.kubectl, *arguments)

    async def _until_pods(self, backend: str, condition: Any) -> None:
        await until(
            self.cluster.kubeconfig,
            PODS.path(NAMESPACE),
            condition,
            seconds=PATIENCE,
            labelSelector=f"app.kubernetes.io/instance={backend}",
        )

    def _start_process_node(self) -> None:
        control, kubectl = self.cluster.control, self.cluster.kubectl
        if components.PROCESS_NODE in control.components():
            return
        control.start(components.process_node(self.cluster.kubeconfig, self.cluster.process_root))
        node = f"node/{components.PROCESS_NODE}"
        kubectl("wait", "--for=create", node, "--timeout=60s")
        kubectl("wait", "--for=condition=Ready", node, "--timeout=60s")

    def _manifests(self) -> Iterator[dict[str, Any]]:
        yield from (dict(manifest) for manifest in self.contender.objects)
        yield from map(_alone, self._rendered("core"))
        for name in self.contender.backends:
            for manifest in self._rendered(f"backends/{name}"):
                if manifest["kind"] == "ConfigMap":
                    manifest["data"] = {"settings.yaml": json.dumps(self._settings(name))}
                yield _alone(manifest)

    def _rendered(self, folder: str) -> Iterator[dict[str, Any]]:
        rendered = self.cluster.kubectl("kustomize", str(DEPLOY / folder)).stdout
        return (manifest for manifest in yaml.safe_load_all(rendered) if manifest)

    def _settings(self, backend: str) -> dict[str, Any]:
        options = self.contender.options if backend == self.contender.backend else {}
        return {
            "leaderElection": {"namespace": NAMESPACE},
            "timing": {"progressDelaySeconds": 0.5},
            "options": dict(options),
        }

    def _remove(self, manifests: list[dict[str, Any]]) -> None:
        """Remove all but the definitions, which others use; rights go last."""
        kubectl, wait = self.cluster.kubectl, "--wait=false"
        deployments = [item for item in manifests if item["kind"] == "Deployment"]
        kubectl("delete", wait, "--ignore-not-found", "-f", "-", input=_listing(deployments))
        path = PODS.path(NAMESPACE)
        wait_until(self.cluster.kubeconfig, path, lambda found: not found, seconds=PATIENCE)
        rest = [item for item in manifests if item["kind"] not in _SHARED]
        kubectl("delete", wait, "--ignore-not-found", "-f", "-", input=_listing(rest))
        kubectl("delete", "schedulerbackends", *self.contender.backends, "--ignore-not-found")

    def _until_serving(self) -> None:
        wanted = set(self.contender.backends)

        def is_serving(records: list[dict[str, Any]]) -> bool:
            serving = {
                record["metadata"]["name"]
                for record in records
                if all(_holds(record, kind) for kind in _BEATS)
            }
            return wanted <= serving

        path = BACKENDS.path()
        wait_until(self.cluster.kubeconfig, path, is_serving, seconds=PATIENCE)


def capabilities(record: LooseObject) -> frozenset[str]:
    """What a record says that a backend can do about topology."""
    return frozenset(name for name in record.spec["capabilities"] if name.startswith("Topology"))


def _holder(lease: dict[str, Any]) -> str:
    """The pod whose process holds a Lease; empty if nobody does."""
    identity: str = lease["spec"].get("holderIdentity") or ""
    return identity.rpartition("_")[0]


def _alone(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest for the process node, with one replica if it is a Deployment."""
    placed = place_on_process_node(manifest)
    if placed["kind"] == "Deployment":
        placed["spec"]["replicas"] = 1
    return placed


def _listing(manifests: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def _holds(item: dict[str, Any], kind: str) -> bool:
    conditions = item.get("status", {}).get("conditions") or []
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)
