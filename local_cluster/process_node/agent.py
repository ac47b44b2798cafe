"""The process node as a whole: follows its pods and keeps each of them.

It owns the set of pods, one per UID, and is the only place where an unexpected error of one
pod is caught: it is logged and the pod starts over, while the others go on.
"""

import asyncio
import logging
import shutil

from local_cluster.api import Object
from local_cluster.process_node.pods import Pod
from local_cluster.process_node.reflector import Reflector
from local_cluster.process_node.registration import NodeRegistration
from local_cluster.process_node.services import Services

START_OVER_SECONDS = 5.0

log = logging.getLogger(__name__)


class Agent:
    """A node whose pods are processes."""

    def __init__(self, services: Services, registration: NodeRegistration, name: str) -> None:
        self._services = services
        self._registration = registration
        self._pods: dict[str, Pod] = {}
        selector = f"spec.nodeName={name}"
        self._reflector = Reflector(
            services.api, "/api/v1/pods", self._on_change, fieldSelector=selector
        )
        self._group = asyncio.TaskGroup()

    async def run(self) -> None:
        """Be a node until cancelled; then stop all processes."""
        async with self._group:
            self._group.create_task(self._services.events.run())
            config_maps = self._services.config_maps.reflector
            self._group.create_task(config_maps.run())
            # Pods that were here before need their ConfigMaps at once.
            await config_maps.synced.wait()
            self._group.create_task(self._reflector.run())
            await self._reflector.synced.wait()
            self._sweep()
            self._group.create_task(self._registration.run())

    def _on_change(self, kind: str, item: Object) -> None:
        uid = item["metadata"]["uid"]
        pod = self._pods.get(uid)
        if pod is None:
            if kind != "DELETED":
                self._pods[uid] = pod = Pod(self._services, item)
                self._group.create_task(self._keep(uid, pod))
        elif kind == "DELETED":
            pod.vanished()
        else:
            pod.observe(item)

    async def _keep(self, uid: str, pod: Pod) -> None:
        try:
            while True:
                try:
                    return await pod.run()
                except Exception:
                    log.exception("pod %s starts over", uid)
                await asyncio.sleep(START_OVER_SECONDS)
                if pod.gone.is_set():
                    return None
                pod = self._pods[uid] = Pod(self._services, pod.observed)
        finally:
            del self._pods[uid]

    def _sweep(self) -> None:
        """Remove what pods left that went away while no process node was there."""
        directory = self._services.root / "pods"
        directory.mkdir(parents=True, exist_ok=True)
        for entry in directory.iterdir():
            if entry.name not in self._pods:
                shutil.rmtree(entry, ignore_errors=True)
