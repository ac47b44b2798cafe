"""Predicates of workloads that end.

Only sets with jobs pass them, so a set that serves costs no reconcile here. The records that one
controller writes into the statuses of sets and scaling groups are what the others act on.
"""

from core_operator.plan.jobs.modes import has_jobs
from core_operator.plan.jobs.runs import outcome_of
from core_operator.state.view import View
from core_operator.watches.keys import set_of
from core_operator.watches.predicates import deleted_or_changed
from shared_api import names
from shared_api.models import PodClique, PodCliqueScalingGroup, PodCliqueSet
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.predicates import Watched, more_than_status


class JobPredicates:
    """The predicates that look up the set of an object."""

    def __init__(self, view: View) -> None:
        self._sets = view.caches.sets

    def group_changed(
        self,
        old: Applied[PodCliqueScalingGroup] | None,
        new: Applied[PodCliqueScalingGroup] | None,
    ) -> bool:
        """A scaling group of a set with jobs is gone, or more than its status changed."""
        return deleted_or_changed(old, new) and self._has_jobs(new or old)

    def _has_jobs(self, value: Watched | None) -> bool:
        found = (self._sets.get(key) for key in set_of(value)) if value is not None else ()
        return any(pcs is not None and has_jobs(pcs.object) for pcs in found)


def job_set_changed(old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None) -> bool:
    """A set with jobs appeared, or more than its status changed."""
    return new is not None and more_than_status(old, new) and has_jobs(new.object)


def generation_hash_changed(
    old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None
) -> bool:
    """The hash of the templates that a set with jobs started with was recorded."""
    return new is not None and _hash(old) != _hash(new) and has_jobs(new.object)


def set_record_changed(
    old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None
) -> bool:
    """A replica of a set was restarted or has ended."""
    return old is not None and new is not None and _of_set(old) != _of_set(new)


def group_record_changed(
    old: Applied[PodCliqueScalingGroup] | None, new: Applied[PodCliqueScalingGroup] | None
) -> bool:
    """A replica of a scaling group was restarted or has ended."""
    return old is not None and new is not None and _of_group(old) != _of_group(new)


def clique_reported(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique of a set with jobs was scheduled, has ended, or reports another attempt."""
    return new is not None and _of_clique(old) != _of_clique(new)


def _hash(pcs: Applied[PodCliqueSet] | None) -> str | None:
    status = pcs.object.status if pcs is not None else None
    return status.current_generation_hash if status is not None else None


def _of_set(pcs: Applied[PodCliqueSet]) -> object:
    status = pcs.object.status
    if status is None:
        return None
    outcome = outcome_of(status.conditions)
    return outcome, status.completed_indexes, status.replica_restart_counts


def _of_group(group: Applied[PodCliqueScalingGroup]) -> object:
    status = group.object.status
    if status is None:
        return None
    record = (status.attempt, status.completed_indexes, status.replica_restart_counts)
    return outcome_of(status.conditions), record


def _of_clique(clique: Applied[PodClique] | None) -> object:
    status = clique.object.status if clique is not None else None
    if status is None or status.attempt is None:
        return None
    scheduled = any(
        one.type == names.CONDITION_PODCLIQUE_SCHEDULED and one.status == "True"
        for one in status.conditions
    )
    return status.attempt, scheduled, outcome_of(status.conditions)
