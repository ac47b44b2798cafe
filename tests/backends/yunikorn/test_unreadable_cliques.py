"""A gang whose PodClique cannot be read is refused with the clique's name, and heals with it."""

from typing import Any

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import Dialect, Served
from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_reconciler import GangReconciler
from backend_controllers.generic.gang_results import GangResult, GangStage
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.generic.reports import _accepted
from backend_controllers.settings import BackendSettings
from backend_controllers.yunikorn import BACKEND
from backend_controllers.yunikorn.api import YunikornClique
from shared_api import names
from shared_api.kube.codec import UnreadableEvent, codec_for, encode
from shared_api.kube.metadata import Metadata
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Undecoded
from tests.backends.generic.samples import NAMESPACE, applier_of, gang
from tests.runtime.writes import ScriptedClient

GANG = gang(("a", 2, 2))
LABELS = {names.LABEL_PODGANG: GANG.metadata.name}
NAME = GANG.spec.podgroups[0].name
METADATA = {"name": NAME, "namespace": NAMESPACE, "uid": "c", "labels": LABELS}
BAD = {"metadata": METADATA, "spec": {"podSpec": {"nodeSelector": {"gpu": True}}}}


async def test_a_gang_names_the_clique_that_cannot_be_read_until_it_can() -> None:
    dialect = BACKEND.detect(
        Served(services=frozenset(BACKEND.questions.services)), BACKEND.options()
    )
    assert isinstance(dialect, Dialect)
    telemetry = Telemetry()
    metrics = BackendMetrics(telemetry, "yunikorn")
    context = BackendContext(BACKEND, BackendSettings(), ScriptedClient(), telemetry, metrics)
    read: dict[Any, Cache[Any]] = {reads.resource: Cache() for reads in dialect.reads}
    caches = BackendCaches(Cache(), Cache(), {}, read)
    lifetimes = Lifetimes(caches.gangs, metrics, context.clock)
    applier = applier_of(context)
    reconciler = GangReconciler(context, dialect, caches, applier, lifetimes)
    caches.gangs.take(Changed(GANG))

    async def result() -> GangResult | None:
        await reconciler.reconcile(GANG.metadata.key)
        return context.results.get(GANG.metadata.uid)

    assert await result() is None
    event = codec_for(YunikornClique).event(encode({"type": "ADDED", "object": BAD}))
    assert isinstance(event, UnreadableEvent)
    read[CLIQUES].take(Undecoded(event.object))

    told = await result()
    assert told is not None
    said = _accepted(told)
    assert (said.holds, said.reason) == (False, "Unreadable")
    assert f"PodClique {NAME} cannot be read: spec.podSpec.nodeSelector" in said.message
    assert "Expected `str`, got `bool`" in said.message

    metadata = Metadata(NAME, NAMESPACE, "c", "9", labels=LABELS)
    read[CLIQUES].take(Changed(YunikornClique(metadata)))
    told = await result()
    assert told is not None
    assert told.stage is GangStage.PROGRAMMED
