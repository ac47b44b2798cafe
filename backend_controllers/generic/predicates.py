"""Which changes add a key to a queue, as pure functions of the old and the new object.

The gang controller depends on what a translation is computed from, and on drift of the objects
that we wrote; never on a status. The status controller depends on what a status reports.
Some functions look into the caches; none changes anything. Projections have only the fields that
are read, so an update that leaves the projection as it was adds no key.
"""

from typing import TypeAlias

import msgspec

from backend_controllers.contract.declaration import Dialect, Reads, Writes
from backend_controllers.generic.caches import BackendCaches, WrittenObject
from backend_controllers.generic.endings import ending_changed
from backend_controllers.generic.gang_results import GangResults
from backend_controllers.generic.kinds import GANGS
from backend_controllers.generic.reports import OUR_CONDITIONS
from shared_api import names
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.container_causes import container_failure
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGangStatus
from shared_api.kube.pods import Pod
from shared_api.models import SchedulerBackend, SchedulerBackendStatus
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.owners import controller_of, owner_in
from shared_api.runtime.watching.predicates import Predicate, Watched, more_than_status

GangPredicate: TypeAlias = Predicate[ObservedPodGang]

_NO_STATUS = ObservedPodGangStatus()
_SCHEDULING = frozenset({"PodScheduled", "PodBound"})


def gang_needs_translation(
    dialect: Dialect, caches: BackendCaches, results: GangResults
) -> GangPredicate:
    """A gang changed in something that its translation may be computed from."""

    def needs(old: ObservedPodGang | None, new: ObservedPodGang | None) -> bool:
        if ending_changed(old, new):
            return True
        if not more_than_status(old, new):
            return False
        if old is None or new is None or dialect.heeds_gated_pods:
            return True
        result = results.get(new.metadata.uid)
        return not (
            result is not None
            # A result of an earlier generation: the gang is queued or in work.
            and result.generation == old.metadata.generation
            and result.covers(new)
            and all(pod.is_gated for pod in caches.pods_of(new))
        )

    return needs


def gang_is_recounted(caches: BackendCaches) -> GangPredicate:
    """A gang with bound pods refers to other pods, or needs another number of them."""

    def is_recounted(old: ObservedPodGang | None, new: ObservedPodGang | None) -> bool:
        if old is None or new is None or old.metadata.generation == new.metadata.generation:
            return False
        return old.spec.podgroups != new.spec.podgroups and any(
            pod.is_bound for pod in caches.pods_of(new)
        )

    return is_recounted


def drifted(manager: str) -> Predicate[WrittenObject]:
    """An object of ours was deleted, is being deleted, or is not as this manager applied it."""

    def has_drifted(old: WrittenObject | None, new: WrittenObject | None) -> bool:
        if old is None:
            # Most often the object that we have just created.
            return False
        if new is None:
            return True
        # Most changes are status updates by the scheduler: no drift, and cheap to recognize.
        return more_than_status(old, new) and (
            old.fingerprint(manager) != new.fingerprint(manager)
            or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
            or controller_of(old) != controller_of(new)
        )

    return has_drifted


def content_differs(old: Watched | None, new: Watched | None) -> bool:
    """A projection has other content than before, or was created or deleted."""
    if old is None or new is None:
        return True
    return _content(old) != _content(new)


def read_differs(reads: Reads) -> Predicate[Watched]:
    """A projection has other content than before, or was created or deleted."""
    part = reads.part
    if part is None:
        return content_differs

    def differs(old: Watched | None, new: Watched | None) -> bool:
        return old is None or new is None or part(old) != part(new)

    return differs


def node_differs(old: ListedNode | None, new: ListedNode | None) -> bool:
    """A node has other capacity, labels or taints, or was created or deleted."""
    if old is None or new is None:
        return True
    return (old.metadata.labels, old.spec, old.status) != (
        new.metadata.labels,
        new.spec,
        new.status,
    )


