"""Removes our objects whose gang is gone, or is another backend's by now.

The garbage collector takes the objects of a gang that was deleted, and is given the time to
do so: a delete by us would only be one write more. It cannot help where the gang lives on
under another label, nor with a gang that was deleted while nobody watched. Before anything is
deleted the server is asked about the gang, since two watches need not be equally far.
"""

from collections.abc import Callable, Iterable

from backend_controllers.contract.declaration import Dialect
from backend_controllers.generic.caches import GANG, Caches, Kept
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.kinds import GANGS
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.event_handlers import its_controller
from shared_api.runtime.watching.owners import controller_of, identity, owner_in
from shared_api.runtime.watching.predicates import Watched

SWEEP = ObjectKey("", "")
"""The key under which everything is looked through."""
_owning_gang = its_controller(GANGS)


class Orphans:
    """Objects of gangs that are not ours any more; keys are those of the gangs."""

    def __init__(
        self, context: BackendContext, dialect: Dialect, caches: Caches, applier: Applier
    ) -> None:
        self._context = context
        self._caches = caches
        self._applier = applier
        self._kinds = tuple(writes.resource for writes in dialect.writes)
        self._noticed: dict[ObjectKey, float] = {}
        self.look: Callable[[ObjectKey], None] = lambda _: None
        """Has a gang looked at after a while."""

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Remove what is left of one gang; or look who has left something."""
        if key == SWEEP:
            for gang in {gang for gang, _, _ in self._all()}:
                self.look(gang)
            return Result(requeue_after=self._context.settings.timing.sweep_seconds)
        found = [(kind, value) for gang, kind, value in self._of(key) if gang == key]
        if not found:
            self._noticed.pop(key, None)
            return None
        return await self._judge(key, found)

    async def _judge(self, key: ObjectKey, found: list[tuple[Resource, Kept]]) -> Result | None:
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

    def _of(self, key: ObjectKey) -> Iterable[tuple[ObjectKey, Resource, Kept]]:
        for kind in self._kinds:
            for value in self._caches.written[kind].by_index(GANG, str(key)):
                yield from self._if_orphan(kind, value)

    def _all(self) -> Iterable[tuple[ObjectKey, Resource, Kept]]:
        for kind in self._kinds:
            for value in self._caches.written[kind]:
                yield from self._if_orphan(kind, value)

    def _if_orphan(self, kind: Resource, value: Kept) -> Iterable[tuple[ObjectKey, Resource, Kept]]:
        if value.metadata.deletion_timestamp is None and self.has_no_gang(value):
            for gang in _owning_gang(value):
                yield gang, kind, value

    def has_no_gang(self, value: Watched) -> bool:
        """Tell whether the gang that controls an object is not among ours."""
        is_controlled = controller_of(value) is not None
        return is_controlled and owner_in(self._caches.gangs, GANGS, value) is None
