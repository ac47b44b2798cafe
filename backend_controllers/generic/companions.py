"""Objects that a scheduler needs beside those of gangs, such as a topology.

Each is computed from its source, such as a binding, is owned by it and is deleted with it. There is
no gang whose status could report a problem, so the source gets an Event.
"""

from backend_controllers.contract.declaration import Companion
from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_results import Stage
from backend_controllers.generic.object_writer import ObjectWriter, OwnerObject
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Result

RETRY_SECONDS = 60.0


class CompanionReconciler:
    """The objects computed from sources of one kind."""

    def __init__(
        self, context: BackendContext, companion: Companion, caches: BackendCaches, applier: Applier
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
        """Write the objects of one source."""
        source = self._sources.get(key)
        if source is None or source.metadata.deletion_timestamp is not None:
            return None
        kind = self._companion.source.resource
        step = await self._writer.write(
            OwnerObject(kind, source), self._companion.translate(source)
        )
        if step.stage in (Stage.PROGRAMMED, Stage.REPLACING):
            return None
        if step.stage is Stage.CONFLICT:
            self._context.metrics.conflicts.inc()
        self._context.record_event(source, step.stage.value, step.message, warning=True, kind=kind)
        return Result(requeue_after=RETRY_SECONDS)
