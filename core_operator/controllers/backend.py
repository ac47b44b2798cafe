"""Whether a backend is there: the Available condition of its SchedulerBackend record.

A record without a Lease, or one that is not accepted, is never available. A backend lives while it
renews its Lease. How long ago that was is measured by our own clock from when we saw it, so clocks
that differ do not matter. A Lease that was given back ends at once. Right after a start, or a gap in our watch of Leases, nobody knows how old a Lease is; what
the record said before stands until it is renewed or the time is up, counted from then on. While
the watch is broken nobody can tell at all. Gangs are not touched here: they see the record.
"""

from dataclasses import dataclass

from core_operator.context import CoreContext
from core_operator.controllers.statuses import status_of
from core_operator.plan.backends import outranked
from core_operator.plan.statuses.conditions import Observation, rendered
from core_operator.state import caches as kinds
from core_operator.state.view import condition
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import Condition, SchedulerBackend
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.leading.lease import Lease
from shared_api.runtime.reconciling.outcome import Result


@dataclass(frozen=True, slots=True)
class Liveness:
    """Whether a backend lives, why, and for how many seconds that is certain."""

    alive: bool
    message: str
    good_for: float | None = None


class BackendReconciler:
    """Liveness of backends."""

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
        """Judge one backend."""
        found = self._caches.backends.get(key)
        if found is None or found.metadata.deletion_timestamp is not None:
            return None
        record = found.object
        previous = record.status.conditions if record.status is not None else ()
        said = condition(previous, names.CONDITION_AVAILABLE)
        liveness = self._liveness(record, said)
        available = Observation(self._context.now(), previous).condition(
            names.CONDITION_AVAILABLE,
            holds=liveness.alive,
            reason=names.REASON_BACKEND_AVAILABLE
            if liveness.alive
            else names.REASON_BACKEND_UNAVAILABLE,
            message=liveness.message + self._ambiguity(record),
        )
        manifest = status_of(record, {"conditions": rendered((available,))})
        # Forced: the condition is core's by contract, whoever wrote it meanwhile.
        await self._applier.apply_status(self._target, manifest, Behalf(key, force=True))
        if said is not None and said.status != available.status:
            self._context.tell(
                record, available.reason, available.message, warning=not liveness.alive
            )
        return Result(requeue_after=liveness.good_for) if liveness.good_for else None

    def _ambiguity(self, record: SchedulerBackend) -> str:
        others = outranked(record.metadata.name, self._context.view.backends())
        return f"; scheduler names that another backend answers for: {others}" if others else ""

    def _liveness(self, record: SchedulerBackend, said: Condition | None) -> Liveness:
        known = self._context.view.backends().get(record.metadata.name)
        if known is not None and known.refusal:
            return Liveness(alive=False, message=f"it is not accepted: {known.refusal}")
        conditions = record.status.conditions if record.status is not None else ()
        ready = condition(conditions, names.CONDITION_READY)
        if ready is not None and ready.status == "False":
            return Liveness(alive=False, message=f"it says that it is not ready: {ready.message}")
        lease = record.spec.lease
        if lease is None:
            return Liveness(alive=False, message="it has no Lease")
        return self._by_lease(ObjectKey(lease.namespace, lease.name), said)

    def _by_lease(self, key: ObjectKey, said: Condition | None) -> Liveness:
        lease = self._caches.leases.get(key)
        if lease is None:
            return Liveness(alive=False, message=f"its Lease {key} does not exist")
        if not lease.holder:
            return Liveness(alive=False, message=f"nobody holds its Lease {key}")
        allowed = self._allowed(lease)
        now = self._context.clock.monotonic()
        doubtful = self._caches.lease_watch.is_doubtful
        # A gap that ends later than now gives all of it anew, so that looking then is in time.
        rest = allowed if doubtful else self._renewed.get(key, now) + allowed - now
        if rest <= 0:
            message = f"its Lease {key} was not renewed for {allowed:g} s"
            return Liveness(alive=False, message=message)
        unknown = doubtful or key in self._of_unknown_age
        if unknown and said is not None and said.status == "False":
            return Liveness(alive=False, message=said.message, good_for=rest)
        return Liveness(alive=True, message=f"its Lease {key} is being renewed", good_for=rest)

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
        """Be told that the watch works again: backends may have been as cut off as we were."""
        self._renewed = dict.fromkeys(self._renewed, self._context.clock.monotonic())
        self._of_unknown_age.update(self._renewed)
