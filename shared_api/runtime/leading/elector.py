"""One leader among several replicas, by a Lease that all of them watch over.

The holder measures from *before* it sends a renewal, the others from when they see it, so
the holder's count always ends first. It stops at its renew deadline, which comes well
before the lease ends for others: the fence closes, the work is cancelled, and only then may
somebody else begin. Half-way between the two a dead man's switch ends a process that did
not manage this in time, because it was frozen, or because its work would not stop. Expiry is never computed from wall time; the times in the Lease are for people. If the work
ends or fails, the lease is given back; a holder that does no work does not exist.
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
    """The lease could not be renewed in time, or is another's."""


@dataclass(frozen=True, slots=True)
class ElectionTiming:
    """How long things may take; the defaults are those of other controllers."""

    duration: float = 15.0
    """Seconds for which others respect a lease that is not renewed."""
    renew_deadline: float = 10.0
    """Seconds without a renewal after which the holder stops."""
    retry: float = 2.0
    """Seconds between renewals, and between looks at another's lease."""
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
        """The time to the next attempt; replicas must not march in step."""
        return self.retry * (1.0 + self.jitter * (self.random() - 0.5))


@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """How an election is held in this process."""

    timing: ElectionTiming = field(default_factory=ElectionTiming)
    clock: Clock = SYSTEM
    switch: Switch = field(default_factory=NoSwitch)
    """A process that does nothing but lead wants a `DeadMansSwitch`."""


class Elector:
    """This process as a candidate; while it leads, a fence that is open."""

    def __init__(
        self,
        client: Client,
        lease: ObjectKey,
        identity: str,
        telemetry: Telemetry,
        *,
        terms: ElectionOptions | None = None,
    ) -> None:
        terms = terms or ElectionOptions()
        clock = terms.clock
        self.identity = identity
        self._timing = terms.timing
        self._switch = terms.switch
        self._store = LeaseStore(client, lease, identity, self._timing.duration, clock)
        self._clock = clock
        self._gauge = telemetry.leader.labels(str(lease))
        self._gauge.set(0)
        self._lease: Lease | None = None
        self._renewed_at: float | None = None
        # What was last seen of another's lease, and when by our own clock.
        self._seen: tuple[str, str] | None = None
        self._seen_at = 0.0

    def remaining(self) -> float:
        """Seconds for which this process may act as the leader."""
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._timing.renew_deadline - self._clock.elapsed()

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, work while it lasts, give it back when the work is done.

        Raise LeadershipLost, after the work has ended, if the lease was lost before.
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
                log.warning("could not look at the lease", error=str(error) or "timed out")
            await asyncio.sleep(self._timing.pause())

    async def _try(self) -> bool:
        """Take the lease if it is free; tell whether this process holds it now."""
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
            # Alive at some time before now; how long before, nobody can say.
            self._seen, self._seen_at = content, now
        if not found.holder or found.holder == self.identity:
            return True
        return now >= self._seen_at + found.duration

    async def _keep(self) -> None:
        """Renew until that fails for too long."""
        while True:
            await asyncio.sleep(self._timing.pause())
            # Looked at first: this may be the first moment after a long freeze.
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
            # Perhaps only an earlier renewal of ours whose answer was lost.
            found = await self._store.read()
            if found.holder != self.identity:
                self._lose(f"the lease is held by {found.holder or 'nobody'}")
            self._lease = found
            return False
        return self._holds(held, started)

    def _holds(self, held: Lease, started: float) -> bool:
        self._lease, self._renewed_at = held, started
        if self.remaining() <= 0:
            # The answer was read long after the question, for instance after a freeze.
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
        """Close the fence, then let the next one in at once."""
        held, was_leading = self._lease, self.remaining() > 0
        self._close()
        # Not before: until the work had ended, something of it might still have been sent.
        self._switch.disarm()
        self._lease = None
        if held is None or not was_leading:
            return
        with contextlib.suppress(KubeError, TimeoutError):
            async with asyncio.timeout(self._timing.retry):
                await self._store.release(held)
                log.info("gave the lease back", identity=self.identity)


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()
