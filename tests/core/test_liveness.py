"""How long a backend is believed: by our own clock, and across a restart."""

from dataclasses import fields

import pytest

from core_operator.backend_reconciler import BackendReconciler
from core_operator.caches import BACKENDS, Caches
from core_operator.metrics import CoreMetrics
from core_operator.settings import Settings
from core_operator.view import View
from core_operator.workshop import Workshop
from shared_api import names
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.models import SchedulerBackend
from shared_api.runtime.apply import Applier
from shared_api.runtime.cache import Cache
from shared_api.runtime.clock import Clock
from shared_api.runtime.lease import Lease, LeaseSpec
from shared_api.runtime.ownership import applied
from shared_api.runtime.pending import PendingWrites
from shared_api.runtime.telemetry import Telemetry
from shared_api.runtime.watch import Changed, Removed, Restarted, Synced
from tests.core.stand_in import record
from tests.runtime.writes import ScriptedClient

KEY = ObjectKey("", "mortal")


class Judge:
    """The reconciler before caches that the test fills, and a clock that it moves."""

    def __init__(self, *, said: str | None = None, lease_at_start: bool = True) -> None:
        self.time = 0.0
        self.client = ScriptedClient()
        clock = Clock(monotonic=lambda: self.time)
        caches = Caches(*(Cache() for one in fields(Caches) if not one.kw_only))
        telemetry = Telemetry()
        shop = Workshop(
            Settings(),
            self.client,
            View(caches, "default"),
            telemetry,
            CoreMetrics(telemetry),
            clock=clock,
        )
        applier = Applier(self.client, "us", PendingWrites(), telemetry)
        self._reconciler = BackendReconciler(shop, applier)
        self._leases = caches.leases
        self._leases.take(Restarted())
        if lease_at_start:
            self.renew(1)
        self._leases.take(Synced("9"))
        manifest = record("mortal", lease={"namespace": "n", "name": "heart"})
        manifest["metadata"]["uid"] = "u"
        if said is not None:
            condition = {
                "type": names.CONDITION_AVAILABLE,
                "status": said,
                "reason": "Because",
                "message": "said before",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            manifest["status"] = {"conditions": [condition]}
        value = applied(SchedulerBackend)(SchedulerBackend.model_validate(manifest), {})
        caches.backends.take(Changed(value))

    def renew(self, version: int, *, holder: str | None = "b", seconds: int = 3) -> None:
        self.lease = Lease(
            Metadata(name="heart", namespace="n", uid="l", resource_version=f"{version}"),
            LeaseSpec(holder_identity=holder, lease_duration_seconds=seconds),
        )
        self._leases.take(Changed(self.lease))

    def lose(self) -> None:
        self._leases.take(Removed(self.lease))

    async def verdict(self) -> tuple[str, str, float | None]:
        """Status and message of the condition that is written, and when to look again."""
        result = await self._reconciler.reconcile(KEY)
        (condition,) = self.client.writes[-1].body["status"]["conditions"]
        assert self.client.writes[-1].resource == BACKENDS.plural
        return condition["status"], condition["message"], result.requeue_after if result else None


async def test_a_lease_is_good_for_as_long_as_it_says_from_when_we_saw_it() -> None:
    judge = Judge()
    judge.renew(20)
    judge.time = 1.0
    assert await judge.verdict() == ("True", "its Lease n/heart is being renewed", 2.0)
    judge.time = 3.0
    assert await judge.verdict() == ("False", "its Lease n/heart was not renewed for 3 s", None)
    judge.renew(21)
    assert (await judge.verdict())[0] == "True"


async def test_a_lease_that_asks_for_long_is_not_believed_for_long() -> None:
    judge = Judge()
    judge.renew(20, seconds=3600)
    judge.time = Settings().backends.stale_after_seconds
    assert (await judge.verdict())[0] == "False"


@pytest.mark.parametrize("said", ["True", "False"])
async def test_right_after_a_start_what_was_said_before_stands(said: str) -> None:
    judge = Judge(said=said)
    status, _, look_again = await judge.verdict()
    assert (status, look_again) == (said, 3.0)
    judge.time = 3.0
    assert (await judge.verdict())[0] == "False"
    judge.renew(20)
    assert (await judge.verdict())[0] == "True"


async def test_a_lease_that_is_given_back_or_gone_ends_at_once() -> None:
    judge = Judge()
    judge.renew(20, holder=None)
    assert await judge.verdict() == ("False", "nobody holds its Lease n/heart", None)
    judge.lose()
    assert await judge.verdict() == ("False", "its Lease n/heart does not exist", None)
