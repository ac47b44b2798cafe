"""A dashboard that is fed from values instead of a cluster."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from gangctl.dashboard.files import MODULES, contents
from gangctl.dashboard.refreshing import Refresher
from gangctl.dashboard.server import DashboardServer
from gangctl.dashboard.store import DocumentStore
from tests.dashboard.fleet_scene import NOW, FleetScene


@dataclass(frozen=True)
class Served:
    """A running dashboard."""

    url: str
    scene: FleetScene
    store: DocumentStore


@contextlib.asynccontextmanager
async def served(
    scene: FleetScene, context: str = "prod-eu-1", folder: Path = MODULES
) -> AsyncIterator[Served]:
    """Serve a scene at the moment of the scene."""
    store = DocumentStore()
    refresher = Refresher(scene.caches, store, lambda: NOW, context=context)
    server = DashboardServer(scene.caches, store, refresher, lambda: NOW, contents(folder))
    async with server.serving() as url, asyncio.TaskGroup() as group:
        task = group.create_task(refresher.run())
        try:
            yield Served(url, scene, store)
        finally:
            task.cancel()
