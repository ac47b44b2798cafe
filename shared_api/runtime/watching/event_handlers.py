"""From changes in caches to keys in a queue.

A source names, for an object, the keys whose reconcile depends on it. Both the old and the
new value are asked, so that an object which moves from one owner to another wakes both.
What comes while a cache is still filling is not urgent: nobody has just asked for it.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.owners import controller_of
from shared_api.runtime.watching.predicates import Predicate, Watched, any_change, urgency

W = TypeVar("W", bound=Watched)
Keys: TypeAlias = Callable[[W], Iterable[ObjectKey]]
Urgency: TypeAlias = Callable[[W | None, W | None], Priority]


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


def feed(
    queue: Queue[ObjectKey],
    cache: Cache[W],
    keys: Keys[W],
    *,
    when: Predicate[W] = any_change,
    urgent: Urgency[W] = urgency,
    delay: float | Callable[[], float] = 0.0,
) -> None:
    """Have a queue told of the changes in a cache.

    With a delay, a burst of changes is one wake-up: the first change sets the time. It may
    depend on how things are at that moment, such as on how much else is queued.
    """

    def on_change(old: W | None, new: W | None) -> None:
        if not when(old, new):
            return
        priority = urgent(old, new) if cache.is_synced else Priority.RESYNC
        # One after the other, each once: most often both values name the same key.
        named = dict.fromkeys(keys(old) if old is not None else ())
        named |= dict.fromkeys(keys(new) if new is not None else ())
        for key in named:
            queue.add(key, priority=priority, delay=delay() if callable(delay) else delay)

    cache.subscribe(on_change)


def feed_overwritten(
    queue: Queue[ObjectKey],
    cache: Cache[W],
    differs: Predicate[W],
    *,
    priority: Priority = Priority.EVENT,
    delay: float = 0.0,
) -> None:
    """Wake the writer of a status when another process changes what it wrote.

    Its own writes, and all other status writes of this process, wake nobody.
    """

    def on_change(old: W | None, new: W | None) -> None:
        if new is not None and differs(old, new):
            queue.add(key_of(new), priority=priority, delay=delay)

    cache.subscribe(on_change, by_others=True)
