"""The gang controller: translates a PodGang and writes the objects of its scheduler.

It posts the result of each gang. It writes no status: the status controller reads the results.
"""

import asyncio

from backend_controllers.contract.declaration import Dialect, Reads, Translation
from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.endings import has_ended
from backend_controllers.generic.facts import CacheFacts
from backend_controllers.generic.gang_results import GangResult, GangStage
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.object_writer import ObjectWriter, OwnerObject, WriteProgress
from shared_api import names
from shared_api.kube.errors import ErrorAction, Forbidden, Invalid, KubeError, classify
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Result, Retry
from shared_api.runtime.watching.owners import controller_of, identity
from shared_api.runtime.watching.predicates import Watched

CONFLICT_RETRY_SECONDS = 15.0
"""After this a name that a foreign object has is tried again: we do not watch foreign objects."""
WRITE_SECONDS = 20.0
"""After this a write is given up and reported. It is less than the deadline of a reconcile, which
reports nothing: a webhook that hangs takes ten seconds of each attempt."""


class GangReconciler:
    """Gangs that carry this backend's label."""

    def __init__(
        self,
        context: BackendContext,
        dialect: Dialect,
        caches: BackendCaches,
        applier: Applier,
        lifetimes: Lifetimes,
    ) -> None:
        self._context = context
        self._dialect = dialect
        self._caches = caches
        self._lifetimes = lifetimes
        self._writer = ObjectWriter(
            context,
            caches,
            applier,
            dialect.writes,
            lambda uid: caches.gangs.get_by_uid(uid) is not None,
        )
        caches.gangs.subscribe(self._forget)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the objects of one gang as it is now."""
        gang = self._caches.gang(key)
        if gang is None:
            # The garbage collector deletes the objects; the sweep deletes the rest.
            return None
        if has_ended(gang):
            # Its queue must be free for others; the pods that ended stay for their logs.
            await self._written(gang, Translation())
            generation = gang.metadata.generation
            self._post(gang, GangResult(GangStage.ENDED, "the jobs have ended", generation))
            return None
        translation = self._translated(gang)
        if translation.lacks:
            self._post_unreadable(gang)
            return None
        step = await self._written(gang, translation)
        self._post(gang, _result(gang, translation, step))
        if step.stage is GangStage.CONFLICT:
            self._context.metrics.conflicts.inc()
            return Result(requeue_after=CONFLICT_RETRY_SECONDS)
        if step.is_refused:
            return Result(requeue_after=self._context.settings.timing.refused_again_seconds)
        return None

    def _post_unreadable(self, gang: ObservedPodGang) -> None:
        """Report an object of the gang that exists and cannot be read, if the translation lacks it."""
        found = tuple(
            value.explained(reads.resource.kind)
            for reads in self._dialect.reads
            if reads.concerns_certain_gangs and reads.through is None
            for value in self._caches.read[reads.resource].unreadable.values()
            if _is_about(reads, value, gang)
        )
        if found:
            generation = gang.metadata.generation
            self._post(
                gang, GangResult(GangStage.UNREADABLE, generation=generation, refusals=found)
            )

    def _translated(self, gang: ObservedPodGang) -> Translation:
        clock = self._context.clock
        started = clock.monotonic()
        translation = self._dialect.translate(gang, CacheFacts(self._caches, gang))
        self._context.metrics.translate.observe(clock.monotonic() - started)
        return translation

    async def _written(self, gang: ObservedPodGang, translation: Translation) -> WriteProgress:
        clock, again = self._context.clock, self._context.settings.timing.refused_again_seconds
        started = clock.monotonic()
        labels = {names.LABEL_PODGANG: gang.metadata.name}
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                step = await self._writer.write(
                    OwnerObject(GANGS, gang, labels), translation.objects
                )
        except KubeError as error:
            # Retried, since no watch announces a new role or a webhook that is up again. Reported,
            # since that may take long. The client has tried several times before it gave up.
            if classify(error) is not ErrorAction.WAIT_FOR_EVENT:
                self._post(gang, _result(gang, translation, self._failure(gang, error)))
            if isinstance(error, Invalid):
                raise Retry(str(error), after=again) from error
            raise
        except TimeoutError as error:
            late = Retry(f"the API server did not store the objects in {WRITE_SECONDS:g} s")
            self._post(gang, _result(gang, translation, self._failure(gang, late)))
            raise late from error
        self._context.metrics.apply.observe(clock.monotonic() - started)
        return step

    def _failure(self, gang: ObservedPodGang, error: Exception) -> WriteProgress:
        if self._is_known(gang):
            return WriteProgress(GangStage.OUTDATED, str(error))
        is_refused = isinstance(error, Forbidden | Invalid)
        return WriteProgress(GangStage.REJECTED if is_refused else GangStage.FAILED, str(error))

    def _is_known(self, gang: ObservedPodGang) -> bool:
        """Tell whether the scheduler has the objects of a gang, possibly of an older generation.

        To core a gang that is no longer programmed is one that was withdrawn.
        """
        uid = gang.metadata.uid
        posted = self._context.results.get(uid)
        if posted is None:
            programmed = gang.condition(names.CONDITION_PROGRAMMED)
            was_done = programmed is not None and programmed.status == "True"
        else:
            was_done = posted.is_done
        return was_done and any(
            self._caches.owned(writes.resource, identity(GANGS, gang))
            for writes in self._dialect.writes
        )

    def _post(self, gang: ObservedPodGang, result: GangResult) -> None:
        if self._caches.gangs.get_by_uid(gang.metadata.uid) is None:
            # Deleted while its objects were written: a result would never be dropped.
            return
        if result.is_done:
            self._lifetimes.written(gang)
        self._context.results.post(gang, result)

    def _forget(self, old: ObservedPodGang | None, new: ObservedPodGang | None) -> None:
        if old is not None and new is None:
            self._context.results.forget(old.metadata.uid)


def _is_about(reads: Reads, value: Watched, gang: ObservedPodGang) -> bool:
    if reads.owns_gangs:
        return controller_of(gang) == identity(reads.resource, value)
    return reads.about is not None and reads.about(value) == gang.metadata.key


def _result(gang: ObservedPodGang, translation: Translation, step: WriteProgress) -> GangResult:
    generation = gang.metadata.generation
    if translation.refusals:
        return GangResult(
            GangStage.UNSUPPORTED, generation=generation, refusals=translation.refusals
        )
    if step.stage is GangStage.PROGRAMMED and translation.awaits:
        step = WriteProgress(GangStage(translation.awaits_reason.value), translation.awaits)
    return GangResult(
        step.stage,
        step.message,
        generation,
        remarks=translation.remarks,
        preparations=translation.preparations,
        gang=gang,
    )
