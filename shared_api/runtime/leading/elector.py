"""Elects one leader among several replicas, by a Lease.

The leader counts from *before* it sends a renewal, a standby from when it reads one, so the
leader's count always ends first. The leader stops at its renew deadline: the fence closes and the
work is cancelled, well before a standby may take the Lease. Half-way between the two, the
`DeadMansSwitch` ends a process that was frozen or whose work did not stop. Expiry is never computed
from wall time; the times in the Lease are for readers. When the work ends or fails, the Lease is
released, so no leader is idle.
"""

import asyncio
import contextlib
import os
import random
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NoReturn

import structlog

from shared_api.kube.client import Client
from shared_api.kube.errors import Conflict, KubeError, NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.deadman import NoSwitch, Switch
from shared_api.runtime.leading.lease import Lease, LeaseStore
from shared_api.runtime.telemetry.metrics import Telemetry

log = structlog.stdlib.get_logger(__name__)


def replica_identity() -> str:
    """Return a name for this process that no other process ever had."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4().hex[:8]}"


class LeadershipLost(Exception):  # noqa: N818 - it is a fact, not a fault
    """The Lease could not be renewed in time, or has another holder."""


@dataclass(frozen=True, slots=True)
class ElectionTiming:
    """The times of an election; the defaults are those of controller-runtime."""

    duration: float = 15.0
    """Seconds without a renewal after which other candidates may take the Lease."""
    renew_deadline: float = 10.0
    """Seconds without a renewal after which the holder stops."""
    retry: float = 2.0
    """Seconds between renewals, and between attempts of a standby."""
    request: float = 4.0
    """Seconds for one request, so that a second one fits before the deadline."""
    jitter: float = 0.2
    random: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if not self.retry + self.request < self.renew_deadline < self.duration:
            raise ValueError("need retry + request < renew_deadline < duration")

    @property
    def margin(self) -> float:
        """Seconds after the renew deadline in which the work must have ended."""
        return (self.duration - self.renew_deadline) / 2

    def pause(self) -> float:
        """Return the seconds to the next attempt, with jitter so that replicas do not coincide."""
        return self.retry * (1.0 + self.jitter * (self.random() - 0.5))


@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """The times, the clock and the timer of an election."""

    timing: ElectionTiming = field(default_factory=ElectionTiming)
    clock: Clock = SYSTEM
    switch: Switch = field(default_factory=NoSwitch)
    """A process of its own uses a `DeadMansSwitch`."""


class Elector:
    """The candidate of this process, and the fence that is open while it is the leader."""

    def __init__(
        self,
        client: Client,
        lease: ObjectKey,
        identity: str,
        telemetry: Telemetry,
        *,
        options: ElectionOptions | None = None,
    ) -> None:
        options = options or ElectionOptions()
        clock = options.clock
        self.identity = identity
        self._timing = options.timing
        self._switch = options.switch
        self._store = LeaseStore(client, lease, identity, self._timing.duration, clock)
        self._clock = clock
        self._gauge = telemetry.leader.labels(str(lease))
        self._gauge.set(0)
        self._lease: Lease | None = None
        self._renewed_at: float | None = None
        # The holder and version of the Lease as last read, and when by our own clock.
        self._seen: tuple[str, str] | None = None
        self._seen_at = 0.0

    def remaining(self) -> float:
        """Return the seconds for which this process may act as the leader."""
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._timing.renew_deadline - self._clock.elapsed()

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, run the work while it lasts, release it when the work is done.

        If the Lease is lost, cancel the work, wait for its end and raise LeadershipLost.
        """
        await self._acquire()
        log.info("became the leader", identity=self.identity)
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._keep())
                working = group.create_task(_run(work))
                working.add_done_callback(lambda _: renewing.cancel())
        except BaseExceptionGroup as errors:
            lost, others = errors.split(LeadershipLost)
            if lost is None or others is not None:
                raise
            raise LeadershipLost(str(lost.exceptions[0])) from None
        finally:
            await self._step_down()

    async def _acquire(self) -> None:
        while True:
            try:
                if await self._try():
                    return
            except (KubeError, TimeoutError) as error:
                log.warning("cannot read the lease", error=str(error) or "timed out")
            await asyncio.sleep(self._timing.pause())

    async def _try(self) -> bool:
        """Take the Lease if it is free; return whether this process is the leader now."""
        found = None
        with contextlib.suppress(NotFound):
            async with asyncio.timeout(self._timing.request):
                found = await self._store.read()
        if found is not None and not self._is_free(found):
            return False
        started = self._clock.elapsed()
        try:
            async with asyncio.timeout(self._timing.request):
                held = await self._store.take(found)
        except Conflict:
            return False
        return self._holds(held, started)

    def _is_free(self, found: Lease) -> bool:
        now = self._clock.elapsed()
        content = (found.holder, found.metadata.resource_version)
        if content != self._seen:
            # The holder renewed it at an unknown time before now, so the count begins now.
            self._seen, self._seen_at = content, now
        if not found.holder or found.holder == self.identity:
            return True
        return now >= self._seen_at + found.duration

    async def _keep(self) -> None:
        """Renew until that fails for too long."""
        while True:
            await asyncio.sleep(self._timing.pause())
            # Checked before the renewal: the process may have been frozen during the sleep.
            while (left := self.remaining()) > 0:
                try:
                    async with asyncio.timeout(min(left, self._timing.request)):
                        if await self._renew():
                            break
                except (KubeError, TimeoutError) as error:
                    log.warning("could not renew the lease", error=str(error) or "timed out")
                await asyncio.sleep(min(max(self.remaining(), 0.0), self._timing.retry / 4))
            else:
                self._lose("the lease was not renewed in time")

    async def _renew(self) -> bool:
        started = self._clock.elapsed()
        try:
            held = await self._store.renew(self._lease)
        except (Conflict, NotFound):
            # The conflict may come from an earlier renewal of ours whose answer was lost.
            found = await self._store.read()
            if found.holder != self.identity:
                self._lose(f"the lease is held by {found.holder or 'nobody'}")
            self._lease = found
            return False
        return self._holds(held, started)

    def _holds(self, held: Lease, started: float) -> bool:
        self._lease, self._renewed_at = held, started
        if self.remaining() <= 0:
            # The answer was read long after the request, for instance after a freeze.
            return False
        self._switch.arm(self.remaining() + self._timing.margin)
        self._gauge.set(1)
        return True

    def _lose(self, why: str) -> NoReturn:
        self._close()
        raise LeadershipLost(why)

    def _close(self) -> None:
        self._renewed_at = None
        self._gauge.set(0)

    async def _step_down(self) -> None:
        """Close the fence, then release the Lease for the next leader."""
        held, was_leading = self._lease, self.remaining() > 0
        self._close()
        # Only after the work has ended, since the work might have sent writes until then.
        self._switch.disarm()
        self._lease = None
        if held is None or not was_leading:
            return
        with contextlib.suppress(KubeError, TimeoutError):
            async with asyncio.timeout(self._timing.retry):
                await self._store.release(held)
                log.info("released the lease", identity=self.identity)


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()
