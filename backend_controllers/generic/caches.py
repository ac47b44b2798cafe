"""Everything that one dialect watches, in one value.

Gangs and pods are those that carry this backend's label, written objects those that carry its
keeper's label; a stranger's object is therefore not seen until its name is needed. Kinds that
are only read are kept as the dialect selects them. Objects are found by their owner (`owners`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from backend_controllers.contract.declaration import Dialect, Reads, Writes
from backend_controllers.generic.kinds import GANGS, field_manager, given_to, kept_by
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS, Resource
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.manager import Manager
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import its_controller
from shared_api.runtime.watching.owners import Owner, by_controller
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Source

OWNER = "owner"
"""Index by the controlling owner."""
GANG = "gang"
"""Index by namespace and name of a gang: of pods by their label, of our objects by their owner."""

Kept = Applied[Watched]


@dataclass(frozen=True, slots=True)
class Caches:
    """The watched objects."""

    gangs: Cache[PodGang]
    pods: Cache[Pod]
    written: dict[Resource, Cache[Kept]] = field(default_factory=dict)
    read: dict[Resource, Cache[Watched]] = field(default_factory=dict)

    def gang(self, key: ObjectKey) -> PodGang | None:
        """The gang of this name, unless it is going away."""
        found = self.gangs.get(key)
        return None if found is None or found.metadata.deletion_timestamp else found

    def pods_of(self, gang: PodGang) -> list[Pod]:
        """The pods that say that they are of this gang."""
        return self.pods.by_index(GANG, f"{gang.metadata.namespace}/{gang.metadata.name}")

    def owned(self, resource: Resource, owner: Owner) -> list[Kept]:
        """The objects of a kind that this owner controls."""
        return self.written[resource].by_index(OWNER, owner)


def watch_all(manager: Manager, backend: str, dialect: Dialect) -> Caches:
    """Have the manager fill all caches of a dialect."""
    caches = Caches(
        # Without fingerprints: what is to be written is known before the engine is asked.
        manager.watch(Source(GANGS, PodGang, selector=given_to(backend))),
        manager.watch(Source(PODS, Pod, selector=given_to(backend)), {GANG: by_gang}),
    )
    for writes in (*dialect.writes, *(companion.writes for companion in dialect.companions)):
        _watch_written(manager, backend, writes, caches)
    for reads in (*dialect.reads, *(companion.source for companion in dialect.companions)):
        _watch_read(manager, reads, caches)
    return caches


def _watch_written(manager: Manager, backend: str, writes: Writes, caches: Caches) -> None:
    if writes.resource not in caches.written:
        kept = applied(writes.projection, field_manager(backend))
        source = Source(writes.resource, kept, selector=kept_by(backend))
        indexes = {OWNER: by_controller, GANG: by_owning_gang}
        caches.written[writes.resource] = manager.watch(source, indexes)


def _watch_read(manager: Manager, reads: Reads, caches: Caches) -> None:
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
