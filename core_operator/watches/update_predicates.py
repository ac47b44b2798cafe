"""Predicates of rolling updates and of the countdown to gang termination.

Readiness of a pod matters to the next step of an update. A set that starts has thousands of such
events, so pod changes count only while an update of their set is in progress.
"""

from core_operator.plan.statuses.conditions import find
from core_operator.plan.statuses.scaling_group import clique_blocker
from core_operator.state.view import View
from core_operator.watches import predicates
from core_operator.watches.keys import set_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueScalingGroup, PodCliqueSet
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.predicates import Watched

_COUNTDOWN = (
    names.CONDITION_GANG_TERMINATION_PENDING,
    names.CONDITION_GANG_TERMINATION_IN_PROGRESS,
)


class UpdatePredicates:
    """The predicates that hold only while the set of an object is being updated."""

    def __init__(self, view: View) -> None:
        self._sets = view.caches.sets

    def step_done(self, old: Pod | None, new: Pod | None) -> bool:
        """A pod appeared, is gone, was bound, or its readiness changed."""
        return self._is_updated(new or old) and (
            predicates.readiness_changed(old, new) or predicates.pod_progressed(old, new)
        )

    def clique_changed(
        self, old: Applied[PodClique] | None, new: Applied[PodClique] | None
    ) -> bool:
        """A PodClique is gone, or more than its status changed."""
        return predicates.deleted_or_changed(old, new) and self._is_updated(new or old)

    def blocker_changed(
        self, old: Applied[PodClique] | None, new: Applied[PodClique] | None
    ) -> bool:
        """A PodClique reports that it waits for something else than before."""
        if old is None or new is None or _blocker(old) == _blocker(new):
            return False
        return self._is_updated(new)

    def _is_updated(self, value: Watched | None) -> bool:
        return value is not None and any(_turn(self._sets.get(key)) for key in set_of(value))


def turn_changed(old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None) -> bool:
    """Another replica is being updated, or an update began or ended."""
    return new is not None and _turn(old) != _turn(new)


def templates_changed(old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None) -> bool:
    """The template of a set changed, so other pods may count as updated."""
    if old is None or new is None or old.metadata.generation == new.metadata.generation:
        return False
    return old.object.spec.template != new.object.spec.template


def update_message_changed(
    old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None
) -> bool:
    """The condition Updating has another message."""
    return old is not None and new is not None and _message(old) != _message(new)


def countdown_changed(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique began or ended its countdown to termination, or recovered."""
    before, after = _countdown(old), _countdown(new)
    return before != after and any(kind in of for of in (before, after) for kind in _COUNTDOWN)


def termination_ended(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique lost the condition that it was terminated."""
    kind = names.CONDITION_GANG_TERMINATION_IN_PROGRESS
    return new is not None and kind in _countdown(old) and kind not in _countdown(new)


def terminated_group_recovered(
    old: Applied[PodCliqueScalingGroup] | None, new: Applied[PodCliqueScalingGroup] | None
) -> bool:
    """A scaling group that was terminated reports another number of available replicas."""
    if old is None or new is None or old.object.status is None or new.object.status is None:
        return False
    before, after = old.object.status, new.object.status
    marked = find(after.conditions, names.CONDITION_GANG_TERMINATION_IN_PROGRESS) is not None
    return marked and before.available_replicas != after.available_replicas


def updated_replicas_changed(
    old: Applied[PodCliqueScalingGroup] | None, new: Applied[PodCliqueScalingGroup] | None
) -> bool:
    """A scaling group reports another number of updated replicas, which its set waits for."""
    return old is not None and new is not None and _updated(old) != _updated(new)


def update_counts_changed(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique that has been updated once reports other numbers than before."""
    if old is None or new is None or old.object.status is None or new.object.status is None:
        return False
    before, after = old.object.status, new.object.status
    return after.update_progress is not None and (
        (before.updated_replicas, before.ready_replicas)
        != (after.updated_replicas, after.ready_replicas)
    )


def _updated(group: Applied[PodCliqueScalingGroup]) -> int:
    status = group.object.status
    return status.updated_replicas if status is not None else 0


def _turn(pcs: Applied[PodCliqueSet] | None) -> object:
    status = pcs.object.status if pcs is not None else None
    if status is None or status.update_progress is None:
        return None
    progress = status.update_progress
    if progress.update_ended_at is not None:
        return None
    turns = tuple(one.replica_index for one in progress.currently_updating)
    return status.current_generation_hash, progress.update_started_at, turns


def _message(pcs: Applied[PodCliqueSet]) -> object:
    conditions = pcs.object.status.conditions if pcs.object.status is not None else ()
    found = find(conditions, names.CONDITION_UPDATING)
    return None if found is None else found.message


def _countdown(clique: Applied[PodClique] | None) -> dict[str, object]:
    status = clique.object.status if clique is not None else None
    conditions = status.conditions if status is not None else ()
    kinds = (*_COUNTDOWN, names.CONDITION_MIN_AVAILABLE_BREACHED)
    return {
        found.type: (found.status, found.message) for found in conditions if found.type in kinds
    }


def _blocker(clique: Applied[PodClique]) -> object:
    found = clique_blocker(clique.object)
    return None if found is None else found.message
