"""The SchedulerBackend record of a backend, from its declaration and from what was found.

Capabilities are what was found and not what is hoped for. A backend whose scheduler is absent
registers all the same: gangs then say what is missing, instead of that nobody knows the name.
"""

from datetime import datetime

from backend_controllers.contract.declaration import Absent, Backend, Dialect
from backend_controllers.generic.conditions import Said, by_kind, moment, rendered
from backend_controllers.generic.discovery import Found
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import (
    JsonObject,
    NamespacedName,
    ObjectMeta,
    ReleaseRules,
    SchedulerBackend,
    SchedulerBackendSpec,
)

REASON_FOUND = "SchedulerApiFound"
REASON_MISSING = "SchedulerApiMissing"


def record_manifest(
    backend: Backend, answer: Dialect | Absent, lease: ObjectKey | None
) -> JsonObject:
    """What core has to know about the backend."""
    spec = SchedulerBackendSpec(
        scheduler_names=backend.scheduler_names,
        capabilities=tuple(sorted(answer.capabilities)),
        preparation=answer.preparation,
        scheduling_gate=backend.scheduling_gate,
    )
    more: dict[str, object] = {}
    if backend.pod_keys is not None:
        more["pod_keys"] = backend.pod_keys
    if backend.release != ReleaseRules():
        # Left out where it says nothing: the server fills in an empty one, which would then
        # differ from what was applied after every start.
        more["release"] = backend.release
    if lease is not None:
        more["lease"] = NamespacedName(namespace=lease.namespace, name=lease.name)
    record = SchedulerBackend(
        metadata=ObjectMeta(name=backend.name), spec=spec.model_copy(update=more)
    )
    return record.manifest()


def record_status(
    record: SchedulerBackend, found: Found, heartbeat: datetime, now: datetime
) -> JsonObject:
    """Whether the backend works, and with what."""
    previous = record.status.conditions if record.status is not None else ()
    answer = found.answer
    status: JsonObject = {
        "conditions": rendered([readiness(answer)], by_kind(previous), now),
        "observedGeneration": record.metadata.generation or 0,
        "lastHeartbeat": moment(heartbeat),
        "apiVersions": list(api_versions(found)),
    }
    if isinstance(answer, Dialect):
        status["dialect"] = answer.name
    return {
        "apiVersion": record.API_VERSION,
        "kind": record.KIND,
        "metadata": {"name": record.metadata.name},
        "status": status,
    }


def readiness(answer: Dialect | Absent) -> Said:
    """The Ready condition."""
    if isinstance(answer, Absent):
        message = f"missing: {answer.missing}; {answer.remedy}"
        return Said(names.CONDITION_READY, holds=False, reason=REASON_MISSING, message=message)
    message = f"speaks {answer.name}"
    if answer.warning:
        message = f"{message}; {answer.warning}"
    return Said(names.CONDITION_READY, holds=True, reason=REASON_FOUND, message=message)


def api_versions(found: Found) -> tuple[str, ...]:
    """The versions of the scheduler's API that are served."""
    return tuple(sorted({f"{group}/{version}" for group, version, _ in found.served.resources}))
