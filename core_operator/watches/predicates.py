"""Predicates: which change of an object a controller must reconcile for.

They are functions of the old and the new version without side effects
(`tests/source/test_predicates.py`); some look up other objects in the view. A child that appears is
usually one that we have just created, so its owner need not reconcile; a child that is deleted or
changed must be restored. A pod changes a dozen times before it is ready, so each controller gets
only the pod changes that it acts on. Predicates of PodGangs are in `gang_predicates`, those of
updates in `update_predicates`.
"""

from collections.abc import Mapping
from typing import TypeVar

from core_operator.plan.manifests.autoscalers import Autoscaler
from core_operator.plan.manifests.claims import ClaimTemplate, grant
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.container_causes import awaited_cliques
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueScalingGroup, PodCliqueSet, SchedulerBackend
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.predicates import Predicate, Watched, more_than_status

S = TypeVar("S", PodCliqueSet, PodClique, PodCliqueScalingGroup)

# In a PodClique up to this size, the ready pods are counted to find the one that matters.
_SMALL = 64


def is_created(old: Watched | None, new: Watched | None) -> bool:
    """An object appeared."""
    return old is None and new is not None


def is_deleted(old: Watched | None, new: Watched | None) -> bool:
    """An object is gone."""
    return old is not None and new is None


def deletion_began(old: Watched | None, new: Watched | None) -> bool:
    """An object is being deleted, and stays until others are gone."""
    if old is None or new is None:
        return False
    return old.metadata.deletion_timestamp is None and new.metadata.deletion_timestamp is not None


def deleted_or_changed(old: Watched | None, new: Watched | None) -> bool:
    """A child is gone, or more than its status changed."""
    if old is None:
        return False
    return new is None or more_than_status(old, new)


