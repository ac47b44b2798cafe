"""The Node object of the process node, its heartbeat and its Lease.

The node carries a taint, so that only pods that ask for it come (see placement.py). The Lease
is renewed every 10 s, as node-lifecycle-controller expects; the status is written when it is
not what it should be, and once a minute. A deleted node is registered again.
"""

import asyncio
import logging
import platform
from collections.abc import Callable
from datetime import UTC, datetime

import aiohttp

from local_cluster.api import STRATEGIC_PATCH, Api, ApiError, Object
from local_cluster.process_node.addresses import HOST
from local_cluster.process_node.downward import CAPACITY
from local_cluster.process_node.placement import LABEL, TAINT
from local_cluster.process_node.status import timestamp

BEAT_SECONDS, RETRY_SECONDS = 10.0, 0.5
LEASE_SECONDS, STATUS_SECONDS = 40, 60.0
NOT_READY = "node.kubernetes.io/not-ready"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

log = logging.getLogger(__name__)


class NodeRegistration:
    """Registers the node and keeps its status and Lease current."""

    def __init__(self, api: Api, name: str, clock: Callable[[], datetime]) -> None:
        self._api = api
        self._name = name
        self._clock = clock
        self._path = f"/api/v1/nodes/{name}"
        self._written: float | None = None

    async def run(self) -> None:
        """Register and keep the node alive until cancelled."""
        while True:
            pause = BEAT_SECONDS
            try:
                await self._beat()
            except (ApiError, aiohttp.ClientError, TimeoutError) as error:
                log.warning("heartbeat: %s", str(error) or type(error).__name__)
                pause = RETRY_SECONDS
            await asyncio.sleep(pause)

    async def _beat(self) -> None:
        node = await self._node()
        now = asyncio.get_running_loop().time()
        old = self._written is None or now - self._written >= STATUS_SECONDS
        if old or _ready_condition(node).get("status") != "True":
            status = {"status": node_status(node, self._clock())}
            node = await self._api.patch(
                f"{self._path}/status", status, content_type=STRATEGIC_PATCH
            )
            self._written = now
        await self._renew_lease(node["metadata"]["uid"])
        # The API server gives the taint to every new node, and not every cluster runs the
        # controller that removes it.
        taints = node["spec"].get("taints", [])
        if any(taint["key"] == NOT_READY for taint in taints):
            await self._replace_taints(node, [t for t in taints if t["key"] != NOT_READY])

    async def _node(self) -> Object:
        try:
            node = await self._api.get(self._path)
        except ApiError as error:
            if error.code != 404:
                raise
            self._written = None
            return await self._api.create("/api/v1/nodes", node_manifest(self._name))
        if TAINT not in node["spec"].get("taints", []):
            await self._replace_taints(node, [*node["spec"].get("taints", []), TAINT])
        return node

    async def _replace_taints(self, node: Object, taints: list[Object]) -> None:
        # With the version that the list was read from: controllers write it, too.
        version = node["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints}}
        try:
            await self._api.patch(self._path, patch)
        except ApiError as error:
            if error.code != 409:
                raise

    async def _renew_lease(self, uid: str) -> None:
        renewed = self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {
            "holderIdentity": self._name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": renewed,
        }
        try:
            await self._api.patch(f"{LEASES}/{self._name}", {"spec": spec})
        except ApiError as error:
            if error.code != 404:
                raise
            owner = {"apiVersion": "v1", "kind": "Node", "name": self._name, "uid": uid}
            metadata = {"name": self._name, "ownerReferences": [owner]}
            await self._api.create(LEASES, {"metadata": metadata, "spec": spec})


def node_manifest(name: str) -> Object:
    """The Node as it is registered."""
    labels = {
        LABEL: "true",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": platform.system().lower(),
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": [TAINT]}}


def node_status(node: Object, now: datetime) -> Object:
    """The status of a node that is well."""
    before = _ready_condition(node)
    changed = before.get("lastTransitionTime") if before.get("status") == "True" else None
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "addresses": [
            {"type": "InternalIP", "address": HOST},
            {"type": "Hostname", "address": node["metadata"]["name"]},
        ],
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "pods run as processes",
                "lastHeartbeatTime": timestamp(now),
                "lastTransitionTime": changed or timestamp(now),
            }
        ],
        "nodeInfo": {
            "architecture": platform.machine(),
            "operatingSystem": platform.system().lower(),
            "kernelVersion": platform.release(),
            "osImage": platform.system(),
            "containerRuntimeVersion": f"process://{platform.python_version()}",
            "kubeletVersion": "process-node",
            "kubeProxyVersion": "",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
    }


def _ready_condition(node: Object) -> Object:
    conditions: list[Object] = node.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "Ready"), {})
