"""What wakes whom while a set is updated or counts down.

Outside of an update none of this wakes anybody: that a pod became ready matters to the next
step of an update, and a set that starts has thousands of such events. So pods are passed on
only for sets whose record says that an update goes on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from core_operator.plan.statuses.conditions import find
from core_operator.plan.statuses.scaling_group import clique_blocked
from core_operator.state.caches import CLIQUES, GROUPS, OWNER, SETS
from core_operator.state.view import View
from core_operator.watches import predicates as wakes
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueSet
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.event_handlers import (
    feed,
    feed_overwritten,
    its_controller,
    its_label,
    itself,
)
from shared_api.runtime.watching.owners import identity
from shared_api.runtime.watching.predicates import Watched, more_than_status

W = TypeVar("W", bound=Watched)
Differs: TypeAlias = Callable[[W | None, W | None], bool]

_COUNTDOWN = (
    names.CONDITION_GANG_TERMINATION_PENDING,
    names.CONDITION_GANG_TERMINATION_IN_PROGRESS,
)


@dataclass(frozen=True, slots=True)
class Queues:
    """The controllers that take part."""

    sets: Queue[ObjectKey]
    groups: Queue[ObjectKey]
    cliques: Queue[ObjectKey]
    lifecycle: Queue[ObjectKey]
    set_statuses: Queue[ObjectKey]
    clique_statuses: Queue[ObjectKey]
    group_statuses: Queue[ObjectKey]


def feed_lifecycle(view: View, queues: Queues, delay: float) -> None:
    """Have all of them told; statuses after a delay."""
    caches = view.caches
    feed(queues.lifecycle, caches.sets, itself, when=more_than_status)
    feed_overwritten(queues.lifecycle, caches.sets, wakes.status_differs)
    feed(queues.lifecycle, caches.cliques, wakes.its_set, when=countdown_differs)
    # With OnDelete no update goes on, and yet its counts follow what the user deletes.
    feed(queues.lifecycle, caches.cliques, wakes.its_set, when=counts_differ, delay=delay)
    feed(queues.lifecycle, caches.cliques, wakes.its_set, when=_during(view, wakes.needs_mending))
    told: Differs[Applied[PodClique]] = _during(view, waits_otherwise)
    feed(queues.lifecycle, caches.cliques, wakes.its_set, when=told, delay=delay)

    during: Differs[Pod] = _during(view, step_is_done)
    step: Differs[Pod] = _once(during)
    its_group, its_clique = its_label(names.LABEL_PCSG), its_controller(CLIQUES)
    feed(queues.lifecycle, caches.pods, wakes.its_set, when=step)
    feed(queues.groups, caches.pods, its_group, when=step)
    feed(queues.group_statuses, caches.pods, its_group, when=step, delay=delay)
    feed(queues.cliques, caches.pods, its_clique, when=step)
    # A copy may be replaced when the others serve: news for all PodCliques of its group.
    feed(queues.cliques, caches.pods, partial(_siblings, view), when=step)

    groups, cliques = partial(_groups, view), partial(_cliques, view)
    feed(queues.sets, caches.sets, itself, when=record_differs)
    feed(queues.groups, caches.sets, groups, when=record_differs)
    feed(queues.group_statuses, caches.sets, groups, when=record_differs, delay=delay)
    feed(queues.cliques, caches.sets, cliques, when=record_differs)
    feed(queues.clique_statuses, caches.sets, cliques, when=record_differs, delay=delay)
    feed(queues.set_statuses, caches.sets, itself, when=told_differs, delay=delay)


def record_differs(old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None) -> bool:
    """The turn has passed on, or an update began or ended."""
    return new is not None and _record(old) != _record(new)


def told_differs(old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None) -> bool:
    """What is told of an update is not what it was."""
    return old is not None and new is not None and _told(old) != _told(new)


def countdown_differs(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique counts down, does so no more, or has recovered."""
    before, after = _counts(old), _counts(new)
    return before != after and any(kind in of for of in (before, after) for kind in _COUNTDOWN)


