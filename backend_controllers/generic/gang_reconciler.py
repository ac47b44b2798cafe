"""From a PodGang to the objects of its scheduler.

Woken by what a translation follows from, it translates, has the objects written and posts
what came of it. It writes no status: that is another controller's, which is told by the board.
"""

import asyncio

from backend_controllers.contract.declaration import Dialect, Translation
from backend_controllers.generic.caches import Caches
from backend_controllers.generic.conditions import by_kind
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.facts import CacheFacts
from backend_controllers.generic.gang_results import Programming, Stage
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.object_writer import ObjectWriter, Owner, Step
from shared_api import names
from shared_api.kube.errors import Forbidden, Invalid, KubeError, Verdict, classify
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import PodGang
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Result, Retry
from shared_api.runtime.watching.owners import identity

LOOK_AGAIN = 15.0
"""Seconds after which a name that others have is tried again: we do not watch their objects."""
LONGEST = 20.0
"""Seconds after which writing is given up and told of, before the reconcile is cut off and nobody is:
a webhook that hangs takes ten seconds of each attempt."""


class GangReconciler:
    """Gangs that carry this backend's label."""

    def __init__(
        self,
        context: BackendContext,
        dialect: Dialect,
        caches: Caches,
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

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Have the scheduler know one gang as it is now."""
        gang = self._caches.gang(key)
        if gang is None:
            # The garbage collector takes the objects; the sweep takes what it does not.
            return None
        translation = self._translated(gang)
        if translation.lacks:
            self._post_unreadable(gang)
            return None
        step = await self._written(gang, translation)
        self._post(gang, _programming(gang, translation, step))
        if step.stage is Stage.CONFLICT:
            self._context.metrics.conflicts.inc()
            return Result(requeue_after=LOOK_AGAIN)
        if step.is_refused:
            return Result(requeue_after=self._context.settings.timing.refused_again_seconds)
        return None

    def _post_unreadable(self, gang: PodGang) -> None:
        """Report an object of the gang that is there and cannot be read, if that is what it lacks."""
        key = gang.metadata.key
        found = tuple(
            value.explained(reads.resource.kind)
            for reads in self._dialect.reads
            if reads.about is not None and reads.through is None
            for value in self._caches.read[reads.resource].unreadable.values()
            if reads.about(value) == key
        )
        if found:
            generation = gang.metadata.generation
            self._post(gang, Programming(Stage.UNREADABLE, generation=generation, refusals=found))

    def _translated(self, gang: PodGang) -> Translation:
        clock = self._context.clock
        started = clock.monotonic()
        translation = self._dialect.translate(gang, CacheFacts(self._caches, gang))
        self._context.metrics.translate.observe(clock.monotonic() - started)
        return translation

    async def _written(self, gang: PodGang, translation: Translation) -> Step:
        clock, again = self._context.clock, self._context.settings.timing.refused_again_seconds
        started = clock.monotonic()
        labels = {names.LABEL_PODGANG: gang.metadata.name}
        try:
            async with asyncio.timeout(LONGEST):
                step = await self._writer.write(Owner(GANGS, gang, labels), translation.objects)
        except KubeError as error:
            # Retried, since no watch announces a new role or a webhook that is back; but told of,
            # since it may take long. The client has tried several times before it gave up.
            if classify(error) is not Verdict.WAIT_FOR_EVENT:
                self._post(gang, _programming(gang, translation, self._failure(gang, error)))
            if isinstance(error, Invalid):
                raise Retry(str(error), after=again) from error
            raise
        except TimeoutError as error:
            late = Retry(f"the API server did not take the objects in {LONGEST:g} s")
            self._post(gang, _programming(gang, translation, self._failure(gang, late)))
            raise late from error
        self._context.metrics.apply.observe(clock.monotonic() - started)
        return step

    def _failure(self, gang: PodGang, error: Exception) -> Step:
        if self._is_known(gang):
            return Step(Stage.OUTDATED, str(error))
        is_refused = isinstance(error, Forbidden | Invalid)
        return Step(Stage.REJECTED if is_refused else Stage.FAILED, str(error))

    def _is_known(self, gang: PodGang) -> bool:
        """Tell whether the scheduler has all that it needs of a gang, be it of an older one.

        Core would take a gang that is not programmed any more for one that was withdrawn.
        """
        uid = gang.metadata.uid
        posted = self._context.board.get(uid)
        if posted is None:
            said = by_kind(gang.status.conditions if gang.status is not None else ())
            programmed = said.get(names.CONDITION_PROGRAMMED)
            was_done = programmed is not None and programmed.status == "True"
        else:
            was_done = posted.is_done
        return was_done and any(
            self._caches.owned(writes.resource, identity(GANGS, gang))
            for writes in self._dialect.writes
        )

    def _post(self, gang: PodGang, programming: Programming) -> None:
        if self._caches.gangs.get_by_uid(gang.metadata.uid) is None:
            # It went while its objects were written, and everybody has forgotten it.
            return
        if programming.is_done:
            self._lifetimes.written(gang)
        self._context.board.post(gang, programming)


def _programming(gang: PodGang, translation: Translation, step: Step) -> Programming:
    """What there is to post about a gang whose objects came so far."""
    generation = gang.metadata.generation
    if translation.refusals:
        return Programming(Stage.UNSUPPORTED, generation=generation, refusals=translation.refusals)
    if step.stage is Stage.PROGRAMMED and translation.awaits:
        step = Step(Stage.AWAITING, translation.awaits)
    return Programming(
        step.stage,
        step.message,
        generation,
        remarks=translation.remarks,
        preparations=translation.preparations,
    )
