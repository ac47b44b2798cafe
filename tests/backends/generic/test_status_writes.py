"""How soon the status of a gang is written, by what has changed."""

from dataclasses import replace

import msgspec
import pytest

from backend_controllers.contract.declaration import Dialect, Report, Served
from backend_controllers.generic.caches import GANG, OWNER, BackendCaches, by_gang
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_results import GangResult, GangStage
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.generic.status_reconciler import StatusReconciler
from backend_controllers.settings import BackendSettings, BackendTiming
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.debounce import Debouncer
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import by_controller
from shared_api.runtime.watching.reflector import Changed
from tests.backends.generic.flocks import Birds
from tests.backends.generic.samples import NAMESPACE, applier_of, gang
from tests.runtime.writes import ScriptedClient

SOON, LATER = 0.1, 5.0


class World:
    """A gang that waits, and a scheduler whose words a test gives."""

    def __init__(self) -> None:
        birds = Birds()
        served = Served(frozenset({(birds.kind.group, birds.kind.version, birds.kind.plural)}))
        dialect = birds.backend.detect(served, birds.backend.options())
        assert isinstance(dialect, Dialect)
        self.now = 1000.0
        self.words = Report()
        timing = BackendTiming(reason_delay_seconds=SOON, progress_delay_seconds=LATER)
        self.client, telemetry = ScriptedClient(), Telemetry()
        metrics = BackendMetrics(telemetry, birds.name)
        context = BackendContext(
            birds.backend,
            BackendSettings(timing=timing),
            self.client,
            telemetry,
            metrics,
            clock=Clock(monotonic=lambda: self.now),
        )
        self._caches = BackendCaches(
            Cache(), Cache({GANG: by_gang}), {birds.kind: Cache({OWNER: by_controller})}
        )
        self._telling = StatusReconciler(
            context,
            replace(dialect, mirror=lambda of, facts: self.words),
            self._caches,
            applier_of(context),
            Lifetimes(self._caches.gangs, metrics, context.clock),
            Debouncer(0.02, context.clock),
        )
        self._versions = iter(range(10, 1000))
        self._show(gang(("a", 2, 2)))
        context.results.post(gang(("a", 2, 2)), GangResult(GangStage.PROGRAMMED, generation=2))

    def _show(self, value: ObservedPodGang) -> None:
        version = str(next(self._versions))
        metadata = msgspec.structs.replace(value.metadata, resource_version=version)
        self._caches.gangs.take(Changed(msgspec.structs.replace(value, metadata=metadata)))

    async def until_told(self, words: Report) -> float:
        """Seconds from the scheduler's words to their being written."""
        self.words, began = words, self.now
        written = len(self.client.writes)
        while len(self.client.writes) == written:
            found = await self._telling.reconcile(ObjectKey(NAMESPACE, "w-0"))
            if len(self.client.writes) == written:
                assert found is not None
                assert found.requeue_after is not None
                self.now += found.requeue_after
        assert len(self.client.writes) == written + 1
        self._show(gang(("a", 2, 2), status=dict(self.client.writes[-1].body["status"])))
        return self.now - began


def fits(number: int) -> Report:
    return Report("NoRoom", f"fits {number} of 5")


async def test_other_words_after_a_silence_are_told_soon_and_then_at_their_pace() -> None:
    world = World()
    assert await world.until_told(Report()) == 0
    assert await world.until_told(fits(2)) == pytest.approx(SOON)
    assert await world.until_told(fits(3)) == pytest.approx(LATER)
    assert await world.until_told(fits(4)) == pytest.approx(LATER)
    world.now += LATER
    assert await world.until_told(fits(2)) == pytest.approx(SOON)
    world.now += LATER - 1
    assert await world.until_told(fits(3)) == pytest.approx(1)
