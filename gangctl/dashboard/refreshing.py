"""Keeps the documents up to date: a changed object marks its documents, a timer makes them again.

It owns which change makes which document stale, and the time between rounds. Documents are made from the objects
of one set or one node, so the cost follows the changes and not the size of the cluster. Between two
batches other tasks run. A defect that one object causes is shown as a problem of that object; the
documents of others are made all the same.
"""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
import structlog

from gangctl.dashboard.activity import KEPT, ListedEvent, activity_document
from gangctl.dashboard.documents import (
    backend_documents,
    node_document,
    set_documents,
    set_key,
    topology_levels,
)
from gangctl.dashboard.store import DocumentStore
from gangctl.dashboard.watching import ON_NODE, Caches
from gangctl.snapshot import CLIQUES, GANGS, SETS, ListedPod
from shared_api import names
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import ObjectKey

log = structlog.stdlib.get_logger(__name__)

_BATCH = 100
_PAUSE = 0.25
"""Seconds between two rounds: people read no faster, and a burst becomes one change."""

_LONGEST = 2.0


class ClusterDocument(msgspec.Struct, frozen=True, rename="camel"):
    """What the page knows about the cluster as a whole."""

    kind: str
    context: str
    scope: str
    """The namespace that is shown; empty for all."""
    levels: tuple[tuple[str, str], ...]
    unread: dict[str, str]
    is_loaded: bool
    """The first lists are complete."""


class ProblemDocument(msgspec.Struct, frozen=True, rename="camel"):
    """An object that could not be shown."""

    kind: str
    about: str
    message: str


