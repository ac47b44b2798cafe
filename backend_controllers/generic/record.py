"""The SchedulerBackend record of a backend, from its declaration and the answer of discovery.

Capabilities are those that were found. A backend whose scheduler is not installed registers too:
its gangs then report what is missing, instead of an unknown backend.
"""

from datetime import datetime

from backend_controllers.contract.declaration import Absent, Backend, Dialect
from backend_controllers.generic.conditions import ReportedCondition, by_type, moment, rendered
from backend_controllers.generic.discovery import Found
from backend_controllers.settings import BackendInstance
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import (
    JsonObject,
    NamespacedName,
    NodeLocation,
    ObjectMeta,
    Price,
    ReleaseRules,
    SchedulerBackend,
    SchedulerBackendSpec,
)

REASON_FOUND = "SchedulerApiFound"
REASON_MISSING = names.REASON_SCHEDULER_API_MISSING


def record_manifest(
    backend: Backend,
    answer: Dialect | Absent,
    lease: ObjectKey | None,
    deployment: str = "",
    instance: BackendInstance | None = None,
) -> JsonObject:
    """The record, without its status. `deployment` is empty if it has the name of the Lease."""
    instance = instance or BackendInstance()
    spec = SchedulerBackendSpec(
        scheduler_names=backend.scheduler_names,
        capabilities=tuple(sorted(answer.capabilities)),
        preparation=answer.preparation,
        scheduling_gate=backend.scheduling_gate,
    )
    more: dict[str, object] = {}
    if backend.kind != backend.name:
        more["kind"] = backend.kind
    if backend.pod_keys is not None:
        more["pod_keys"] = backend.pod_keys
    release = (answer.release if isinstance(answer, Dialect) else None) or backend.release
    if release != ReleaseRules():
        # Omitted where it is the default: the server adds an empty one, which would then differ
        # from what was applied after every start.
        more["release"] = release
    if lease is not None:
        more["lease"] = NamespacedName(namespace=lease.namespace, name=lease.name)
        if deployment:
            more["deployment"] = NamespacedName(namespace=lease.namespace, name=deployment)
    known = instance.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if known.get("location"):
        more["location"] = NodeLocation.model_validate(known["location"])
    if known.get("price"):
        more["price"] = Price.model_validate(known["price"])
    metadata = ObjectMeta(name=backend.name)
    if instance.labels:
        metadata = ObjectMeta(name=backend.name, labels=instance.labels)
    record = SchedulerBackend(metadata=metadata, spec=spec.model_copy(update=more))
    return record.manifest()


def record_status(
    record: SchedulerBackend, found: Found, heartbeat: datetime, now: datetime
) -> JsonObject:
    """The status of the record."""
    previous = record.status.conditions if record.status is not None else ()
    answer = found.answer
    status: JsonObject = {
        "conditions": rendered([readiness(answer)], by_type(previous), now),
        "observedGeneration": record.metadata.generation or 0,
        "lastHeartbeat": moment(heartbeat),
        "apiVersions": list(api_versions(found)),
        # One text: `kubectl get` prints a list as JSON. The empty name has nothing to print.
        "schedulers": ",".join(name for name in record.spec.scheduler_names if name),
    }
    if isinstance(answer, Dialect):
        status["dialect"] = answer.name
    return {
        "apiVersion": record.API_VERSION,
        "kind": record.KIND,
        "metadata": {"name": record.metadata.name},
        "status": status,
    }


def readiness(answer: Dialect | Absent) -> ReportedCondition:
    """The Ready condition."""
    if isinstance(answer, Absent):
        message = f"missing: {answer.missing}; {answer.remedy}"
        return ReportedCondition(
            names.CONDITION_READY, holds=False, reason=REASON_MISSING, message=message
        )
    message = f"uses {answer.name}"
    if answer.warning:
        message = f"{message}; {answer.warning}"
    return ReportedCondition(
        names.CONDITION_READY, holds=True, reason=REASON_FOUND, message=message
    )


def api_versions(found: Found) -> tuple[str, ...]:
    """The versions of the scheduler's API that are served."""
    return tuple(sorted({f"{group}/{version}" for group, version, _ in found.served.resources}))
