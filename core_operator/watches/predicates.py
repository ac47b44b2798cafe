"""Which changes wake which controller, as pure functions of the old and the new value.

A child that appears is usually one that we have just made, and its owner need not look; one
that goes or is changed by somebody must be mended. Of a pod each controller is told what it
acts on, and no more: a pod changes a dozen times before it is ready.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from core_operator.plan.autoscalers import Autoscaler
from core_operator.plan.pods import is_bound, is_live
from core_operator.plan.preparation import incarnation_of
from core_operator.plan.startup_order import awaited_by
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import (
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
    PodGangStatus,
    SchedulerBackend,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.predicates import Watched, more_than_status

S = TypeVar("S", PodCliqueSet, PodClique, PodCliqueScalingGroup)

_SAID_BY_CORE = frozenset(
    {
        names.CONDITION_BACKEND_SELECTED,
        names.CONDITION_INITIALIZED,
        names.CONDITION_RELEASED,
    }
)
_NO_STATUS = PodGangStatus()


def needs_mending(old: Watched | None, new: Watched | None) -> bool:
    """A child was removed, or is not what it was."""
    if old is None:
        return False
    return new is None or more_than_status(old, new)


def is_gone(old: Watched | None, new: Watched | None) -> bool:
    """A child was removed."""
    return old is not None and new is None


def is_new(old: Watched | None, new: Watched | None) -> bool:
    """An object appeared."""
    return old is None and new is not None


def pod_ended_or_bent(old: Pod | None, new: Pod | None) -> bool:
    """What makes a PodClique create or delete pods."""
    if old is None or new is None:
        return old is not None
    return (
        is_live(old) != is_live(new)
        or _differ(old.metadata.labels, new.metadata.labels)
        or old.metadata.owner_references != new.metadata.owner_references
    )


def pod_moved_on(old: Pod | None, new: Pod | None) -> bool:
    """What brings a gang further, or throws it back."""
    if old is None or new is None:
        return True
    return (
        pod_was_bent(old, new)
        or old.spec.node_name != new.spec.node_name
        or old.spec.scheduling_gates != new.spec.scheduling_gates
    )


def pod_was_bent(old: Pod, new: Pod) -> bool:
    """A pod ended, is going away, has another owner, or is marked by us otherwise than before."""
    return (
        is_live(old) != is_live(new)
        or old.metadata.owner_references != new.metadata.owner_references
        or _differ(old.metadata.labels, new.metadata.labels)
        or _differ(old.metadata.annotations, new.metadata.annotations)
    )


def pod_settled(old: Pod | None, new: Pod | None) -> bool:
    """A pod became ready, or was and is not any more: news that people wait for."""
    was = old is not None and is_live(old) and old.is_ready
    is_now = new is not None and is_live(new) and new.is_ready
    return was != is_now


def pod_counts_for_more(old: Pod | None, new: Pod | None) -> bool:
    """A pod got a node or became ready, so that another may not be needed any more."""
    if new is None:
        return False
    return pod_settled(old, new) or (is_bound(new) and (old is None or not is_bound(old)))


def order_may_advance(old: Pod | None, new: Pod | None) -> bool:
    """A pod became ready, which others may wait for; or has a node, and waits for others."""
    if new is None:
        return False
    got_node = is_bound(new) and (old is None or not is_bound(old))
    return pod_settled(old, new) or (got_node and bool(awaited_by(new)))


def autoscaler_bent(old: Applied[Autoscaler] | None, new: Applied[Autoscaler] | None) -> bool:
    """An autoscaler went, or is not what core applied; its kind has no generation to tell by."""
    if old is None or new is None:
        return old is not None
    return _as_applied(old) != _as_applied(new)


def _as_applied(autoscaler: Applied[Autoscaler]) -> object:
    return autoscaler.metadata.uid, autoscaler.fingerprint(names.FIELD_MANAGER_CORE)


def pods_can_be_made(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """A gang says something about its pods that it did not say before."""
    return new is not None and (old is None or _of_pods(old.object) != _of_pods(new.object))


def gang_moved_on(old: Applied[PodGang], new: Applied[PodGang] | None) -> bool:
    """What brings a gang further, or throws it back; not what its reconciler did itself.

    That adds references and sets its own conditions. References that are removed are news; for
    conditions that are see `core_status_differs`.
    """
    if new is None:
        return True
    before, after = old.object, new.object
    if _standing(old) != _standing(new) or _told_by_backend(before) != _told_by_backend(after):
        return True
    if _released(before) != _released(after):
        return True
    return old.metadata.generation != new.metadata.generation and not _has_grown(before, after)


def says_released(gang: Applied[PodGang]) -> bool:
    """Tell whether a gang says whether its pods are held."""
    return _released(gang.object) is not None


def status_differs(old: Applied[S] | None, new: Applied[S] | None) -> bool:
    """The status was removed or changed."""
    return old is not None and new is not None and old.object.status != new.object.status


def core_status_differs(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """What core writes into the status of a gang was removed or changed."""
    return old is not None and new is not None and _by_core(old.object) != _by_core(new.object)


def gang_says_more(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """A gang has other conditions than before, or came or went."""
    return old is None or new is None or _conditions(old.object) != _conditions(new.object)


def _differ(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Tell whether marks of ours differ.

    Others leave theirs on every pod that gets a node: the server its zone, schedulers theirs.
    """
    # What did not change is most often one and the same in both, and comparing it takes longer.
    return old is not new and old != new and _ours(old) != _ours(new)


