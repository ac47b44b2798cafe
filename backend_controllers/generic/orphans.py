"""Deletes our objects whose gang is gone, or is another backend's by now.

The garbage collector deletes the objects of a deleted gang, and gets the time to do so: a delete by
us would be one more write. It does not delete the objects of a gang that exists and has the label
of another backend. A sweep finds gangs that were deleted or moved while this process was not
running. Before anything is deleted the server is asked for the gang, since two watches need not be
equally far.
"""

from collections.abc import Iterable

from backend_controllers.contract.declaration import Dialect
from backend_controllers.generic.caches import GANG, BackendCaches, WrittenObject
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.predicates import has_no_gang
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.event_handlers import its_controller
from shared_api.runtime.watching.owners import controller_of, identity

SWEEP = ObjectKey("", "")
"""The key under which all objects are checked."""
_owning_gang = its_controller(GANGS)


class Orphans:
    """Objects of gangs that are not ours any more; keys are those of the gangs."""

    def __init__(
        self,
        context: BackendContext,
        dialect: Dialect,
        caches: BackendCaches,
        applier: Applier,
        found: Channel[ObjectKey],
    ) -> None:
        self._context = context
        self._caches = caches
        self._applier = applier
        self._kinds = tuple(writes.resource for writes in dialect.writes)
        self._found = found
        self._noticed: dict[ObjectKey, float] = {}

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Delete what is left of one gang; under `SWEEP`, send the keys of all such gangs."""
        if key == SWEEP:
            for gang in {gang for kind in self._kinds for gang in self._orphaned_gangs(kind)}:
                self._found.send(gang)
            return Result(requeue_after=self._context.settings.timing.sweep_seconds)
        found = [
            (kind, value)
            for kind in self._kinds
            for value in self._caches.written[kind].by_index(GANG, str(key))
            if self._is_orphan(value)
        ]
        if not found:
            self._noticed.pop(key, None)
            return None
        return await self._delete_orphans(key, found)

    async def _delete_orphans(
        self, key: ObjectKey, found: list[tuple[Resource, WrittenObject]]
    ) -> Result | None:
        try:
            gang: PartialObject | None = await self._context.client.get(
                GANGS, key.name, key.namespace, into=PartialObject, metadata_only=True
            )
        except NotFound:
            gang = None
        now = self._context.clock.monotonic()
        collected_at = self._noticed.setdefault(key, now) + self._context.settings.timing.gc_seconds
        behalf = Behalf(key)
        for kind, value in found:
            if gang is not None and identity(GANGS, gang) == controller_of(value):
                if self._is_ours(gang):
                    # Our watch of gangs is behind that of their objects.
                    continue
            elif now < collected_at:
                continue
            target = Target(kind, self._caches.written[kind])
            written = await self._applier.delete(target, value, behalf)
            self._context.metrics.wrote(kind.plural, written.value)
            self._context.metrics.orphans.inc()
        return Result(requeue_after=max(1.0, collected_at - now))

    def _is_ours(self, gang: PartialObject) -> bool:
        return gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) == self._context.backend.name

    def _orphaned_gangs(self, kind: Resource) -> Iterable[ObjectKey]:
        for value in self._caches.written[kind]:
            if self._is_orphan(value):
                yield from _owning_gang(value)

    def _is_orphan(self, value: WrittenObject) -> bool:
        return value.metadata.deletion_timestamp is None and has_no_gang(self._caches, value)