class Refresher:
    """Makes the documents of the changed objects."""

    def __init__(
        self,
        caches: Caches,
        store: DocumentStore,
        now: Callable[[], datetime],
        *,
        context: str = "",
        scope: str = "",
        before_round: Callable[[], None] = lambda: None,
    ) -> None:
        self._caches = caches
        self._store = store
        self._now = now
        self._context, self._scope = context, scope
        self._levels: tuple[tuple[str, str], ...] = ()
        self._sets: set[ObjectKey] = set()
        self._nodes: set[str] = set()
        self._stale: set[str] = {"backends", "activity", "levels"}
        self._has_stale = asyncio.Event()
        self._before_round = before_round
        self._subscribe()

    @property
    def levels(self) -> tuple[str, ...]:
        """The node labels of the topology levels, broadest first."""
        return tuple(key for _, key in self._levels)

    def _subscribe(self) -> None:
        caches = self._caches
        caches.sets.subscribe(self._on_set)
        for cache in (caches.gangs, caches.cliques):
            cache.subscribe(self._on_part)
        caches.gangs.subscribe(self._on_gang)
        caches.pods.subscribe(self._on_pod)
        caches.nodes.subscribe(self._on_node)
        caches.backends.subscribe(lambda _old, _new: self.mark("backends"))
        caches.lease_changed.subscribe(lambda _: self.mark("backends"))
        caches.bindings.subscribe(lambda _old, _new: self.mark("levels"))
        for events in caches.events.values():
            events.subscribe(lambda _old, _new: self.mark("activity"))
        for item in caches.sets:
            self._on_set(None, item)
        for node in caches.nodes:
            self._on_node(None, node)

    def mark(self, part: str) -> None:
        """Note that a part must be computed again: backends, activity or levels."""
        self._stale.add(part)
        self._has_stale.set()

    def _on_set(self, old: LooseObject | None, new: LooseObject | None) -> None:
        for item in (old, new):
            if item is not None:
                self._mark_set(item.metadata.namespace, item.metadata.name)

    def _on_part(self, old: Any, new: Any) -> None:
        for item in (old, new):
            if item is not None and names.LABEL_PART_OF in item.metadata.labels:
                self._mark_set(item.metadata.namespace, item.metadata.labels[names.LABEL_PART_OF])

    def _mark_set(self, namespace: str, name: str) -> None:
        self._sets.add(ObjectKey(namespace, name))
        self._has_stale.set()

    def _on_gang(self, old: LooseObject | None, new: LooseObject | None) -> None:
        if _backend(old) != _backend(new):
            self.mark("backends")

    def _on_pod(self, old: ListedPod | None, new: ListedPod | None) -> None:
        if any(pod and names.LABEL_PODGANG in pod.metadata.labels for pod in (old, new)):
            self._on_part(old, new)
        for pod in (old, new):
            if pod is not None and pod.spec.node_name:
                self._nodes.add(pod.spec.node_name)
                self._has_stale.set()

    def _on_node(self, old: ListedNode | None, new: ListedNode | None) -> None:
        found = new or old
        assert found is not None
        self._nodes.add(found.metadata.name)
        if not self._caches.bindings and (old is None or new is None):
            self._stale.add("levels")
        self._has_stale.set()

    async def run(self) -> None:
        """Make documents until cancelled; at most a few rounds a second."""
        while True:
            self._has_stale.clear()
            await self.round()
            await asyncio.sleep(_PAUSE)
            # A watch that fails has no event, and its error is part of a document.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._has_stale.wait(), _LONGEST)

    async def round(self) -> None:
        """Make everything that is stale now."""
        self._before_round()
        if "levels" in self._stale:
            self._refresh_levels()
        if "backends" in self._stale:
            self._made("backends", lambda: backend_documents(self._caches.of_backends(self._now())))
        if "activity" in self._stale:
            self._made("activity", self._activity)
        self._stale.clear()
        self._made("cluster", self._cluster)
        sets, self._sets = self._sets, set()
        nodes, self._nodes = self._nodes, set()
        for at, key in enumerate(sorted(sets)):
            self._made(set_key(*key), partial(self._set, key))
            await self._breathe(at)
        for at, name in enumerate(sorted(nodes)):
            self._made(f"node/{name}", partial(self._node, name))
            await self._breathe(at)

    @staticmethod
    async def _breathe(done: int) -> None:
        if done % _BATCH == _BATCH - 1:
            await asyncio.sleep(0)

    def _made(self, group: str, make: Callable[[], dict[str, msgspec.Struct]]) -> None:
        try:
            documents = make()
        except Exception as error:
            log.exception("an object cannot be shown", about=group)
            text = f"{group} cannot be shown: {type(error).__name__}. Use kubectl to see it."
            documents = {f"problem/{group}": ProblemDocument("problem", group, text)}
        self._store.replace(group, documents)

    def _refresh_levels(self) -> None:
        labels = {label for node in self._caches.nodes for label in node.metadata.labels}
        before, self._levels = self._levels, topology_levels(list(self._caches.bindings), labels)
        if before != self._levels:
            self._nodes.update(node.metadata.name for node in self._caches.nodes)

    def _cluster(self) -> dict[str, msgspec.Struct]:
        caches = self._caches
        lists = (caches.sets, caches.gangs, caches.pods)
        is_loaded = all(cache.is_synced for cache in lists) or bool(caches.unread)
        return {
            "cluster": ClusterDocument(
                "cluster", self._context, self._scope, self._levels, dict(caches.unread), is_loaded
            )
        }

    def _set(self, key: ObjectKey) -> dict[str, msgspec.Struct]:
        return set_documents(self._caches.of_set(key, self._now()))

    def _node(self, name: str) -> dict[str, msgspec.Struct]:
        node = self._caches.nodes.get(ObjectKey("", name))
        if node is None:
            return {}
        pods = self._caches.pods.by_index(ON_NODE, name)
        return {f"node/{name}": node_document(node, pods, self.levels)}

    def _activity(self) -> dict[str, msgspec.Struct]:
        found = [event for cache in self._caches.events.values() for event in cache]
        found.sort(key=lambda event: event.at, reverse=True)
        return {
            f"activity/{event.metadata.namespace}/{event.metadata.name}": activity_document(
                event, self._set_of(event)
            )
            for event in found[:KEPT]
        }

    def _set_of(self, event: ListedEvent) -> str:
        regarding = event.regarding
        key = ObjectKey(regarding.namespace, regarding.name)
        if regarding.kind == SETS.kind:
            return regarding.name
        caches = {CLIQUES.kind: self._caches.cliques, GANGS.kind: self._caches.gangs}
        cache = caches.get(regarding.kind)
        found = cache.get(key) if cache is not None else None
        return found.metadata.labels.get(names.LABEL_PART_OF, "") if found else ""


def _backend(gang: LooseObject | None) -> str | None:
    return gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if gang else None
