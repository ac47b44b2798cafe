"""The status controller: writes the backend's part of a gang's status, as seldom as possible.

It counts pods, asks the dialect for the scheduler's message, and applies the status. A condition
that changes its status is written at once. Other changes wait, each kind for its own time, so that
a state that ends by itself is never written. A gang without a result is skipped: the result that
the gang controller posts adds its key again.
"""

import math
from dataclasses import replace

from backend_controllers.contract.declaration import Dialect
from backend_controllers.contract.pod_counts import count, failures_of
from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.capacity_numbers import CapacityNumbers
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.disruptions import Disruptions
from backend_controllers.generic.facts import CacheFacts
from backend_controllers.generic.gang_results import GangResult, GangStage
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.reports import ReportedStatus, WriteUrgency, report, urgency
from backend_controllers.generic.silence import Silence
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.queueing.debounce import Debouncer
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import key_of

_NEED_ACTION = frozenset(
    {GangStage.CONFLICT, GangStage.REJECTED, GangStage.FAILED, GangStage.OUTDATED}
)


class StatusReconciler:
    """The statuses of gangs."""

    def __init__(
        self,
        context: BackendContext,
        dialect: Dialect,
        caches: BackendCaches,
        applier: Applier,
        lifetimes: Lifetimes,
        debouncer: Debouncer[ObjectKey],
    ) -> None:
        self._context = context
        self._dialect = dialect
        self._caches = caches
        self._applier = applier
        self._lifetimes = lifetimes
        self._debouncer = debouncer
        self._disruptions = Disruptions(
            caches.pods,
            lambda key: key in caches.gangs,
            surplus_stands_in=dialect.surplus_stands_in,
        )
        self._target = Target(GANGS, caches.gangs)
        timing = context.settings.timing
        self._numbers = CapacityNumbers(caches)
        self._silence = Silence(
            context.clock, timing.silent_after_seconds, context.backend.where_it_runs
        )
        self._delays = {
            WriteUrgency.NOW: 0.0,
            WriteUrgency.SOON: timing.reason_delay_seconds,
            WriteUrgency.LATER: timing.progress_delay_seconds,
        }
        # When the status of a gang was last written.
        self._written_at: dict[ObjectKey, float] = {}
        caches.gangs.subscribe(self._forget)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the status of one gang, if it must change."""
        gang = self._caches.gang(key)
        result = None if gang is None else self._result(gang)
        if gang is None or result is None:
            self._debouncer.done(key)
            return None
        new, again = self._report(gang, result)
        self._measure(gang, new)
        found = urgency(gang.status, new)
        if found is WriteUrgency.NOTHING:
            self._debouncer.done(key)
            return Result(requeue_after=again) if again is not None else None
        now = self._context.clock.monotonic()
        since = self._debouncer.first_change(key)
        if (wait := self._due(key, found, since) - now) > 0:
            return Result(requeue_after=wait)
        self._debouncer.done(key)
        self._written_at[key] = now
        await self._write(gang, new, key)
        self._debouncer.wrote(now)
        self._context.metrics.mirror.observe(self._context.clock.monotonic() - since)
        return Result(requeue_after=again) if again is not None else None

    def _result(self, gang: ObservedPodGang) -> GangResult | None:
        """The result of a gang, also if only references were added since it was translated."""
        result = self._context.results.get(gang.metadata.uid)
        if result is None or self._dialect.heeds_gated_pods or not result.covers(gang):
            return result
        return replace(result, generation=gang.metadata.generation)

    def _report(
        self, gang: ObservedPodGang, result: GangResult
    ) -> tuple[ReportedStatus, float | None]:
        """Return the status of a gang, and when it changes without an event."""
        facts = CacheFacts(self._caches, gang)
        stands_in = self._dialect.surplus_stands_in
        counted = count(gang, facts.pods, surplus_stands_in=stands_in)
        disruption = self._disruptions.of(gang, facts.pods, is_scheduled=counted.is_scheduled)
        found = self._dialect.mirror(gang, facts)
        again = None
        if counted.is_scheduled or not result.is_done:
            self._silence.forget(gang.metadata.uid)
        else:
            found, again = self._silence.judged(gang, facts.pods, found)
            found = self._numbers.explained(gang, counted, found)
        failures = {} if counted.is_ready else failures_of(facts.pods)
        return report(gang, result, counted, found, disruption, failures), again

    def _forget(self, old: ObservedPodGang | None, new: ObservedPodGang | None) -> None:
        if old is not None and new is None:
            self._context.metrics.forget(old.metadata.uid)
            self._written_at.pop(key_of(old), None)
            self._disruptions.forget(old)
            self._silence.forget(old.metadata.uid)

    def _due(self, key: ObjectKey, found: WriteUrgency, since: float) -> float:
        """Return when a status is written that differs since then."""
        if found is not WriteUrgency.MESSAGE:
            return since + self._delays[found]
        # On a full cluster messages change with every pod that comes or goes. They are written as
        # seldom as numbers; one that follows a pause is written like a reason.
        earliest = self._written_at.get(key, -math.inf) + self._delays[WriteUrgency.LATER]
        return max(since + self._delays[WriteUrgency.SOON], earliest)

    async def _write(self, gang: ObservedPodGang, new: ReportedStatus, key: ObjectKey) -> None:
        manifest = new.manifest(gang, self._context.now())
        # Forced: these fields are the backend's by contract, also if another one had the gang.
        written = await self._applier.apply_status(self._target, manifest, Behalf(key, force=True))
        self._context.metrics.wrote(f"{GANGS.plural}/status", written.value)
        self._record_events(gang, new)

    def _record_events(self, gang: ObservedPodGang, new: ReportedStatus) -> None:
        for condition in new.conditions:
            before = gang.condition(condition.kind)
            is_new = before is None or (before.status, before.reason) != (
                condition.status,
                condition.reason,
            )
            if is_new and _needs_event(condition.kind, new, holds=condition.holds):
                self._context.record_event(gang, condition.reason, condition.message, warning=True)

    def _measure(self, gang: ObservedPodGang, new: ReportedStatus) -> None:
        state, reason = _state(new)
        self._context.metrics.note(gang.metadata.uid, state, reason)
        if state in ("Starting", "Running"):
            self._lifetimes.scheduled(gang)
        if state == "Running":
            self._lifetimes.ready(gang)


def _needs_event(kind: str, new: ReportedStatus, *, holds: bool) -> bool:
    """Tell whether a user may have to act on a condition."""
    match kind:
        case names.CONDITION_ACCEPTED:
            return not holds
        case names.CONDITION_PROGRAMMED:
            return new.result.stage in _NEED_ACTION
        case names.CONDITION_SCHEDULED:
            # The scheduler gave a reason of its own.
            return not holds and new.is_explained
        case names.CONDITION_DISRUPTION_TARGET:
            return holds
        case _:
            return False


def _state(new: ReportedStatus) -> tuple[str, str]:
    """The state and the reason under which a gang is counted."""
    result = new.result
    if not result.is_done and new.phase.value == "Pending":
        state = "NotProgrammed" if result.is_accepted else "Refused"
        return state, result.stage.value
    kind = names.CONDITION_SCHEDULED if new.phase.value == "Pending" else names.CONDITION_READY
    condition = new.condition(kind)
    return new.phase.value, condition.reason if condition is not None else ""
