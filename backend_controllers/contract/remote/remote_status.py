"""The status of a RemoteGang, and the order that is given to the executor for it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.remote.api import (
    REMOTE_GANGS,
    ObservedRemoteGang,
    ObservedRemoteStatus,
    RemotePod,
)
from backend_controllers.contract.remote.executor import ExecutorError, Order, RemoteUnit
from backend_controllers.contract.remote.steps import tag_of
from shared_api.models import JsonObject, RemotePhase
from shared_api.runtime.reconciling.outcome import Result
from shared_api.truncation import without_middle

_MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last attempt to reserve, and why it failed if it did."""

    number: int = 0
    reason: str = ""
    message: str = ""
    retry_at: datetime | None = None

    @classmethod
    def of(cls, status: ObservedRemoteStatus) -> "Attempt":
        """Return the attempt that is recorded."""
        at = status.retry_at
        return cls(
            status.attempt,
            status.reason or "",
            status.message or "",
            None if at is None else datetime.fromisoformat(at),
        )

    def failed(self, error: ExecutorError, retry_at: datetime) -> "Attempt":
        """Return this attempt with the error that ended it."""
        return Attempt(self.number, error.outcome.value, str(error), retry_at)

    def again(self, now: datetime) -> Result | None:
        """Return when the gang has to be reconciled for the next attempt."""
        if self.retry_at is None:
            return None
        return Result(requeue_after=max(0.1, (self.retry_at - now).total_seconds()))


def order_of(remote: ObservedRemoteGang, pods: tuple[RemotePod, ...], attempt: int) -> Order:
    """Return the order for these pods of a gang."""
    pack = remote.spec.pack
    return Order(
        tag_of(remote),
        attempt,
        pods,
        {name: rank for rank, name in enumerate(remote.spec.pods)},
        PackLevels(pack.required, pack.preferred) if pack else PackLevels(),
        remote.spec.grant_seconds,
        remote.spec.max_runtime_seconds or 0,
        remote.spec.reservation or "",
    )


def remote_status(
    remote: ObservedRemoteGang, phase: RemotePhase, attempt: Attempt, units: tuple[RemoteUnit, ...]
) -> JsonObject:
    """Return the status of a RemoteGang as it is applied."""
    status: JsonObject = {
        "phase": phase.value,
        "attempt": attempt.number,
        "observedGeneration": remote.metadata.generation,
        "members": [
            {
                "pod": unit.pod,
                "host": unit.host,
                "state": unit.state.value,
                "externalId": unit.external_id,
            }
            for unit in sorted(units, key=lambda unit: unit.pod)
            if unit.pod_uid
        ],
    }
    if attempt.reason:
        status["reason"] = attempt.reason
        status["message"] = without_middle(attempt.message, _MESSAGE_LIMIT)
    if attempt.retry_at is not None:
        at = attempt.retry_at.astimezone(UTC).replace(microsecond=0)
        status["retryAt"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": REMOTE_GANGS.api_version,
        "kind": REMOTE_GANGS.kind,
        "metadata": {"name": remote.metadata.name, "namespace": remote.metadata.namespace},
        "status": status,
    }