def left_zero(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique was scaled up from zero, so its gang may have to be created."""
    return (
        old is not None
        and new is not None
        and old.object.spec.replicas == 0 < new.object.spec.replicas
    )


def status_changed(old: Applied[S] | None, new: Applied[S] | None) -> bool:
    """The status was removed or changed."""
    return old is not None and new is not None and old.object.status != new.object.status


def pod_ended_or_drifted(old: Pod | None, new: Pod | None) -> bool:
    """A PodClique may have to create or delete pods, or restore labels."""
    if old is None or new is None:
        return old is not None
    return (
        old.is_live != new.is_live
        or marks_changed(old.metadata.labels, new.metadata.labels)
        or old.metadata.owner_references != new.metadata.owner_references
    )


def pod_progressed(old: Pod | None, new: Pod | None) -> bool:
    """A pod appeared, is gone, drifted, or has another node or other gates."""
    if old is None or new is None:
        return True
    return (
        pod_drifted(old, new)
        or old.spec.node_name != new.spec.node_name
        or old.spec.scheduling_gates != new.spec.scheduling_gates
    )


def pod_drifted(old: Pod, new: Pod) -> bool:
    """A pod ended, is being deleted, or has another owner or other marks of ours."""
    return (
        old.is_live != new.is_live
        or old.metadata.owner_references != new.metadata.owner_references
        or marks_changed(old.metadata.labels, new.metadata.labels)
        or marks_changed(old.metadata.annotations, new.metadata.annotations)
    )


def readiness_changed(old: Pod | None, new: Pod | None) -> bool:
    """A pod became ready, or stopped being ready."""
    was = old is not None and old.is_live and old.is_ready
    is_now = new is not None and new.is_live and new.is_ready
    return was != is_now


def pod_bound_or_ready(old: Pod | None, new: Pod | None) -> bool:
    """A pod was bound or its readiness changed, so a surplus pod may no longer be needed."""
    return new is not None and (readiness_changed(old, new) or _was_bound(old, new))


def terminated_pod_bound(view: View) -> Predicate[Pod]:
    """Return the predicate: a pod was bound whose PodClique was terminated, which ends that."""

    def matters(old: Pod | None, new: Pod | None) -> bool:
        if new is None or not _was_bound(old, new):
            return False
        clique = view.clique_of(new)
        status = clique.object.status if clique is not None else None
        conditions = status.conditions if status is not None else ()
        return any(
            found.type == names.CONDITION_GANG_TERMINATION_IN_PROGRESS for found in conditions
        )

    return matters


def startup_order_may_advance(old: Pod | None, new: Pod | None) -> bool:
    """A pod became ready, for which others may wait, or a waiting pod was bound."""
    if new is None:
        return False
    return (
        readiness_changed(old, new)
        or (_was_bound(old, new) and bool(awaited_cliques(new)))
        # A job that is done counts as ready.
        or (new.has_succeeded and (old is None or not old.has_succeeded))
    )


def readiness_matters(view: View) -> Predicate[Pod]:
    """Return the predicate: readiness changed in a way that users wait for.

    The pod that reaches minAvailable and the last pod matter. Those in between are progress, and
    are reported later.
    """

    def matters(old: Pod | None, new: Pod | None) -> bool:
        if not readiness_changed(old, new):
            return False
        clique = view.clique_of(new) if new is not None else None
        if new is None or clique is None or not (new.is_live and new.is_ready):
            return True
        pods = view.pods_of(clique.object)
        if len(pods) > _SMALL:
            return True
        spec = clique.object.spec
        ready = sum(pod.is_live and pod.is_ready for pod in pods)
        return ready in (spec.minimum, spec.replicas)

    return matters


def autoscaler_drifted(old: Applied[Autoscaler] | None, new: Applied[Autoscaler] | None) -> bool:
    """An autoscaler is gone, or differs from what core applied; its kind has no generation."""
    if old is None or new is None:
        return old is not None
    manager = names.FIELD_MANAGER_CORE
    return (old.metadata.uid, old.fingerprint(manager)) != (
        new.metadata.uid,
        new.fingerprint(manager),
    )


def rivals_changed(old: Applied[Autoscaler] | None, new: Applied[Autoscaler] | None) -> bool:
    """Other autoscalers of the same pods appeared or are gone."""
    return (old.object.rivals if old else ()) != (new.object.rivals if new else ())


def claim_drifted(old: Watched | None, new: Watched | None) -> bool:
    """A claim or ComputeDomain is gone, or has other labels, another owner or another spec."""
    if old is None or new is None:
        return old is not None
    before, after = old.metadata, new.metadata
    return (
        before.labels != after.labels
        or before.owner_references != after.owner_references
        or before.generation != after.generation
    )


def template_shared(old: ClaimTemplate | None, new: ClaimTemplate | None) -> bool:
    """A claim template appeared, or is shared with other namespaces than before."""
    return new is not None and (old is None or grant(old) != grant(new))


def backend_changed(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """A backend appeared, is gone, has another spec, other labels or another availability."""
    return old is None or new is None or _chosen_by(old) != _chosen_by(new)


def backend_readiness_changed(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """The availability of a backend may have changed, or its condition was overwritten."""
    if old is None or new is None:
        return True
    return (
        more_than_status(old, new)
        or _ready(old.object) != _ready(new.object)
        or _available(old.object) != _available(new.object)
    )


def availability_changed(
    old: Applied[SchedulerBackend] | None, new: Applied[SchedulerBackend] | None
) -> bool:
    """The condition that core writes into the record of a backend was removed or changed."""
    return old is not None and new is not None and _available(old.object) != _available(new.object)


def marks_changed(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Tell whether labels or annotations of ours differ.

    The API server and schedulers add theirs to every pod that is bound.
    """
    # Unchanged maps are mostly the same object; comparing identity first is cheaper.
    return old is not new and old != new and _ours(old) != _ours(new)


def _was_bound(old: Pod | None, new: Pod) -> bool:
    return new.is_bound and (old is None or not old.is_bound)


def _ours(marks: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value
        for key, value in marks.items()
        if key.startswith(names.RESERVED_PREFIX)
        or key in (names.LABEL_MANAGED_BY, names.LABEL_PART_OF)
    }


def _chosen_by(record: Applied[SchedulerBackend]) -> object:
    metadata = record.metadata
    # Placement policies select by labels, which have no part in the generation.
    return metadata.uid, metadata.generation, metadata.labels, _available(record.object)


def _available(record: SchedulerBackend) -> object:
    return _reported(record, names.CONDITION_AVAILABLE)


def _ready(record: SchedulerBackend) -> object:
    return _reported(record, names.CONDITION_READY)


def _reported(record: SchedulerBackend, kind: str) -> object:
    conditions = record.status.conditions if record.status is not None else ()
    return next(((found.status, found.message) for found in conditions if found.type == kind), None)