def counts_differ(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique that has been updated once has other numbers than before."""
    if old is None or new is None or old.object.status is None or new.object.status is None:
        return False
    before, after = old.object.status, new.object.status
    return after.update_progress is not None and (
        (before.updated_replicas, before.ready_replicas)
        != (after.updated_replicas, after.ready_replicas)
    )


def waits_otherwise(old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> bool:
    """A PodClique waits for something else than before, as it says."""
    return old is not None and new is not None and _blocked(old) != _blocked(new)


def step_is_done(old: Pod | None, new: Pod | None) -> bool:
    """A pod came, went, got a node, became ready, or is so no more."""
    return wakes.pod_settled(old, new) or wakes.pod_moved_on(old, new)


def _during(view: View, differs: Differs[W]) -> Differs[W]:
    """The same, as long as the set that an object belongs to is being updated."""

    def of(old: W | None, new: W | None) -> bool:
        value = old if new is None else new
        goes_on = value is not None and any(
            _record(view.caches.sets.get(key)) for key in wakes.its_set(value)
        )
        return goes_on and differs(old, new)

    return of


def _once(differs: Differs[W]) -> Differs[W]:
    """The same, asked by several about one change in a row, and worked out for the first."""
    asked: tuple[W | None, W | None] = (None, None)
    answer = False

    def of(old: W | None, new: W | None) -> bool:
        nonlocal asked, answer
        if asked[0] is not old or asked[1] is not new:
            answer = differs(old, new)
            asked = (old, new)
        return answer

    return of


def _groups(view: View, pcs: Watched) -> Iterable[ObjectKey]:
    return map(key_of, view.caches.groups.by_index(OWNER, identity(SETS, pcs)))


def _cliques(view: View, pcs: Applied[PodCliqueSet]) -> Iterable[ObjectKey]:
    """The PodCliques of the replica whose turn it is, or was."""
    status = pcs.object.status
    record = status.update_progress if status is not None else None
    turns = {str(one.replica_index) for one in record.currently_updating} if record else set()
    groups = view.caches.groups.by_index(OWNER, identity(SETS, pcs))
    for owner in (identity(SETS, pcs), *(identity(GROUPS, group) for group in groups)):
        for clique in view.caches.cliques.by_index(OWNER, owner):
            if clique.metadata.labels.get(names.LABEL_PCS_REPLICA_INDEX) in turns:
                yield key_of(clique)


def _siblings(view: View, pod: Watched) -> Iterable[ObjectKey]:
    for key in its_label(names.LABEL_PCSG)(pod):
        group = view.caches.groups.get(key)
        if group is not None:
            yield from map(key_of, view.caches.cliques.by_index(OWNER, identity(GROUPS, group)))


def _record(pcs: Applied[PodCliqueSet] | None) -> object:
    status = pcs.object.status if pcs is not None else None
    if status is None or status.update_progress is None:
        return None
    record = status.update_progress
    if record.update_ended_at is not None:
        return None
    turns = tuple(one.replica_index for one in record.currently_updating)
    return status.current_generation_hash, record.update_started_at, turns


def _told(pcs: Applied[PodCliqueSet]) -> object:
    conditions = pcs.object.status.conditions if pcs.object.status is not None else ()
    found = find(conditions, names.CONDITION_UPDATING)
    return None if found is None else found.message


def _counts(clique: Applied[PodClique] | None) -> dict[str, object]:
    status = clique.object.status if clique is not None else None
    conditions = status.conditions if status is not None else ()
    kinds = (*_COUNTDOWN, names.CONDITION_MIN_AVAILABLE_BREACHED)
    return {
        found.type: (found.status, found.message) for found in conditions if found.type in kinds
    }


def _blocked(clique: Applied[PodClique]) -> object:
    found = clique_blocked(clique.object)
    return None if found is None else found.message
