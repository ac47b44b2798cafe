"""What wakes the writers of statuses, and how soon.

What people wait for is told soon: that an object is ready, or is so no more, or was changed.
How far it has come is told late, since it is out of date before most would read it, and later
still the more there are to tell of. A set is told of whenever one of its parts is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from core_operator.plan.pods import is_live
from core_operator.settings import Timing
from core_operator.state.caches import CLIQUES, GROUPS, TOPOLOGY, Binding
from core_operator.state.view import View
from core_operator.watches import predicates as wakes
from core_operator.watches.debounce import OnTheWay, patience
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.event_handlers import (
    Keys,
    feed,
    feed_overwritten,
    its_controller,
    itself,
)
from shared_api.runtime.watching.predicates import Watched, more_than_status

W = TypeVar("W", bound=Watched)

_GROUP = its_controller(GROUPS)
_CLIQUE = its_controller(CLIQUES)

# Of a PodClique up to this size it is looked up which of its pods is the one that matters.
_SMALL = 64


@dataclass(frozen=True, slots=True)
class StatusQueues:
    """The writers of statuses."""

    cliques: Queue[ObjectKey]
    groups: Queue[ObjectKey]
    sets: Queue[ObjectKey]
    on_the_way: OnTheWay
    """PodCliques that will be told of in any case."""


def feed_statuses(view: View, queues: StatusQueues, timing: Timing) -> None:
    """Have all of them told."""
    _feed_cliques(view, queues, timing)
    caches, soon = view.caches, timing.status_delay_seconds

    queue = queues.groups
    feed(queue, caches.groups, itself, when=more_than_status, delay=soon)
    feed_overwritten(queue, caches.groups, wakes.status_differs, delay=soon)
    feed(queue, caches.cliques, _GROUP, delay=soon)

    def placed_by(binding: Binding) -> Iterable[ObjectKey]:
        return map(key_of, caches.sets.by_index(TOPOLOGY, binding.metadata.name))

    queue = queues.sets
    feed(queue, caches.sets, itself, when=more_than_status, delay=soon)
    feed_overwritten(queue, caches.sets, wakes.status_differs, delay=soon)
    feed(queue, caches.cliques, wakes.its_set, delay=soon)
    feed(queue, caches.groups, wakes.its_set, when=more_than_status, delay=soon)
    feed(queue, caches.gangs, wakes.its_set, when=wakes.gang_says_more, delay=soon)
    feed(queue, caches.bindings, placed_by, when=more_than_status, delay=soon)


def _feed_cliques(view: View, queues: StatusQueues, timing: Timing) -> None:
    caches, queue, soon = view.caches, queues.cliques, timing.status_delay_seconds

    def later() -> float:
        return patience(timing.progress_delay_seconds, len(queue))

    def progress(keys: Keys[W]) -> Keys[W]:
        return lambda value: (key for key in keys(value) if key not in queues.on_the_way)

    def is_awaited(old: Pod | None, new: Pod | None) -> bool:
        return wakes.pod_settled(old, new) and (new is None or decides(view, new))

    feed(queue, caches.cliques, itself, when=wakes.needs_mending, delay=soon)
    feed(queue, caches.cliques, itself, when=wakes.is_new, delay=later)
    feed_overwritten(queue, caches.cliques, wakes.status_differs, delay=soon)
    feed(queue, caches.pods, _CLIQUE, when=is_awaited, delay=soon)
    feed(queue, caches.pods, progress(_CLIQUE), delay=later)
    gangs = progress(wakes.its_cliques)
    feed(queue, caches.gangs, gangs, when=wakes.gang_says_more, delay=later)


def decides(view: View, pod: Pod) -> bool:
    """Tell whether a pod that became ready, or is so no more, changes what people wait for.

    The one with which the minimum is reached does, and the last one; those before are progress.
    """
    clique = view.clique_of(pod)
    if clique is None or not (is_live(pod) and pod.is_ready):
        return True
    pods = view.pods_of(clique.object)
    if len(pods) > _SMALL:
        return True
    spec = clique.object.spec
    ready = sum(is_live(one) and one.is_ready for one in pods)
    return ready in (spec.minimum, spec.replicas)
