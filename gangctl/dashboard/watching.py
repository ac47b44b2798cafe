"""The objects of the cluster, kept up to date by watches with the user's own rights.

It owns the watches and their caches. A kind that the user may not read, or that the cluster does
not serve, leaves its cache empty and is named in `unread`; its watch is tried again, so that a
right that is granted later takes effect. Leases are watched one by one: nodes renew so many of them
that a watch of all would never be quiet. Nothing here writes to the cluster.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from gangctl.dashboard.activity import ListedEvent
from gangctl.reading import CommandTarget, scheduler_kinds, scheduler_object
from gangctl.snapshot import (
    BACKENDS,
    BINDINGS,
    CLIQUES,
    GANGS,
    SETS,
    ListedLease,
    ListedPod,
    SchedulerObject,
    Snapshot,
)
from shared_api import names
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.client import EVERYTHING, Client, Selector
from shared_api.kube.codec import LooseObject, PartialObject, Projection
from shared_api.kube.errors import Forbidden, KubeError
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import EVENTS, LEASES, NODES, PODS, Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.reflector import Reflector, Source

T = TypeVar("T", bound=Projection)

OF_SET, OF_GANG, ON_NODE = "set", "gang", "node"
_EVENTS_ABOUT = (SETS.kind, CLIQUES.kind, GANGS.kind)
_NOT_SERVED = "the cluster does not serve this kind"


def labelled(label: str) -> Callable[[Any], Iterable[Hashable]]:
    """Return an indexer by namespace and the value of a label."""

    def values(item: Any) -> Iterable[Hashable]:
        value = item.metadata.labels.get(label)
        return [ObjectKey(item.metadata.namespace, value)] if value else []

    return values


def _node(pod: ListedPod) -> Iterable[Hashable]:
    return [pod.spec.node_name] if pod.spec.node_name else []


class Caches:
    """The caches of a dashboard; tests and benchmarks fill them without a cluster."""

    def __init__(self) -> None:
        by_set = {OF_SET: labelled(names.LABEL_PART_OF)}
        self.sets: Cache[LooseObject] = Cache()
        self.gangs: Cache[LooseObject] = Cache(by_set)
        self.cliques: Cache[LooseObject] = Cache(by_set)
        self.pods: Cache[ListedPod] = Cache(
            {**by_set, OF_GANG: labelled(names.LABEL_PODGANG), ON_NODE: _node}
        )
        self.nodes: Cache[ListedNode] = Cache()
        self.backends: Cache[LooseObject] = Cache()
        self.bindings: Cache[LooseObject] = Cache()
        self.events = {kind: Cache[ListedEvent]() for kind in _EVENTS_ABOUT}
        self.leases: dict[ObjectKey, Cache[ListedLease]] = {}
        self.lease_changed: Channel[ObjectKey] = Channel("lease changed")
        self.scheduler_objects: dict[Resource, Cache[LooseObject]] = {}
        self.unread: dict[str, str] = {}
        """Kinds that are not read in full, by plural, each with the reason."""

    def of_set(self, key: ObjectKey, now: datetime) -> Snapshot:
        """Return the objects of one set."""
        found = self.sets.get(key)
        return Snapshot(
            now,
            sets=[found] if found else [],
            gangs=self.gangs.by_index(OF_SET, key),
            pods=self.pods.by_index(OF_SET, key),
            backends=list(self.backends),
            unread=self.unread,
        )

    def of_backends(self, now: datetime) -> Snapshot:
        """Return the records of backends, with their Leases and gangs."""
        leases = [lease for cache in self.leases.values() for lease in cache]
        return Snapshot(now, gangs=list(self.gangs), backends=list(self.backends), leases=leases)

    def everything(self, now: datetime) -> Snapshot:
        """Return all objects, for reports about capacity."""
        return Snapshot(
            now,
            sets=list(self.sets),
            cliques=list(self.cliques),
            gangs=list(self.gangs),
            backends=list(self.backends),
            bindings=list(self.bindings),
            pods=list(self.pods),
            nodes=list(self.nodes),
            scheduler_objects=self._scheduler_objects(),
            unread=dict(self.unread),
        )

    def _scheduler_objects(self) -> list[SchedulerObject]:
        found = self.scheduler_objects.items()
        return [scheduler_object(resource, item) for resource, cache in found for item in cache]


class Watches:
    """The watches that fill the caches of one dashboard."""

    def __init__(self, client: Client, caches: Caches, scope: str | None) -> None:
        self._client = client
        self._caches = caches
        self._scope = scope
        self._group: asyncio.TaskGroup | None = None
        self._reflectors: dict[str, Reflector[Any]] = {}
        self._limits: dict[str, str] = {}

    async def run(self) -> None:
        """Watch until cancelled."""
        caches = self._caches
        pods_scope = await self._pods_scope()
        async with asyncio.TaskGroup() as group:
            self._group = group
            for resource, cache in (
                (SETS, caches.sets),
                (GANGS, caches.gangs),
                (CLIQUES, caches.cliques),
            ):
                self._start(cache, Source(resource, LooseObject, self._scope, optional=True))
            self._start(caches.pods, Source(PODS, ListedPod, pods_scope))
            self._start(caches.nodes, Source(NODES, ListedNode))
            for resource, cache in ((BACKENDS, caches.backends), (BINDINGS, caches.bindings)):
                self._start(cache, Source(resource, LooseObject, optional=True))
            for kind, events in caches.events.items():
                about = Selector(fields=f"regarding.kind={kind}")
                self._start(events, Source(EVENTS, ListedEvent, self._scope, about))
            caches.backends.subscribe(self._on_backend)

    def refresh_unread(self) -> None:
        """Note which kinds cannot be read now, and why."""
        errors = {plural: found.last_error for plural, found in self._reflectors.items()}
        now = {plural: str(error) for plural, error in errors.items() if error is not None}
        self._caches.unread.clear()
        self._caches.unread.update(now | self._limits)

    async def _pods_scope(self) -> str | None:
        """Return where pods are watched: free capacity needs those of all namespaces."""
        if await may_list(self._client, PODS, None):
            return None
        where = f"in namespace {self._scope} only" if self._scope else "not at all"
        self._limits[PODS.plural] = f"you may list pods {where}: free capacity is unknown"
        return self._scope

    def _start(self, cache: Cache[T], source: Source[T]) -> None:
        assert self._group is not None
        plural = source.resource.plural
        reflector = Reflector(
            self._client,
            source,
            on_served=lambda served: (
                self._served(plural, is_served=served) if source.optional else None
            ),
        )
        # Of several watches of one kind the last stands for all: they need the same rights.
        self._reflectors[plural] = reflector
        self._group.create_task(cache.run(reflector))

    def _served(self, plural: str, *, is_served: bool) -> None:
        if is_served:
            self._limits.pop(plural, None)
        else:
            self._limits[plural] = _NOT_SERVED

    def _on_backend(self, old: LooseObject | None, new: LooseObject | None) -> None:
        """Watch the Lease of a new backend, and the kinds of its scheduler."""
        if new is None or self._group is None:
            return
        lease = new.spec.get("lease") or {}
        key = ObjectKey(str(lease.get("namespace", "")), str(lease.get("name", "")))
        if key.name and key not in self._caches.leases:
            cache = self._caches.leases[key] = Cache[ListedLease]()
            cache.subscribe(lambda _old, _new: self._caches.lease_changed.send(key))
            only = Selector(fields=f"metadata.name={key.name}")
            self._start(cache, Source(LEASES, ListedLease, key.namespace, only))
        if old is None or old.status.get("dialect") != new.status.get("dialect"):
            self._group.create_task(self._watch_scheduler_kinds())

    async def _watch_scheduler_kinds(self) -> None:
        try:
            found = await scheduler_kinds(self._client)
        except KubeError:
            return
        for resource in found:
            if resource not in self._caches.scheduler_objects:
                cache = self._caches.scheduler_objects[resource] = Cache[LooseObject]()
                self._start(cache, Source(resource, LooseObject, self._scope, optional=True))


async def may_list(client: Client, resource: Resource, namespace: str | None) -> bool:
    """Return whether the user may list a kind."""
    pages = client.pages(
        resource, namespace, into=PartialObject, selector=EVERYTHING, metadata_only=True, limit=1
    )
    try:
        await anext(pages)
    except Forbidden:
        return False
    finally:
        await pages.aclose()
    return True


async def scope_of(client: Client, target: CommandTarget) -> str | None:
    """Return the namespace to show; None for all, if none is named and the user may list all."""
    if target.namespace is not None:
        return target.namespace
    return None if await may_list(client, SETS, None) else target.home