def reports_differ(writes: Writes) -> Predicate[WrittenObject]:
    """An object of ours shows something else of what `mirror` reads, or is gone."""
    part = writes.mirrored_part

    def differs(old: WrittenObject | None, new: WrittenObject | None) -> bool:
        if new is None:
            return True
        if old is None:
            # An object that we have just created reports nothing. One that does had lost our
            # label, and was changed by others until it had the label again.
            read = part or _fields
            return read(new.object) != read(type(new.object)())
        if part is None:
            return content_differs(old, new)
        return part(old.object) != part(new.object)

    return differs


def status_differs(old: ObservedPodGang | None, new: ObservedPodGang | None) -> bool:
    """The part of a gang's status that a backend writes was removed or changed."""
    return old is not None and new is not None and _by_backend(old) != _by_backend(new)


def source_status_differs(old: Watched | None, new: Watched | None) -> bool:
    """The status of a source was removed or changed."""
    return old is not None and new is not None and _status(old) != _status(new)


def readiness_differs(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """The part of a record's status that a backend writes was removed or changed."""
    return old is not None and new is not None and _ready(old.object) != _ready(new.object)


def pod_changes_status(old: Pod | None, new: Pod | None) -> bool:
    """A pod changed in something that the status of its gang is computed from."""
    if old is None or new is None:
        # A pod that was just created is not counted, and its scheduler has not judged it yet.
        return old is not None or (new is not None and new.is_bound)
    return (
        old.spec.node_name != new.spec.node_name
        or old.metadata.is_terminating != new.metadata.is_terminating
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations != new.metadata.annotations
        or (old.status is not new.status and _reported(old) != _reported(new))
    )


def pod_freed_or_lost(old: Pod | None, new: Pod | None) -> bool:
    """A pod was created or ungated, is bound, has ended, or is being deleted."""
    if old is None or new is None:
        return True
    return (
        old.spec.scheduling_gates != new.spec.scheduling_gates
        or old.spec.node_name != new.spec.node_name
        or old.metadata.is_terminating != new.metadata.is_terminating
        or old.status.phase != new.status.phase
    )


def is_gone(old: object, new: object) -> bool:
    """An object was deleted."""
    del old
    return new is None


def has_no_gang(caches: BackendCaches, value: Watched) -> bool:
    """Tell whether the controller of an object is not among our gangs."""
    return controller_of(value) is not None and owner_in(caches.gangs, GANGS, value) is None


def created_without_gang(caches: BackendCaches) -> Predicate[WrittenObject]:
    """An object appeared whose gang is not ours."""
    return lambda old, new: old is None and new is not None and has_no_gang(caches, new)


def _status(source: Watched) -> object:
    return getattr(source, "status", None)


def _by_backend(gang: ObservedPodGang) -> object:
    status = gang.status or _NO_STATUS
    ours = [condition for condition in status.conditions if condition.type in OUR_CONDITIONS]
    return (
        ours,
        status.phase,
        status.placement_score,
        status.observed_generation,
        status.pod_preparations,
    )


def _ready(record: SchedulerBackend) -> object:
    status = record.status or SchedulerBackendStatus()
    ready = [found for found in status.conditions if found.type == names.CONDITION_READY]
    return status.model_copy(update={"conditions": ready})


def _reported(pod: Pod) -> object:
    """Readiness, end, the container that fails, and why a pod is not scheduled or is disrupted."""
    problems = [
        condition
        for condition in pod.status.conditions
        if condition.type == "DisruptionTarget"
        or (
            condition.type in _SCHEDULING
            and condition.status != "True"
            and condition.reason != "SchedulingGated"
        )
    ]
    is_ready = pod.is_ready
    failure = container_failure(pod) if pod.is_bound and not is_ready else ""
    return is_ready, pod.has_ended, failure, problems


def _content(value: Watched) -> object:
    metadata = value.metadata
    return (
        metadata.uid,
        metadata.labels,
        metadata.annotations,
        metadata.deletion_timestamp,
        _fields(value),
    )


def _fields(value: Watched) -> object:
    inner = value.object if isinstance(value, Applied) else value
    if not isinstance(inner, msgspec.Struct):
        return inner
    return [getattr(inner, name) for name in inner.__struct_fields__ if name != "metadata"]
