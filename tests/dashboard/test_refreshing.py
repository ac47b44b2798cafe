"""A change in the cluster changes the documents of its object, and of no other."""

from typing import Any

import msgspec

from gangctl.dashboard.refreshing import Refresher
from gangctl.dashboard.store import DocumentStore
from gangctl.snapshot import ListedPod
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import ObjectKey
from tests.dashboard.fleet_scene import NOW, RACK, FleetScene, metadata
from tests.dashboard.fleets import usual
from tests.gangctl.scene import made, spec


class Page:
    """What an open page knows."""

    def __init__(self, scene: FleetScene) -> None:
        self.scene = scene
        self.store = DocumentStore()
        self.refresher = Refresher(scene.caches, self.store, lambda: NOW)
        self.documents: dict[str, Any] = {}
        self._cursor = 0

    async def changes(self) -> set[str]:
        """Let a round pass, and return the keys that changed."""
        await self.refresher.round()
        changed: set[str] = set()
        while True:
            found = self.store.since(self._cursor)
            self._cursor = found.cursor
            self.documents |= {key: msgspec.json.decode(raw) for key, raw in found.put.items()}
            for key in found.deleted:
                del self.documents[key]
            changed |= found.put.keys() | set(found.deleted)
            if found.is_complete:
                return changed


async def test_the_first_round_shows_the_whole_cluster() -> None:
    page = Page(usual())
    await page.changes()
    kinds = {key.split("/")[0] for key in page.documents}
    assert kinds == {"set", "gang", "node", "backend", "activity", "cluster"}
    assert page.documents["cluster"]["levels"] == [["rack", RACK]]
    assert page.documents["cluster"]["isLoaded"]


async def test_a_round_without_a_change_sends_nothing() -> None:
    page = Page(usual())
    await page.changes()
    assert await page.changes() == set()


async def test_a_bound_pod_changes_its_set_its_gang_and_its_node_only() -> None:
    page = Page(usual())
    await page.changes()
    caches = page.scene.caches
    before = caches.pods.get(ObjectKey("research", "training-0-worker-0"))
    assert before is not None
    moved = made(
        ListedPod,
        metadata=msgspec.to_builtins(before.metadata) | {"resourceVersion": "999999"},
        spec=spec(4, nodeName="node-27"),
        status={"phase": "Running"},
    )
    page.scene.put(caches.pods, moved)
    assert await page.changes() == {"gang/research/training-0", "node/node-27"}
    assert page.documents["node/node-27"]["gangs"]["gpu"] == 4


async def test_a_deleted_set_disappears_with_its_gangs() -> None:
    page = Page(usual())
    await page.changes()
    caches, key = page.scene.caches, ObjectKey("research", "training")
    for cache in (caches.sets, caches.gangs):
        for item in list(cache):
            if item.metadata.key in (key, ObjectKey("research", "training-0")):
                page.scene.remove(cache, item)
    assert {"set/research/training", "gang/research/training-0"} <= await page.changes()
    assert "set/research/training" not in page.documents


async def test_an_object_that_cannot_be_shown_hides_no_other() -> None:
    page = Page(usual())
    broken = made(
        LooseObject,
        metadata=metadata("broken", "research", of="set"),
        spec={"replicas": {"not": "a number"}},
    )
    page.scene.put(page.scene.caches.sets, broken)
    await page.changes()
    assert "set/research/training" in page.documents
    assert "cannot be shown" in page.documents["problem/set/research/broken"]["message"]


async def test_a_right_that_is_missing_is_named() -> None:
    page = Page(usual())
    await page.changes()
    page.scene.caches.unread["nodes"] = "forbidden"
    assert await page.changes() == {"cluster"}
    assert page.documents["cluster"]["unread"] == {"nodes": "forbidden"}
