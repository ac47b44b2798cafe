"""What is kept of a gang that goes or that the server leaves waiting while it is written."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from backend_controllers.contract.declaration import Dialect, Served
from backend_controllers.generic import gang_reconciler
from backend_controllers.generic.caches import OWNER, BackendCaches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_reconciler import GangReconciler
from backend_controllers.generic.gang_results import GangStage
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.settings import BackendSettings
from shared_api.kube.errors import KubeError, Status, StatusCause, StatusDetails, from_status
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.reconciling.outcome import Result, Retry
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import by_controller
from shared_api.runtime.watching.reflector import Changed, Removed
from tests.backends.generic.flocks import Birds
from tests.backends.generic.samples import NAMESPACE, applier_of, gang
from tests.runtime.writes import ScriptedClient, Write

GANG = gang(("a", 2, 2))


class World:
    """One gang, and a server that does something while it is asked to take the gang's object."""

    def __init__(self) -> None:
        birds = Birds()
        dialect = birds.backend.detect(
            Served(frozenset({(birds.kind.group, birds.kind.version, birds.kind.plural)})),
            birds.backend.options(),
        )
        assert isinstance(dialect, Dialect)
        self.client = ScriptedClient()
        telemetry = Telemetry()
        self.metrics = BackendMetrics(telemetry, birds.name)
        self.telemetry = telemetry
        context = BackendContext(
            birds.backend, BackendSettings(), self.client, telemetry, self.metrics
        )
        self.results = context.results
        caches = BackendCaches(Cache(), Cache(), {birds.kind: Cache({OWNER: by_controller})})
        self.gangs = caches.gangs
        lifetimes = Lifetimes(caches.gangs, self.metrics, context.clock)
        applier = applier_of(context)
        self._reconciler = GangReconciler(context, dialect, caches, applier, lifetimes)
        self.gangs.take(Changed(GANG))

    async def reconcile(self) -> Result | None:
        return await self._reconciler.reconcile(ObjectKey(NAMESPACE, GANG.metadata.name))

    def meanwhile(self, answer: KubeError | None) -> Callable[[Write], KubeError | None]:
        """The gang goes, and then the server answers."""

        def goes(write: Write) -> KubeError | None:
            self.gangs.take(Removed(GANG))
            self.results.forget("gang")
            return answer

        return goes

    def timed(self) -> float:
        name = "backend_gang_written_seconds_count"
        return sum(
            sample.value
            for family in self.telemetry.registry.collect()
            for sample in family.samples
            if sample.name == name
        )


async def test_a_gang_that_is_written_is_known_and_timed() -> None:
    world = World()
    assert await world.reconcile() is None
    result = world.results.get("gang")
    assert result is not None
    assert result.stage is GangStage.PROGRAMMED
    assert world.timed() == 1


async def test_nothing_is_kept_of_a_gang_that_goes_while_it_is_written() -> None:
    world = World()
    world.client.refuse = world.meanwhile(None)
    assert await world.reconcile() is None
    assert world.client.sent("apply") == ["w-0"]
    assert world.results.get("gang") is None
    assert world.timed() == 0


@pytest.mark.parametrize("code", [403, 500])
async def test_nothing_is_kept_of_a_gang_that_goes_while_it_is_refused(code: int) -> None:
    world = World()
    world.client.refuse = world.meanwhile(from_status(Status(code, message="no")))
    with pytest.raises(KubeError):
        await world.reconcile()
    assert world.results.get("gang") is None


async def test_a_server_that_does_not_answer_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gang_reconciler, "WRITE_SECONDS", 0.01)
    world = World()

    async def hangs(*parts: Any, **options: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(world.client, "apply", hangs)
    with pytest.raises(Retry):
        await world.reconcile()
    result = world.results.get("gang")
    assert result is not None
    assert result.stage is GangStage.FAILED
    assert "did not store the objects" in result.message


async def test_what_is_refused_because_the_namespace_goes_needs_nobody() -> None:
    world = World()
    details = StatusDetails(causes=(StatusCause("NamespaceTerminating"),))
    world.client.refuse = lambda write: from_status(Status(403, details=details))
    with pytest.raises(KubeError):
        await world.reconcile()
    assert world.results.get("gang") is None
