"""Tells of gangs how they fare, as seldom as that can be done.

It counts pods, asks the dialect for the scheduler's words, and applies the part of the status
that is the backend's. What flips is written at once; the rest is held back for a time that
depends on what it is, so that what passes by itself is never written. A gang that has not
been translated yet is left alone: the board wakes us when it is.
"""

import math
from collections.abc import Iterator
from typing import TypeVar

from backend_controllers.contract.declaration import Dialect
from backend_controllers.contract.pod_counts import count
from backend_controllers.generic.caches import Caches
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.debounce import Gathering
from backend_controllers.generic.disruptions import Disruptions
from backend_controllers.generic.facts import CacheFacts
from backend_controllers.generic.gang_results import Stage
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.reports import Report, Worth, report, worth
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import PodGang
from shared_api.models import PodGangPhase
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.event_handlers import Keys
from shared_api.runtime.watching.predicates import Watched

W = TypeVar("W", bound=Watched)
_TOLD = frozenset({Stage.CONFLICT, Stage.REJECTED, Stage.FAILED, Stage.OUTDATED})


class StatusReconciler:
    """The statuses of gangs."""

    def __init__(
        self,
        context: BackendContext,
        dialect: Dialect,
        caches: Caches,
        applier: Applier,
        lifetimes: Lifetimes,
    ) -> None:
        self._context = context
        self._dialect = dialect
        self._caches = caches
        self._applier = applier
        self._lifetimes = lifetimes
        self._disruptions = Disruptions(
            caches.pods,
            lambda key: key in caches.gangs,
            surplus_stands_in=dialect.surplus_stands_in,
        )
        self._target = Target(GANGS, caches.gangs)
        timing = context.settings.timing
        self._delays = {
            Worth.NOW: 0.0,
            Worth.SOON: timing.reason_delay_seconds,
            Worth.LATER: timing.progress_delay_seconds,
        }
        self.gathering = Gathering(timing.gather_seconds, context.clock)
        # Since when there is news that has not been told.
        self._since: dict[ObjectKey, float] = {}
        # When a gang was last told of.
        self._told_at: dict[ObjectKey, float] = {}

    def noticing(self, keys: Keys[W]) -> Keys[W]:
        """The same keys, and from when on there is news about them."""

        def noticed(value: W) -> Iterator[ObjectKey]:
            # What a standby sees is told by another, so nobody waits for this process to tell it.
            leads = self._context.fence.remaining() > 0
            for key in keys(value):
                if leads:
                    self._since.setdefault(key, self._context.clock.monotonic())
                yield key

        return noticed

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Tell of one gang, if there is something to tell."""
        gang = self._caches.gang(key)
        programming = None if gang is None else self._context.board.get(gang.metadata.uid)
        if gang is None or programming is None:
            self._since.pop(key, None)
            return None
        facts = CacheFacts(self._caches, gang)
        words = self._dialect.mirror(gang, facts)
        stands_in = self._dialect.surplus_stands_in
        counted = count(gang, facts.pods, surplus_stands_in=stands_in)
        disruption = self._disruptions.of(gang, facts.pods, is_placed=counted.is_scheduled)
        new = report(gang, programming, counted, words, disruption)
        is_running = new.phase is PodGangPhase.RUNNING
        self._context.board.read(gang.metadata.uid, is_running=is_running)
        self._measure(gang, new)
        found = worth(gang.status, new)
        if found is Worth.NOTHING:
            self._since.pop(key, None)
            return None
        now = self._context.clock.monotonic()
        since = self._since.setdefault(key, now)
        if (rest := self._due(key, found, since) - now) > 0:
            return Result(requeue_after=rest)
        self._since.pop(key, None)
        self._told_at[key] = now
        await self._write(gang, new, key)
        self.gathering.wrote(now)
        self._context.metrics.mirror.observe(self._context.clock.monotonic() - since)
        return None

    def forget(self, gang: PodGang) -> None:
        """A gang is gone."""
        self._context.metrics.forget(gang.metadata.uid)
        self._told_at.pop(key_of(gang), None)
        self._disruptions.forget(gang)

    def _due(self, key: ObjectKey, found: Worth, since: float) -> float:
        """When news are told that there are since then."""
        if found is not Worth.WORDS:
            return since + self._delays[found]
        # On a full cluster words change with every pod that comes or goes: they are told as
        # seldom as numbers, but those that come after a silence are told like a reason.
        paced = self._told_at.get(key, -math.inf) + self._delays[Worth.LATER]
        return max(since + self._delays[Worth.SOON], paced)

    async def _write(self, gang: PodGang, new: Report, key: ObjectKey) -> None:
        manifest = new.manifest(gang, self._context.now())
        # Forced: these fields are the backend's by contract, also if another one had the gang.
        written = await self._applier.apply_status(self._target, manifest, Behalf(key, force=True))
        self._context.metrics.wrote(f"{GANGS.plural}/status", written.value)
        self._tell(gang, new)

    def _tell(self, gang: PodGang, new: Report) -> None:
        before = {
            condition.type: (condition.status, condition.reason)
            for condition in (gang.status.conditions if gang.status is not None else ())
        }
        for said in new.said:
            is_news = before.get(said.kind) != (said.status, said.reason)
            if is_news and _is_for_people(said.kind, new, holds=said.holds):
                self._context.tell(gang, said.reason, said.message, warning=True)

    def _measure(self, gang: PodGang, new: Report) -> None:
        state, reason = _state(new)
        self._context.metrics.note(gang.metadata.uid, state, reason)
        if state in ("Starting", "Running"):
            self._lifetimes.scheduled(gang)
        if state == "Running":
            self._lifetimes.ready(gang)


def _is_for_people(kind: str, new: Report, *, holds: bool) -> bool:
    """Tell whether an aspect is worth an Event: what somebody may have to act on."""
    match kind:
        case names.CONDITION_ACCEPTED:
            return not holds
        case names.CONDITION_PROGRAMMED:
            return new.programming.stage in _TOLD
        case names.CONDITION_SCHEDULED:
            # The scheduler gave a reason of its own.
            return not holds and new.is_explained
        case names.CONDITION_DISRUPTION_TARGET:
            return holds
        case _:
            return False


def _state(new: Report) -> tuple[str, str]:
    """Where a gang is counted, and under which reason."""
    programming = new.programming
    if not programming.is_done and new.phase.value == "Pending":
        state = "NotProgrammed" if programming.is_accepted else "Refused"
        return state, programming.stage.value
    kind = names.CONDITION_SCHEDULED if new.phase.value == "Pending" else names.CONDITION_READY
    said = new.about(kind)
    return new.phase.value, said.reason if said is not None else ""
