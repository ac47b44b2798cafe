"""Which changes wake which controller, as pure functions of the old and the new value.

Translating is woken by what a translation follows from, and by somebody bending what we
wrote; never by a status. Telling is woken by what people are told. Projections hold only what
is read, so an update that leaves the projection as it was is no news to anybody.
"""

from collections.abc import Callable

import msgspec

from backend_controllers.generic.caches import Kept
from backend_controllers.generic.reports import OUR_CONDITIONS
from shared_api import names
from shared_api.kube.podgangs import PodGang, PodGangStatus
from shared_api.kube.pods import Pod
from shared_api.models import SchedulerBackend, SchedulerBackendStatus
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.owners import controller_of
from shared_api.runtime.watching.predicates import Watched, more_than_status

_NO_STATUS = PodGangStatus()
_TOLD = ("PodScheduled", "PodBound", "Ready", "DisruptionTarget")


def bent(manager: str) -> Callable[[Kept | None, Kept | None], bool]:
    """Something of ours was removed, is being removed, or is not as this manager applied it."""

    def is_bent(old: Kept | None, new: Kept | None) -> bool:
        if old is None:
            # Most often the object that we have just made.
            return False
        if new is None:
            return True
        # What a scheduler says in the status is most of what happens, and bends nothing.
        return more_than_status(old, new) and (
            old.fingerprint(manager) != new.fingerprint(manager)
            or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
            or controller_of(old) != controller_of(new)
        )

    return is_bent


def shows_other(old: Watched | None, new: Watched | None) -> bool:
    """A projection has other content than before, or came or went."""
    if old is None or new is None:
        return True
    return _content(old) != _content(new)


def tells_other(
    tells: Callable[[Watched], object] | None,
) -> Callable[[Kept | None, Kept | None], bool]:
    """An object of ours shows something else of what is told, or is gone."""

    def differs(old: Kept | None, new: Kept | None) -> bool:
        if new is None:
            return True
        if old is None:
            # One that we have just made says nothing, and its gang is told of already. One that
            # says something had lost our label to somebody, and comes back as he left it.
            tell = _said if tells is None else tells
            return tell(new.object) != tell(type(new.object)())
        if tells is None:
            return shows_other(old, new)
        return tells(old.object) != tells(new.object)

    return differs


def status_differs(old: PodGang | None, new: PodGang | None) -> bool:
    """What a backend writes into the status of a gang was removed or changed."""
    return old is not None and new is not None and _by_backend(old) != _by_backend(new)


def readiness_differs(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """What a backend writes into the status of its record was removed or changed."""
    return old is not None and new is not None and _ready(old.object) != _ready(new.object)


def pod_moved_on(old: Pod | None, new: Pod | None) -> bool:
    """A pod is further than before, or thrown back, or the scheduler says something else of it."""
    if old is None or new is None:
        # A pod that was just made says nothing yet.
        return old is not None or (new is not None and bool(new.spec.node_name))
    if old.status is not new.status and _told(old) != _told(new):
        return True
    return (
        old.spec.node_name != new.spec.node_name
        or old.metadata.is_terminating != new.metadata.is_terminating
        or old.status.phase != new.status.phase
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations != new.metadata.annotations
    )


def pod_freed_or_lost(old: Pod | None, new: Pod | None) -> bool:
    """A pod came, was released, got a node, ended, or is going."""
    if old is None or new is None:
        return True
    return (
        old.spec.scheduling_gates != new.spec.scheduling_gates
        or old.spec.node_name != new.spec.node_name
        or old.metadata.is_terminating != new.metadata.is_terminating
        or old.status.phase != new.status.phase
    )


def _by_backend(gang: PodGang) -> object:
    status = gang.status or _NO_STATUS
    said = [condition for condition in status.conditions if condition.type in OUR_CONDITIONS]
    return (
        said,
        status.phase,
        status.placement_score,
        status.observed_generation,
        status.pod_preparations,
    )


def _ready(record: SchedulerBackend) -> object:
    status = record.status or SchedulerBackendStatus()
    said = [found for found in status.conditions if found.type == names.CONDITION_READY]
    return status.model_copy(update={"conditions": said})


def _told(pod: Pod) -> object:
    return [condition for condition in pod.status.conditions if condition.type in _TOLD]


def _content(value: Watched) -> object:
    metadata = value.metadata
    return (
        metadata.uid,
        metadata.labels,
        metadata.annotations,
        metadata.deletion_timestamp,
        _said(value),
    )


def _said(value: Watched) -> object:
    inner = value.object if isinstance(value, Applied) else value
    if not isinstance(inner, msgspec.Struct):
        return inner
    return [getattr(inner, name) for name in inner.__struct_fields__ if name != "metadata"]
