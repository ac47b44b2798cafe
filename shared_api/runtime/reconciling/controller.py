"""Workers that take keys from a queue and reconcile them; no key is reconciled twice at once.

A reconciler gets a key and reads the caches; it must not know which change added the key. This
module owns everything around that call: a key whose own writes are not visible yet is parked until
they are, a reconcile has a deadline, errors decide about the retry, and metrics and log lines name
the key. It catches every `Exception`, so a defect in one reconcile delays one key only.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from shared_api.kube.errors import ErrorAction
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.logs import IN_WORK
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue, QueueClosed
from shared_api.runtime.reconciling.outcome import (
    DONE,
    Result,
    Retry,
    WaitForEvent,
    describe,
    earliest_retry,
    is_expected,
    verdict_of,
)
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry

log = structlog.stdlib.get_logger(__name__)


class Reconciler(Protocol):
    """What a controller calls."""

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Make one object as it should be; read the caches, not the server."""


@dataclass(frozen=True, slots=True)
class Watch:
    """One row of the table of a controller: which change adds which keys to its queue."""

    relation: str
    """`for`, `owns`, `watches`, `overwritten`, `unreadable` or `receives`."""
    source: str
    """The name of the cache or channel."""
    keys: Callable[[Any], Iterable[ObjectKey]]
    when: Callable[[Any, Any], bool] | None = None
    delay: float | Callable[[Any], float] = 0.0


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """How a controller works, and on which keys."""

    workers: int = 4
    deadline: float = 30.0
    """Seconds after which a reconcile is cut off."""
    recheck: float = 60.0
    """Seconds after which a key that waits for an event is reconciled anyway."""
    backoff: Backoff = field(default_factory=Backoff)
    exists: Callable[[ObjectKey], bool] = lambda _: True
    """Whether the object of a key exists; the queue of a standby drops other keys."""
    first: Callable[[], Iterable[ObjectKey]] = tuple
    """The keys to begin with, each time that this process becomes the leader."""
    watches: tuple[Watch, ...] = ()


class Controller:
    """One queue, its workers and the reconciler that they call."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        pending: PendingWrites,
        telemetry: Telemetry,
        *,
        options: ControllerOptions | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.name = name
        self._pending = pending
        self._reconciler = reconciler
        self._options = options or ControllerOptions()
        self.watches = self._options.watches
        self._clock = clock
        self._metrics = telemetry.controller(name, self._options.workers)
        self._parked: dict[ObjectKey, asyncio.Task[None]] = {}
        self.queue: Queue[ObjectKey] = Queue(
            lambda key: key.namespace,
            backoff=self._options.backoff,
            clock=clock,
            metrics=telemetry.queue(name),
            exists=self._options.exists,
        )
        self.queue.close()
        telemetry.watch_queue(name, self.queue)
        telemetry.read_at_scrape(
            "writes_not_yet_seen", {"controller": name}, lambda: len(self._parked)
        )

    async def run(self) -> None:
        """Reconcile until cancelled or drained; a key that was cut off stays queued."""
        for key in self._options.first():
            self.queue.add(key, priority=Priority.USER)
        self.queue.reopen()
        try:
            async with asyncio.TaskGroup() as parking:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self._options.workers):
                        workers.create_task(self._work(parking))
                for task in self._parked.values():
                    task.cancel()
        finally:
            self.queue.close()

    def drain(self) -> None:
        """Take no more keys; `run` returns when the keys in work are done."""
        self.queue.close()

    async def _work(self, parking: asyncio.TaskGroup) -> None:
        with contextlib.suppress(QueueClosed):
            while True:
                key = await self.queue.get()
                try:
                    if self._pending.is_settled(key):
                        await self._process(key)
                    elif key not in self._parked:
                        self._park(key, parking)
                except BaseException:
                    # It was cut off: the next leader must begin with it.
                    self.queue.add(key)
                    raise
                finally:
                    self.queue.done(key)

    def _park(self, key: ObjectKey, parking: asyncio.TaskGroup) -> None:
        # A parked key occupies no worker: a watch that lags must not stop other keys.
        task = self._parked[key] = parking.create_task(self._until_settled(key))
        task.add_done_callback(lambda _: self._unpark(key))

    def _unpark(self, key: ObjectKey) -> None:
        del self._parked[key]
        self.queue.add(key)

    async def _until_settled(self, key: ObjectKey) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.recheck):
                    return await self._pending.settled(key)
            log.warning("own writes are not visible yet", object=str(key), controller=self.name)

    async def _process(self, key: ObjectKey) -> None:
        started = self._clock.monotonic()
        self._metrics.active.inc()
        subject = IN_WORK.set((self.name, key.namespace, key.name))
        try:
            outcome = await self._call(key)
            if isinstance(outcome, Result):
                self._succeeded(key, outcome)
            else:
                self._failed(key, outcome)
        finally:
            IN_WORK.reset(subject)
            self._metrics.active.dec()
            self._metrics.seconds.observe(self._clock.monotonic() - started)

    async def _call(self, key: ObjectKey) -> Result | Exception:
        deadline = asyncio.timeout(self._options.deadline)
        try:
            async with deadline:
                return await self._reconciler.reconcile(key) or DONE
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Not our cancellation: one that leaked out of the reconciler.
            return RuntimeError("the reconciler was cancelled from inside").with_traceback(
                error.__traceback__
            )
        except Exception as error:  # noqa: BLE001 - the one place that may; see above
            if deadline.expired():
                self._metrics.timeouts.inc()
                return Retry(f"cut off after {self._options.deadline:g} s")
            return error

    def _succeeded(self, key: ObjectKey, result: Result) -> None:
        self.queue.forget(key)
        if result.requeue_after is None:
            self._metrics.success.inc()
        else:
            self._metrics.requeue_after.inc()
            self.queue.add(key, priority=Priority.RESYNC, delay=result.requeue_after)

    def _failed(self, key: ObjectKey, error: Exception) -> None:
        self._metrics.error.inc()
        self._metrics.errors.inc()
        expected = is_expected(error)
        if not expected:
            self._metrics.panics.inc()
        trace = None if expected else error
        match verdict_of(error):
            case ErrorAction.RETRY:
                delay = self.queue.retry(key, at_least=earliest_retry(error))
                log.warning(
                    "reconcile failed", error=describe(error), retry_in=delay, exc_info=trace
                )
            case ErrorAction.WAIT_FOR_EVENT:
                # The event may have come already, and a predicate ignored it: check again later.
                self.queue.forget(key)
                within = error.within if isinstance(error, WaitForEvent) else None
                delay = (
                    self._options.backoff.shorten(self._options.recheck)
                    if within is None
                    else within
                )
                self.queue.add(key, priority=Priority.RESYNC, delay=delay)
                log.info("reconcile waits for an event", error=describe(error))
            case ErrorAction.TERMINAL:
                self.queue.forget(key)
                self._metrics.terminal.inc()
                log.error("reconcile failed for good", error=describe(error))
