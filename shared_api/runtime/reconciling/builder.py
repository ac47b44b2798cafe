"""Builds a controller from a table: which change adds which key to its queue.

`Builder` reads like controller-runtime's: `for_` names the objects that are reconciled, `owns`
their children, `watches` other objects, `receives` events of this process. The rows stay on the
controller (`Controller.watches`), so "why was this key not reconciled?" has one answer. `build`
creates the pending writes first, then the Applier, the reconciler and the controller.
Predicates, keys and delays must be functions without state or side effects.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from shared_api.kube.client import Client
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.fence import Fence, Unfenced
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.reconciling.controller import (
    Controller,
    ControllerOptions,
    Reconciler,
    Watch,
)
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.event_handlers import (
    Delay,
    Keys,
    Urgency,
    enqueue_changes,
    enqueue_overwritten,
    enqueue_unreadable,
    its_controller,
    itself,
)
from shared_api.runtime.watching.predicates import Predicate, Watched, any_change, urgency

W = TypeVar("W", bound=Watched)
T = TypeVar("T")
R = TypeVar("R", bound=Reconciler)


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every controller of a process is built from."""

    client: Client
    telemetry: Telemetry
    field_manager: str
    fence: Fence = field(default_factory=Unfenced)
    clock: Clock = SYSTEM
    parallel_writes: int = 16


class Builder:
    """The table of one controller; nothing is subscribed before `build`."""

    def __init__(self, name: str, runtime: Runtime) -> None:
        self._name = name
        self._runtime = runtime
        self._options = ControllerOptions()
        self._exists: Callable[[ObjectKey], bool] | None = None
        self._rows: list[Watch] = []
        self._connections: list[Callable[[Queue[ObjectKey]], None]] = []

    def options(
        self,
        *,
        workers: int = 4,
        deadline: float = 30.0,
        exists: Callable[[ObjectKey], bool] | None = None,
    ) -> Self:
        """Set the number of workers, the seconds of one reconcile, and which keys still exist.

        Without `exists` a key exists while the cache of `for_` shows its object.
        """
        self._options = ControllerOptions(workers=workers, deadline=deadline)
        self._exists = exists or self._exists
        return self

    def for_(
        self,
        cache: Cache[W],
        *,
        when: Predicate[W] = any_change,
        priority: Priority | Urgency[W] = urgency,
        delay: Delay = 0.0,
    ) -> Self:
        """Reconcile the objects of this cache; the key is the object itself."""
        self._exists = self._exists or cache.knows
        return self._watch("for", cache, itself, when, priority, delay)

    def owns(
        self,
        cache: Cache[W],
        owner: Resource,
        *,
        when: Predicate[W] = any_change,
        priority: Priority | Urgency[W] = urgency,
        delay: Delay = 0.0,
    ) -> Self:
        """Reconcile the controller owner of an object, if it is of this kind."""
        return self._watch("owns", cache, its_controller(owner), when, priority, delay)

    def watches(
        self,
        cache: Cache[W],
        keys: Keys[W],
        *,
        when: Predicate[W] = any_change,
        priority: Priority | Urgency[W] = urgency,
        delay: Delay = 0.0,
    ) -> Self:
        """Reconcile the keys that depend on an object."""
        return self._watch("watches", cache, keys, when, priority, delay)

    def watches_overwritten(
        self,
        cache: Cache[W],
        differs: Predicate[W],
        *,
        priority: Priority = Priority.EVENT,
        delay: Delay = 0.0,
    ) -> Self:
        """Reconcile an object when another process changes the status that this one wrote."""
        return self._add(
            Watch("overwritten", cache.name, itself, differs, delay),
            lambda queue: enqueue_overwritten(
                queue, cache, differs, priority=priority, delay=delay
            ),
        )

    def watches_unreadable(self, cache: Cache[Any], keys: Keys[Watched] = itself) -> Self:
        """Reconcile the keys of an object that becomes unreadable, or readable again."""
        return self._add(
            Watch("unreadable", cache.name, keys),
            lambda queue: enqueue_unreadable(queue, cache, keys),
        )

    def receives(
        self,
        channel: Channel[T],
        keys: Callable[[T], Iterable[ObjectKey]],
        *,
        priority: Priority | None = None,
        delay: float | Callable[[T], float] = 0.0,
    ) -> Self:
        """Reconcile the keys of an event of this process.

        Without a priority a key that is in work keeps its own. A delay may depend on the event.
        """

        def connect(queue: Queue[ObjectKey]) -> None:
            def on_event(event: T) -> None:
                for key in keys(event):
                    later = delay(event) if callable(delay) else delay
                    queue.add(key, priority=priority, delay=later)

            channel.subscribe(on_event)

        return self._add(Watch("receives", channel.name, keys, delay=delay), connect)

    def build(
        self,
        make: Callable[[Applier], R],
        *,
        first: Callable[[R], Iterable[ObjectKey]] = lambda _: (),
    ) -> Controller:
        """Return the controller of the reconciler that `make` returns.

        `first` names the keys to begin with, each time that this process becomes the leader.
        """
        runtime, pending = self._runtime, PendingWrites()
        applier = Applier(
            runtime.client,
            runtime.field_manager,
            pending,
            runtime.telemetry,
            fence=runtime.fence,
            parallel=runtime.parallel_writes,
        )
        reconciler = make(applier)
        controller = Controller(
            self._name,
            reconciler,
            pending,
            runtime.telemetry,
            options=replace(
                self._options,
                exists=self._exists or (lambda _: True),
                first=lambda: first(reconciler),
                watches=tuple(self._rows),
            ),
            clock=runtime.clock,
        )
        for connect in self._connections:
            connect(controller.queue)
        return controller

    def _watch(
        self,
        relation: str,
        cache: Cache[W],
        keys: Keys[W],
        when: Predicate[W],
        priority: Priority | Urgency[W],
        delay: Delay,
    ) -> Self:
        return self._add(
            Watch(relation, cache.name, keys, when, delay),
            lambda queue: enqueue_changes(
                queue, cache, keys, when=when, priority=priority, delay=delay
            ),
        )

    def _add(self, row: Watch, connect: Callable[[Queue[ObjectKey]], None]) -> Self:
        self._rows.append(row)
        self._connections.append(connect)
        return self
