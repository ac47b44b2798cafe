"""Event handlers: add keys to a queue when an object in a cache changes.

`Keys` functions name the keys whose reconcile depends on an object. Both the old and the new
value are asked, so an object that moves from one owner to another adds both owners. While a cache
receives its first list, every key has the lowest priority: no user waits for it.
Controllers use `Builder`, which keeps the table of these handlers.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.owners import controller_of
from shared_api.runtime.watching.predicates import Predicate, Watched, any_change, urgency

W = TypeVar("W", bound=Watched)
Keys: TypeAlias = Callable[[W], Iterable[ObjectKey]]
Urgency: TypeAlias = Callable[[W | None, W | None], Priority]
Delay: TypeAlias = float | Callable[[int], float]
"""Seconds, or a function of the number of keys in the queue; of several delays the shortest wins."""


def itself(value: Watched) -> Iterable[ObjectKey]:
    """The object's own key."""
    yield ObjectKey(value.metadata.namespace or "", value.metadata.name)


def its_controller(kind: Resource) -> Keys[Watched]:
    """The owner that manages the object, if it is of this kind."""

    def keys(value: Watched) -> Iterable[ObjectKey]:
        owner = controller_of(value)
        if owner is not None and (owner.kind, owner.group) == (kind.kind, kind.group):
            yield ObjectKey(owner.namespace, owner.name)

    return keys


def its_label(label: str) -> Keys[Watched]:
    """The object in the same namespace that a label names."""

    def keys(value: Watched) -> Iterable[ObjectKey]:
        if name := value.metadata.labels.get(label):
            yield ObjectKey(value.metadata.namespace or "", name)

    return keys


def enqueue_changes(
    queue: Queue[ObjectKey],
    cache: Cache[W],
    keys: Keys[W],
    *,
    when: Predicate[W] = any_change,
    priority: Priority | Urgency[W] = urgency,
    delay: Delay = 0.0,
) -> None:
    """Add keys to a queue when an object in a cache changes.

    With a delay, a burst of changes is one reconcile: the first change sets the time.
    """
    priority_of = priority if callable(priority) else lambda *_: priority

    def on_change(old: W | None, new: W | None) -> None:
        if not when(old, new):
            return
        urgent = priority_of(old, new) if cache.is_synced else Priority.RESYNC
        # One after the other, each once: most often both values name the same key.
        named = dict.fromkeys(keys(old) if old is not None else ())
        named |= dict.fromkeys(keys(new) if new is not None else ())
        for key in named:
            queue.add(key, priority=urgent, delay=_seconds(delay, queue))

    cache.subscribe(on_change)


def enqueue_overwritten(
    queue: Queue[ObjectKey],
    cache: Cache[W],
    differs: Predicate[W],
    *,
    priority: Priority = Priority.EVENT,
    delay: Delay = 0.0,
) -> None:
    """Add an object when another process changes the status that this process wrote.

    Status writes of this process never add a key.
    """

    def on_change(old: W | None, new: W | None) -> None:
        if new is not None and differs(old, new):
            queue.add(key_of(new), priority=priority, delay=_seconds(delay, queue))

    cache.subscribe(on_change, by_others=True)


def enqueue_unreadable(
    queue: Queue[ObjectKey], cache: Cache[Any], keys: Keys[Watched] = itself
) -> None:
    """Add keys when an object becomes unreadable, or becomes readable again."""

    def on_change(old: Unreadable | None, new: Unreadable | None) -> None:
        for value in (old, new):
            if value is not None and value.metadata.name:
                for key in keys(value):
                    queue.add(key)

    cache.subscribe_unreadable(on_change)


def _seconds(delay: Delay, queue: Queue[ObjectKey]) -> float:
    """Return a delay as it is now."""
    return delay(len(queue)) if callable(delay) else delay
