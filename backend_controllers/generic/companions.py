"""Objects that a scheduler needs beside those of gangs, such as a topology.

Each is computed from its source, such as a binding, is owned by it and is deleted with it. There is
no gang whose status could report a problem. So the source gets an Event, and a status if the
companion reports one. A status that would change nothing is not sent.
"""

from backend_controllers.contract.declaration import Companion
from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_results import GangStage
from backend_controllers.generic.object_writer import ObjectWriter, OwnerObject
from shared_api.kube.metadata import ObjectKey
from shared_api.models import JsonObject, KubeStatus
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.predicates import Watched

RETRY_SECONDS = 60.0


class CompanionReconciler:
    """The objects computed from sources of one kind."""

    def __init__(
        self, context: BackendContext, companion: Companion, caches: BackendCaches, applier: Applier
    ) -> None:
        self._context = context
        self._companion = companion
        self._caches = caches
        self._applier = applier
        self._sources = caches.read[companion.source.resource]
        self._writer = ObjectWriter(
            context,
            caches,
            applier,
            (companion.writes,),
            lambda uid: self._sources.get_by_uid(uid) is not None,
        )

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the objects of one source, and report them in its status."""
        source = self._sources.get(key)
        if source is None or source.metadata.deletion_timestamp is not None:
            return None
        kind = self._companion.source.resource
        step = await self._writer.write(
            OwnerObject(kind, source), self._companion.translate(source)
        )
        if step.stage is GangStage.REPLACING:
            # It ends soon, with an event.
            return None
        is_written = step.stage is GangStage.PROGRAMMED
        await self._report(key, source, "" if is_written else step.message)
        if is_written:
            return None
        if step.stage is GangStage.CONFLICT:
            self._context.metrics.conflicts.inc()
        self._context.record_event(source, step.stage.value, step.message, warning=True, kind=kind)
        return Result(requeue_after=RETRY_SECONDS)

    async def _report(self, key: ObjectKey, source: Watched, problem: str) -> None:
        if self._companion.report is None:
            return
        kind, written = self._companion.source.resource, self._companion.writes.resource

        def found(name: str) -> Watched | None:
            return self._caches.find(written, ObjectKey(key.namespace, name))

        new = self._companion.report(source, found, problem, self._context.now())
        known = status_of(source)
        if _only(known, new) == new:
            return
        manifest: JsonObject = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {
                "name": key.name,
                **({"namespace": key.namespace} if key.namespace else {}),
            },
            "status": new.manifest(),
        }
        target = Target(kind, self._sources)
        await self._applier.apply_status(target, manifest, Behalf(key, force=True))
        before = {condition.type: condition.status for condition in known.conditions}
        for condition in new.conditions:
            event = self._companion.events.get(condition.reason)
            if event and before.get(condition.type) != condition.status:
                warning = condition.status == "True"
                self._context.record_event(
                    source, event, condition.message, warning=warning, kind=kind
                )


def status_of(source: Watched) -> KubeStatus:
    """Return the status of a source whose projection is its model; empty if it has none."""
    found = getattr(source, "status", None)
    return found if isinstance(found, KubeStatus) else KubeStatus()


def _only(known: KubeStatus, new: KubeStatus) -> KubeStatus:
    """Return the known status with the conditions that the new one has: others write the rest."""
    kinds = {condition.type for condition in new.conditions}
    ours = tuple(condition for condition in known.conditions if condition.type in kinds)
    return known.model_copy(update={"conditions": ours})