def _ours(marks: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value
        for key, value in marks.items()
        if key.startswith(names.RESERVED_PREFIX)
        or key in (names.LABEL_MANAGED_BY, names.LABEL_PART_OF)
    }


def _standing(value: Watched) -> object:
    metadata = value.metadata
    is_going = metadata.deletion_timestamp is not None
    return metadata.uid, is_going, metadata.labels, metadata.annotations, metadata.owner_references


def _told_by_backend(gang: PodGang) -> object:
    said = (_status(gang, kind) for kind in (names.CONDITION_ACCEPTED, names.CONDITION_PROGRAMMED))
    return *said, gang.status.pod_preparations if gang.status is not None else ()


def _released(gang: PodGang) -> str | None:
    # Also our own word: the gang that this one waits for may have been placed meanwhile, and
    # wakes only those that the cache shows to be waiting.
    return _status(gang, names.CONDITION_RELEASED)


def _has_grown(before: PodGang, after: PodGang) -> bool:
    """Tell whether a gang has got references and is otherwise what it was."""
    old, new = before.spec, after.spec
    if old.model_copy(update={"podgroups": new.podgroups}) != new:
        return False
    if len(old.podgroups) != len(new.podgroups):
        return False
    return all(
        group.model_copy(update={"pod_references": grown.pod_references}) == grown
        and {one.name for one in group.pod_references} <= {one.name for one in grown.pod_references}
        for group, grown in zip(old.podgroups, new.podgroups, strict=True)
    )


def _status(gang: PodGang, kind: str) -> str | None:
    conditions = gang.status.conditions if gang.status is not None else ()
    return next((found.status for found in conditions if found.type == kind), None)


def _by_core(gang: PodGang) -> object:
    status = gang.status or _NO_STATUS
    said = [found for found in status.conditions if found.type in _SAID_BY_CORE]
    return said, status.incarnation, status.placed_incarnation


def _conditions(gang: PodGang) -> object:
    return gang.status.conditions if gang.status is not None else ()


def _of_pods(gang: PodGang) -> object:
    preparations = gang.status.pod_preparations if gang.status is not None else ()
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
    return gang.metadata.uid, backend, preparations, incarnation_of(gang)


def backend_differs(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """A backend came, went, can do other things or is no longer (un)available."""
    if old is None or new is None:
        return True
    return (old.metadata.uid, old.metadata.generation, _available(old.object)) != (
        new.metadata.uid,
        new.metadata.generation,
        _available(new.object),
    )


def readiness_differs(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """A backend's record says something that its liveness follows from."""
    if old is None or new is None:
        return True
    # Its own condition, too: one that somebody else wrote is put right.
    return (
        more_than_status(old, new)
        or _ready(old.object) != _ready(new.object)
        or _available(old.object) != _available(new.object)
    )


def availability_differs(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """What core writes into the status of a backend's record was removed or changed."""
    return old is not None and new is not None and _available(old.object) != _available(new.object)


def _available(record: SchedulerBackend) -> object:
    return _said(record, names.CONDITION_AVAILABLE)


def _ready(record: SchedulerBackend) -> object:
    return _said(record, names.CONDITION_READY)


def _said(record: SchedulerBackend, kind: str) -> object:
    conditions = record.status.conditions if record.status is not None else ()
    return next(((found.status, found.message) for found in conditions if found.type == kind), None)


def its_set(value: Watched) -> Iterable[ObjectKey]:
    """The set that an object says it is part of."""
    if name := value.metadata.labels.get(names.LABEL_PART_OF):
        yield ObjectKey(value.metadata.namespace or "", name)


def its_cliques(gang: Applied[PodGang]) -> Iterable[ObjectKey]:
    """The PodCliques of a gang's groups."""
    for group in gang.object.spec.podgroups:
        yield ObjectKey(gang.metadata.namespace or "", group.name)
