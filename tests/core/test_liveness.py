"""How long a backend is believed: by our own clock, and across a restart."""

from dataclasses import fields

import pytest

from core_operator.context import CoreContext
from core_operator.controllers.backend import BackendReconciler
from core_operator.metrics import CoreMetrics
from core_operator.settings import CoreSettings
from core_operator.state.caches import BACKENDS, LEASE_SILENCE, CoreCaches
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.models import SchedulerBackend
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.clock import Clock
from shared_api.runtime.leading.lease import Lease, LeaseSpec
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Removed, Restarted, Synced
from shared_api.runtime.watching.watch_health import WatchHealth
from tests.core.stand_in import record
from tests.runtime.writes import ScriptedClient

KEY = ObjectKey("", "mortal")

START = "Start it: kubectl -n n scale deployment heart --replicas=2"


class Judge:
    """The reconciler before caches that the test fills, and a clock that it moves."""

    def __init__(
        self,
        *,
        said: str | None = None,
        lease_at_start: bool = True,
        accepted: tuple[str, ...] = (),
        **spec: object,
    ) -> None:
        self.time = 0.0
        self.client = ScriptedClient()
        clock = Clock(monotonic=lambda: self.time)
        self.watch = WatchHealth(LEASE_SILENCE, clock)
        caches = CoreCaches(
            *(Cache() for one in fields(CoreCaches) if not one.kw_only), lease_watch=self.watch
        )
        telemetry = Telemetry()
        context = CoreContext(
            CoreSettings(),
            self.client,
            View(caches, "default", accepted),
            telemetry,
            CoreMetrics(telemetry),
            clock=clock,
        )
        applier = Applier(self.client, "us", PendingWrites(), telemetry)
        self._reconciler = BackendReconciler(context, applier)
        self._leases = caches.leases
        self.watch.heard()
        self._leases.take(Restarted())
        if lease_at_start:
            self.renew(1)
        self._leases.take(Synced("9"))
        manifest = record("mortal", **{"lease": {"namespace": "n", "name": "heart"}, **spec})
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
        self.watch.heard()
        self._leases.take(Changed(self.lease))

    def lose(self) -> None:
        self._leases.take(Removed(self.lease))

    def pass_to(self, time: float) -> None:
        """Let time pass in which the watch works, though no Lease of ours is renewed."""
        while self.time < time:
            self.time = min(time, self.time + 2.0)
            self.watch.heard()

    async def verdict(self) -> tuple[str, str, float | None]:
        """Status and message of the condition that is written, and when to look again."""
        result = await self._reconciler.reconcile(KEY)
        (condition,) = self.client.writes[-1].body["status"]["conditions"]
        assert self.client.writes[-1].resource == BACKENDS.plural
        return condition["status"], condition["message"], result.requeue_after if result else None


async def test_a_lease_is_valid_for_its_duration_from_when_we_saw_it() -> None:
    judge = Judge()
    judge.renew(20)
    judge.pass_to(1.0)
    assert await judge.verdict() == ("True", "its Lease n/heart is being renewed", 2.0)
    judge.pass_to(3.0)
    assert await judge.verdict() == (
        "False",
        f"its Lease n/heart was not renewed for 3 s. {START}",
        None,
    )
    judge.renew(21)
    assert (await judge.verdict())[0] == "True"


async def test_a_lease_that_asks_for_long_is_not_believed_for_long() -> None:
    judge = Judge()
    judge.renew(20, seconds=3600)
    judge.pass_to(CoreSettings().backends.stale_after_seconds)
    assert (await judge.verdict())[0] == "False"


@pytest.mark.parametrize("said", [None, "True"])
async def test_a_record_without_a_lease_is_never_alive(said: str | None) -> None:
    judge = Judge(said=said, lease=None)
    message = (
        "it is not accepted: it has no Lease; set spec.lease to the Lease that the backend renews"
    )
    assert await judge.verdict() == ("False", message, None)


async def test_a_record_that_core_does_not_accept_reports_it_whatever_its_lease() -> None:
    judge = Judge(accepted=("kai", "default"))
    judge.renew(20)
    assert await judge.verdict() == (
        "False",
        "it is not accepted: core accepts kai, default; add mortal to its setting backends.accepted",
        None,
    )


@pytest.mark.parametrize("said", ["True", "False"])
async def test_right_after_a_start_what_was_reported_before_stands(said: str) -> None:
    judge = Judge(said=said)
    status, _, look_again = await judge.verdict()
    assert (status, look_again) == (said, 3.0)
    judge.pass_to(3.0)
    assert (await judge.verdict())[0] == "False"
    judge.renew(20)
    assert (await judge.verdict())[0] == "True"


async def test_a_lease_that_is_given_back_or_gone_ends_at_once() -> None:
    judge = Judge()
    judge.renew(20, holder=None)
    assert await judge.verdict() == ("False", f"its Lease n/heart has no holder. {START}", None)
    judge.lose()
    assert await judge.verdict() == ("False", f"its Lease n/heart does not exist. {START}", None)


@pytest.mark.parametrize("said", ["True", "False"])
async def test_while_the_watch_of_leases_is_broken_what_was_reported_before_stands(
    said: str,
) -> None:
    judge = Judge(said=said)
    judge.watch.broke("ConnectionLost")
    for judge.time in (5.0, 30.0, 300.0):
        judge.watch.broke("Timeout")
        status, _, look_again = await judge.verdict()
        assert (status, look_again) == (said, 3.0)


@pytest.mark.parametrize("reason", ["ConnectionLost", "ServerError", None])
async def test_after_a_gap_in_the_watch_a_backend_has_its_whole_time_again(
    reason: str | None,
) -> None:
    judge = Judge(said="True")
    judge.renew(20)
    if reason is not None:
        judge.watch.broke(reason)
    judge.time = 8.0
    judge.watch.heard()
    assert await judge.verdict() == ("True", "its Lease n/heart is being renewed", 3.0)
    judge.pass_to(10.9)
    assert (await judge.verdict())[0] == "True"
    judge.pass_to(11.0)
    assert await judge.verdict() == (
        "False",
        f"its Lease n/heart was not renewed for 3 s. {START}",
        None,
    )
    judge.renew(21)
    assert (await judge.verdict())[0] == "True"


async def test_a_backend_that_was_gone_before_a_gap_is_not_back_after_it() -> None:
    judge = Judge(said="False")
    judge.pass_to(4.0)
    judge.watch.broke("ConnectionLost")
    judge.time = 12.0
    judge.watch.heard()
    assert (await judge.verdict())[:2] == ("False", "said before")


async def test_this_process_frozen_is_no_silence_of_a_backend() -> None:
    judge = Judge(said="True")
    judge.renew(20)
    # The timer comes first, what was sent meanwhile is read afterwards.
    judge.time = 8.0
    assert (await judge.verdict())[0] == "True"
    judge.renew(21)
    judge.pass_to(10.0)
    assert await judge.verdict() == ("True", "its Lease n/heart is being renewed", 1.0)


async def test_a_watch_that_is_asked_again_for_its_silence_gives_nobody_more_time() -> None:
    judge = Judge()
    judge.renew(20)
    judge.time = 3.2
    judge.watch.broke("Timeout")
    judge.watch.heard()
    assert (await judge.verdict())[0] == "False"
