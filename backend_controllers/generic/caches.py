"""Everything that one dialect watches, in one value.

Gangs and pods are selected by this backend's label, written objects by the label that the backend
sets; a foreign object is therefore not in a cache until its name is needed. Kinds that are only
read are selected as the dialect declares.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from backend_controllers.contract.cliques import CLIQUES, GangClique
from backend_controllers.contract.declaration import Backend, Dialect, Reads, Writes
from backend_controllers.generic.kinds import GANGS, field_manager, managed_by, served_by
from shared_api import names
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import NODES, PODS, Resource
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.manager import Manager
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import its_controller
from shared_api.runtime.watching.owners import Owner, by_controller, identity
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Source

OWNER = "owner"
"""Index by the controlling owner."""
GANG = "gang"
"""Index by namespace and name of a gang: of pods by their label, of our objects by their owner."""

WrittenObject = Applied[Watched]


@dataclass(frozen=True, slots=True)
class BackendCaches:
    """The watched objects."""

    gangs: Cache[ObservedPodGang]
    pods: Cache[Pod]
    written: dict[Resource, Cache[WrittenObject]] = field(default_factory=dict)
    read: dict[Resource, Cache[Watched]] = field(default_factory=dict)
    nodes: Cache[ListedNode] | None = None
    """For messages about capacity."""

    def gang(self, key: ObjectKey) -> ObservedPodGang | None:
        """The gang of this name, unless it is being deleted."""
        found = self.gangs.get(key)
        return None if found is None or found.metadata.deletion_timestamp else found

    def pods_of(self, gang: ObservedPodGang) -> list[Pod]:
        """The pods that have the label of this gang."""
        return self.pods.by_index(GANG, f"{gang.metadata.namespace}/{gang.metadata.name}")

    def find(self, resource: Resource, key: ObjectKey) -> Watched | None:
        """Any object of a kind that is watched, as its projection."""
        if (cache := self.read.get(resource)) is not None:
            return cache.get(key)
        found = self.written[resource].get(key)
        return None if found is None else found.object

    def gangs_of(self, resource: Resource, owner: Watched) -> list[ObservedPodGang]:
        """The gangs that an object of this kind controls."""
        return self.gangs.by_index(OWNER, identity(resource, owner))

    def owned(self, resource: Resource, owner: Owner) -> list[WrittenObject]:
        """The objects of a kind that this owner controls."""
        return self.written[resource].by_index(OWNER, owner)


def watch_all(manager: Manager, backend: Backend, dialect: Dialect) -> BackendCaches:
    """Watch everything that a dialect needs."""
    name = backend.name
    caches = BackendCaches(
        # Without fingerprints: `urgency` decides before the Applier is called.
        manager.watch(
            Source(GANGS, ObservedPodGang, selector=served_by(name)), {OWNER: by_controller}
        ),
        manager.watch(Source(PODS, Pod, selector=served_by(name)), {GANG: by_gang}),
        nodes=manager.watch(Source(NODES, ListedNode)),
    )
    for writes in dialect.writes:
        _watch_written(manager, name, writes, caches)
    for companion in dialect.companions:
        _watch_written(manager, backend.kind, companion.writes, caches)
    for reads in (*dialect.reads, *(companion.source for companion in dialect.companions)):
        _watch_read(manager, reads, caches)
    # Last: a dialect that reads PodCliques has its own projection.
    _watch_read(manager, Reads(CLIQUES, GangClique), caches)
    return caches


def _watch_written(manager: Manager, backend: str, writes: Writes, caches: BackendCaches) -> None:
    if writes.resource not in caches.written:
        kept = applied(writes.projection, field_manager(backend))
        source = Source(writes.resource, kept, selector=managed_by(backend))
        indexes = {OWNER: by_controller, GANG: by_owning_gang}
        caches.written[writes.resource] = manager.watch(source, indexes)


def _watch_read(manager: Manager, reads: Reads, caches: BackendCaches) -> None:
    if reads.resource not in caches.read:
        source = Source(reads.resource, reads.projection, selector=reads.selector)
        caches.read[reads.resource] = manager.watch(source)


def by_gang(value: Watched) -> Iterable[str]:
    """Namespace and name of the gang that the label names."""
    gang = value.metadata.labels.get(names.LABEL_PODGANG)
    return () if gang is None else (f"{value.metadata.namespace or ''}/{gang}",)


def by_owning_gang(value: Watched) -> Iterable[str]:
    """Namespace and name of the gang that controls an object."""
    for key in its_controller(GANGS)(value):
        yield str(key)
