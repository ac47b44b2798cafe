"""From a PodGang to the objects of its scheduler.

Woken by what a translation follows from, it translates, has the objects written and posts
what came of it. It writes no status: that is another controller's, which is told by the board.
"""

from backend_controllers.contract import Dialect, Translation
from backend_controllers.generic.caches import Caches
from backend_controllers.generic.facts import CacheFacts
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.object_writer import ObjectWriter, Owner, Step
from backend_controllers.generic.programming import Programming, Stage
from backend_controllers.generic.workshop import Workshop
from shared_api import names
from shared_api.kube.errors import Forbidden
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodGang
from shared_api.runtime.apply import Applier
from shared_api.runtime.outcome import Result

LOOK_AGAIN = 15.0
"""Seconds after which a name that others have is tried again: we do not watch their objects."""


class GangReconciler:
    """Gangs that carry this backend's label."""

    def __init__(
        self,
        shop: Workshop,
        dialect: Dialect,
        caches: Caches,
        applier: Applier,
        lifetimes: Lifetimes,
    ) -> None:
        self._shop = shop
        self._dialect = dialect
        self._caches = caches
        self._lifetimes = lifetimes
        self._writer = ObjectWriter(
            shop,
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
            return None
        step = await self._written(gang, translation)
        programming = _programming(gang, translation, step)
        if programming.is_done:
            self._lifetimes.written(gang)
        self._shop.board.post(gang, programming)
        if step.stage is Stage.CONFLICT:
            self._shop.metrics.conflicts.inc()
            return Result(requeue_after=LOOK_AGAIN)
        if step.is_refused:
            return Result(requeue_after=self._shop.settings.timing.refused_again_seconds)
        return None

    def _translated(self, gang: PodGang) -> Translation:
        clock = self._shop.clock
        started = clock.monotonic()
        translation = self._dialect.translate(gang, CacheFacts(self._caches, gang))
        self._shop.metrics.translate.observe(clock.monotonic() - started)
        return translation

    async def _written(self, gang: PodGang, translation: Translation) -> Step:
        clock = self._shop.clock
        started = clock.monotonic()
        try:
            labels = {names.LABEL_PODGANG: gang.metadata.name}
            step = await self._writer.write(Owner(GANGS, gang, labels), translation.objects)
        except Forbidden as error:
            # Retried, since no watch announces a new role; but told of, since it may take long.
            rejected = Step(Stage.REJECTED, str(error))
            self._shop.board.post(gang, _programming(gang, translation, rejected))
            raise
        self._shop.metrics.apply.observe(clock.monotonic() - started)
        return step


def _programming(gang: PodGang, translation: Translation, step: Step) -> Programming:
    """What there is to post about a gang whose objects came so far."""
    generation = gang.metadata.generation or 0
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
