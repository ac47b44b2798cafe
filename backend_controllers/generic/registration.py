"""The registration controller: applies the record of this backend, and again when it drifts.

The Lease shows whether the backend is up. The heartbeat in the status is for people: it is rarely
written, and never at a start that finds the record up to date.
"""

from collections.abc import Mapping
from datetime import datetime

from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.kinds import BACKENDS
from backend_controllers.generic.record import record_manifest, record_status
from shared_api.kube.metadata import ObjectKey
from shared_api.models import SchedulerBackend
from shared_api.runtime.applying.applied_fields import Applied, fingerprint
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import Cache

HEARTBEAT = 300.0
"""Seconds between two heartbeats."""


class Registration:
    """The record of one backend."""

    def __init__(
        self,
        context: BackendContext,
        found: Found,
        records: Cache[Applied[SchedulerBackend]],
        applier: Applier,
    ) -> None:
        self._context = context
        self._found = found
        self._target = Target(BACKENDS, records, self._is_unchanged)
        self._status = Target(BACKENDS, records)
        self._applier = applier
        self._beat_at = context.clock.monotonic()

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Apply the record and its status."""
        context = self._context
        deployment = context.settings.leader_election.deployment or ""
        manifest = record_manifest(
            context.backend,
            self._found.answer,
            context.lease,
            deployment,
            context.settings.instance,
        )
        behalf = Behalf(key, force=True)
        await self._applier.apply(self._target, manifest, behalf)
        observed = self._target.cache.get(key)
        if observed is None:
            # Just created; the status follows when the cache has it.
            return None
        status = record_status(
            observed.object, self._found, self._heartbeat(observed.object), self._context.now()
        )
        await self._applier.apply_status(self._status, status, behalf)
        return Result(requeue_after=self._beat_at + HEARTBEAT - self._context.clock.monotonic())

    def _is_unchanged(
        self, observed: Applied[SchedulerBackend], manifest: Mapping[str, object]
    ) -> bool:
        # Fingerprints omit empty fields, but no patch and an empty patch mean different things.
        applied = observed.fingerprint(self._context.field_manager)
        preparation = observed.object.spec.preparation
        return applied == fingerprint(manifest) and preparation == self._found.answer.preparation

    def _heartbeat(self, record: SchedulerBackend) -> datetime:
        now = self._context.clock.monotonic()
        previous = record.status.last_heartbeat if record.status is not None else None
        if previous is not None and now < self._beat_at + HEARTBEAT:
            return previous
        self._beat_at = now
        return self._context.now()
