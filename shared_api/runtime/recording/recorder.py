"""Records `events.k8s.io/v1` Events and sends them in the background.

`record` only queues an Event; one sender writes. A repeated Event about the same object becomes one
Event with a series, whose count is updated at most twice a minute. Each object has a budget of
different Events, and the process has a budget of requests. Events beyond the budgets, refused
Events and Events beyond the memory limit are dropped and counted. An Event must never cause a
retry storm, and never make a reconcile fail or wait.
"""

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

import structlog

from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import AlreadyExists, ErrorAction, KubeError, NotFound, classify
from shared_api.kube.resources import EVENTS
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.fence import Fence, Fenced, Unfenced, permitted
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.queueing.budget import Budget
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.recording.event_objects import (
    EventIdentity,
    EventType,
    Regarding,
    Reporter,
    event_identity,
    event_manifest,
    event_name,
    event_series,
)
from shared_api.runtime.telemetry.metrics import Telemetry

log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EventLimits:
    """The budgets and memory limits of Events."""

    kept: int = 4096
    """Series and objects that are kept in memory."""
    unsent: int = 1024
    refresh: float = 30.0
    """Seconds between two updates of one series."""
    forget: float = 360.0
    """Seconds without a repetition after which the same occurrence is a new Event."""
    object_burst: float = 25.0
    object_rate: float = 1 / 300
    burst: float = 50.0
    rate: float = 5.0
    attempts: int = 4
    request: float = 10.0


@dataclass(slots=True)
class _Series:
    first: datetime
    last: datetime
    last_at: float
    count: int = 1
    event: str = ""
    """The name of the Event that was created; empty before."""
    attempts: int = 0


class Recorder:
    """Events of one controller process."""

    def __init__(
        self,
        client: Client,
        reporter: Reporter,
        telemetry: Telemetry,
        *,
        fence: Fence | None = None,
        limits: EventLimits | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self._client = client
        self._reporter = reporter
        self._events = telemetry.events
        self._fence = fence or Unfenced()
        self._limits = limits or EventLimits()
        self._clock = clock
        self._budget = Budget(self._limits.burst, self._limits.rate, clock)
        self._objects: OrderedDict[str, Budget] = OrderedDict()
        self._series: OrderedDict[EventIdentity, _Series] = OrderedDict()
        self._unsent: Queue[EventIdentity] = Queue(
            lambda event: event.regarding.namespace,
            backoff=Backoff(base=0.5, cap=30.0),
            clock=clock,
        )

    def record(
        self,
        regarding: Regarding,
        reason: str,
        note: str,
        *,
        type_: EventType = "Normal",
        action: str = "Reconcile",
    ) -> None:
        """Queue an Event about an object; this never waits and never fails."""
        event = event_identity(regarding, type_, reason, action, note)
        now, at = self._clock.utc(), self._clock.monotonic()
        series = self._series.get(event)
        if series is not None and at - series.last_at < self._limits.forget:
            series.count += 1
            series.last, series.last_at = now, at
            self._series.move_to_end(event)
            self._unsent.add(event, delay=self._limits.refresh)
        elif sum(self._unsent.depth().values()) + self._unsent.waiting() >= self._limits.unsent:
            self._drop("dropped_full")
        elif not self._object_budget(regarding.uid).spend():
            self._drop("dropped_object_budget")
        else:
            self._series[event] = _Series(now, now, at)
            self._series.move_to_end(event)
            if len(self._series) > self._limits.kept:
                self._series.popitem(last=False)
            self._unsent.add(event)

    async def run(self) -> None:
        """Send the queued Events one after the other, until cancelled."""
        while True:
            event = await self._unsent.get()
            try:
                await asyncio.sleep(self._budget.wait())
                self._budget.spend()
                await self._send(event)
            except BaseException:
                # Cancelled, possibly during the request: `flush` sends it again, by the same name.
                self._unsent.add(event)
                raise
            finally:
                self._unsent.done(event)

    async def flush(self) -> None:
        """Send the queued Events that are due, such as before the process exits."""
        while (event := self._unsent.take()) is not None:
            try:
                await self._send(event)
            finally:
                self._unsent.done(event)

    async def _send(self, event: EventIdentity) -> None:
        series = self._series.get(event)
        if series is None:
            self._drop("dropped_forgotten")
            return
        try:
            async with asyncio.timeout(self._limits.request), permitted(self._fence):
                await self._write(event, series)
        except (KubeError, TimeoutError, Fenced) as error:
            self._failed(event, series, error)
        else:
            series.attempts = 0
            self._unsent.forget(event)
            self._events.labels("sent").inc()

    async def _write(self, event: EventIdentity, series: _Series) -> None:
        if series.event:
            with contextlib.suppress(NotFound):
                # The server deletes Events after an hour; a longer series needs a new Event.
                await self._client.patch(
                    EVENTS,
                    series.event,
                    event.namespace,
                    patch=Patch({"series": event_series(series.count, series.last)}),
                    field_manager=self._reporter.controller,
                )
                return
        manifest = event_manifest(event, self._reporter, series.first)
        if series.count > 1:
            manifest["series"] = event_series(series.count, series.last)
        with contextlib.suppress(AlreadyExists):
            await self._client.create(
                EVENTS, manifest, field_manager=self._reporter.controller, into=PartialObject
            )
        series.event = event_name(event, series.first)

    def _failed(self, event: EventIdentity, series: _Series, error: Exception) -> None:
        series.attempts += 1
        verdict = classify(error) if isinstance(error, KubeError) else ErrorAction.RETRY
        if verdict is ErrorAction.RETRY and series.attempts < self._limits.attempts:
            self._unsent.retry(event)
            return
        self._unsent.forget(event)
        self._series.pop(event, None)
        self._drop("dropped_refused")
        log.debug("an event was dropped", reason=event.reason, error=str(error))

    def _object_budget(self, uid: str) -> Budget:
        budget = self._objects.get(uid)
        if budget is None:
            limits = self._limits
            budget = Budget(limits.object_burst, limits.object_rate, self._clock)
            self._objects[uid] = budget
            if len(self._objects) > limits.kept:
                self._objects.popitem(last=False)
        return budget

    def _drop(self, why: str) -> None:
        self._events.labels(why).inc()
