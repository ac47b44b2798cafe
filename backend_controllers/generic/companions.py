"""Objects that a scheduler needs beside those of gangs, kept in step with what they follow from.

They are owned by their source, such as a topology by its binding, and go away with it. There
is no gang to tell of what went wrong, so the source gets an Event.
"""

from backend_controllers.contract import Companion
from backend_controllers.generic.caches import Caches
from backend_controllers.generic.object_writer import ObjectWriter, Owner
from backend_controllers.generic.programming import Stage
from backend_controllers.generic.workshop import Workshop
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.apply import Applier
from shared_api.runtime.outcome import Result

LOOK_AGAIN = 60.0


class CompanionReconciler:
    """The objects that follow from sources of one kind."""

    def __init__(
        self, shop: Workshop, companion: Companion, caches: Caches, applier: Applier
    ) -> None:
        self._shop = shop
        self._companion = companion
        self._sources = caches.read[companion.source.resource]
        self._writer = ObjectWriter(
            shop,
            caches,
            applier,
            (companion.writes,),
            lambda uid: self._sources.get_by_uid(uid) is not None,
        )

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Make the objects of one source as they should be."""
        source = self._sources.get(key)
        if source is None or source.metadata.deletion_timestamp is not None:
            return None
        kind = self._companion.source.resource
        step = await self._writer.write(Owner(kind, source), self._companion.translate(source))
        if step.stage in (Stage.PROGRAMMED, Stage.REPLACING):
            return None
        if step.stage is Stage.CONFLICT:
            self._shop.metrics.conflicts.inc()
        self._shop.tell(source, step.stage.value, step.message, warning=True, kind=kind)
        return Result(requeue_after=LOOK_AGAIN)
