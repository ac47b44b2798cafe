"""Objects that a scheduler needs beside those of gangs, kept in step with what they follow from.

They are owned by their source, such as a topology by its binding, and go away with it. There
is no gang to tell of what went wrong, so the source gets an Event.
"""

from backend_controllers.contract.declaration import Companion
from backend_controllers.generic.caches import Caches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_results import Stage
from backend_controllers.generic.object_writer import ObjectWriter, Owner
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Result

LOOK_AGAIN = 60.0


class CompanionReconciler:
    """The objects that follow from sources of one kind."""

    def __init__(
        self, context: BackendContext, companion: Companion, caches: Caches, applier: Applier
    ) -> None:
        self._context = context
        self._companion = companion
        self._sources = caches.read[companion.source.resource]
        self._writer = ObjectWriter(
            context,
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
            self._context.metrics.conflicts.inc()
        self._context.tell(source, step.stage.value, step.message, warning=True, kind=kind)
        return Result(requeue_after=LOOK_AGAIN)
