"""Whether a backend is there: the condition Available of its SchedulerBackend record.

A backend is available while it renews its Lease; a record without a Lease, or one that core does
not accept, never is. The age of a renewal is measured by our clock from when we saw it, so clocks
may differ. A Lease without a holder ends availability at once. After a start, or a gap in the watch
of Leases, the age of a Lease is unknown: the former condition stays until the Lease is renewed or
the time is up, counted from then. This module never changes gangs; they follow the record.
"""

from dataclasses import dataclass, replace

from core_operator.context import CoreContext
from core_operator.controllers.statuses import status_of
from core_operator.plan.placement.backends import outranked
from core_operator.plan.placement.unavailability import start_command, unavailable_reason
from core_operator.plan.statuses.conditions import Observation, find, rendered
from core_operator.state import caches as kinds
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import Condition, SchedulerBackend
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.leading.lease import Lease
from shared_api.runtime.reconciling.outcome import Result


@dataclass(frozen=True, slots=True)
class Liveness:
    """Whether a backend is alive, why, and for how many seconds that is certain."""

    alive: bool
    message: str
    good_for: float | None = None
    reason: str = names.REASON_BACKEND_UNAVAILABLE
    """Why it is not alive."""


class BackendReconciler:
    """Reconciles the availability of backends."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self._caches = context.view.caches
        self._target = Target(kinds.BACKENDS, self._caches.backends)
        self._renewed: dict[ObjectKey, float] = {}
        self._of_unknown_age: set[ObjectKey] = set()
        self._caches.leases.subscribe(self._on_lease)
        self._caches.lease_watch.subscribe(self._on_gap)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the condition Available of one backend."""
        found = self._caches.backends.get(key)
        if found is None or found.metadata.deletion_timestamp is not None:
            return None
        record = found.object
        previous = record.status.conditions if record.status is not None else ()
        before = find(previous, names.CONDITION_AVAILABLE)
        liveness = self._liveness(record, before)
        available = Observation(self._context.now(), previous).condition(
            names.CONDITION_AVAILABLE,
            holds=liveness.alive,
            reason=names.REASON_BACKEND_AVAILABLE if liveness.alive else liveness.reason,
            message=self._ambiguity(record) + liveness.message,
        )
        manifest = status_of(record, {"conditions": rendered((available,))})
        # Forced: the condition belongs to core, also after another client wrote it.
        await self._applier.apply_status(self._target, manifest, Behalf(key, force=True))
        if before is not None and before.status != available.status:
            self._context.record_event(
                record, available.reason, available.message, warning=not liveness.alive
            )
        return Result(requeue_after=liveness.good_for) if liveness.good_for else None

    def _ambiguity(self, record: SchedulerBackend) -> str:
        others = outranked(record.metadata.name, self._context.view.backends())
        return f"another backend has these scheduler names: {others}; " if others else ""

    def _liveness(self, record: SchedulerBackend, before: Condition | None) -> Liveness:
        known = self._context.view.backends().get(record.metadata.name)
        if known is not None and known.refusal:
            return Liveness(alive=False, message=f"it is not accepted: {known.refusal}")
        conditions = record.status.conditions if record.status is not None else ()
        ready = find(conditions, names.CONDITION_READY)
        if ready is not None and ready.status == "False":
            return Liveness(
                alive=False,
                message=ready.message,
                reason=unavailable_reason(ready.reason),
            )
        lease = record.spec.lease
        if lease is None:
            return Liveness(alive=False, message="it has no Lease")
        found = self._by_lease(ObjectKey(lease.namespace, lease.name), before)
        if found.alive or found.good_for is not None:
            return found
        return replace(found, message=f"{found.message}. {start_command(record.spec)}")

    def _by_lease(self, key: ObjectKey, before: Condition | None) -> Liveness:
        lease = self._caches.leases.get(key)
        if lease is None:
            return Liveness(alive=False, message=f"its Lease {key} does not exist")
        if not lease.holder:
            return Liveness(alive=False, message=f"its Lease {key} has no holder")
        allowed = self._allowed(lease)
        now = self._context.clock.monotonic()
        doubtful = self._caches.lease_watch.may_miss_events
        # The end of a gap starts the whole time again, so the next check is not too late.
        left = allowed if doubtful else self._renewed.get(key, now) + allowed - now
        if left <= 0:
            message = f"its Lease {key} was not renewed for {allowed:g} s"
            return Liveness(alive=False, message=message)
        unknown = doubtful or key in self._of_unknown_age
        if unknown and before is not None and before.status == "False":
            return Liveness(alive=False, message=before.message, good_for=left)
        return Liveness(alive=True, message=f"its Lease {key} is being renewed", good_for=left)

    def _allowed(self, lease: Lease) -> float:
        longest = self._context.settings.backends.stale_after_seconds
        return min(longest, lease.duration) if lease.duration else longest

    def _on_lease(self, old: Lease | None, new: Lease | None) -> None:
        if new is None:
            if old is not None:
                self._renewed.pop(old.metadata.key, None)
                self._of_unknown_age.discard(old.metadata.key)
            return
        key = new.metadata.key
        self._renewed[key] = self._context.clock.monotonic()
        if old is None and not self._caches.leases.is_synced:
            self._of_unknown_age.add(key)
        else:
            self._of_unknown_age.discard(key)

    def _on_gap(self) -> None:
        """Restart all times after a gap: backends may have been cut off as we were."""
        self._renewed = dict.fromkeys(self._renewed, self._context.clock.monotonic())
        self._of_unknown_age.update(self._renewed)
