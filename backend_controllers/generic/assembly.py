"""The controllers of one dialect, and which change adds which key to the queue of each.

Writing objects and writing statuses have separate queues: a burst of pod events never delays the
object that a gang waits for. Without a dialect there is only the registration, which reports what
is missing. The controllers are built for one result of discovery and end with it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from backend_controllers.contract.declaration import Companion, Dialect, Reads
from backend_controllers.contract.inventory_rows import ObservedNode
from backend_controllers.generic import predicates
from backend_controllers.generic.caches import BackendCaches, watch_all
from backend_controllers.generic.companions import CompanionReconciler
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.gang_reconciler import GangReconciler
from backend_controllers.generic.inventory import (
    GATHER,
    InventoryPublisher,
    counts_differently,
)
from backend_controllers.generic.kinds import BACKENDS, GANGS, INVENTORIES, named
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.orphans import SWEEP, Orphans
from backend_controllers.generic.registration import Registration
from backend_controllers.generic.status_reconciler import StatusReconciler
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import NODES, Resource
from shared_api.models import BackendInventory, SchedulerBackend
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.manager import Manager
from shared_api.runtime.queueing.debounce import Debouncer
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.reconciling.builder import Builder
from shared_api.runtime.reconciling.controller import Controller
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.event_handlers import Keys, its_label, itself
from shared_api.runtime.watching.predicates import Watched, more_than_status
from shared_api.runtime.watching.reflector import Source

_GANG_OF_POD = its_label(names.LABEL_PODGANG)


Extension: TypeAlias = Callable[[BackendContext, Manager, BackendCaches], None]
"""Adds further controllers that read the same caches, such as those of a far side."""


def assemble(
    context: BackendContext, manager: Manager, found: Found, extend: Extension | None = None
) -> None:
    """Add the controllers for what discovery found to a manager."""
    manager.add(_registration(context, manager, found))
    # The machines of a backend with a far side are not nodes; see `remote/inventory`.
    if context.settings.inventory.enabled and context.backend.executor is None:
        manager.add(_inventory(context, manager))
    if isinstance(found.answer, Dialect):
        caches = watch_all(manager, context.backend, found.answer)
        for controller in _Assembly(context, found.answer, caches).controllers():
            manager.add(controller)
        if extend is not None:
            extend(context, manager, caches)


def _registration(context: BackendContext, manager: Manager, found: Found) -> Controller:
    name = context.backend.name
    records = manager.watch(Source(BACKENDS, applied(SchedulerBackend), selector=named(name)))
    return (
        Builder("registration", context.runtime)
        .options(workers=1, exists=lambda _: True)
        .for_(records, when=more_than_status)
        .watches_overwritten(records, predicates.readiness_differs)
        .build(
            lambda applier: Registration(context, found, records, applier),
            first=lambda _: (ObjectKey("", name),),
        )
    )


def _inventory(context: BackendContext, manager: Manager) -> Controller:
    name = context.backend.name
    own = Source(INVENTORIES, applied(BackendInventory), selector=named(name))
    inventories, nodes = manager.watch(own), manager.watch(Source(NODES, ObservedNode))
    changed = counts_differently(context.settings.inventory.node_selector)
    return (
        Builder("inventory", context.runtime)
        .options(workers=1, exists=lambda _: True)
        .for_(inventories, when=more_than_status)
        .watches(nodes, _only(ObjectKey("", name)), when=changed, delay=GATHER)
        .build(
            lambda applier: InventoryPublisher(context, nodes, inventories, applier),
            first=lambda _: (ObjectKey("", name),),
        )
    )


class _Assembly:
    """Builds the controllers of one dialect."""

    def __init__(self, context: BackendContext, dialect: Dialect, caches: BackendCaches) -> None:
        self._context = context
        self._dialect = dialect
        self._caches = caches
        self._lifetimes = Lifetimes(caches.gangs, context.metrics, context.clock)

    def controllers(self) -> Iterator[Controller]:
        """All of them."""
        yield self._gangs()
        yield self._statuses()
        yield self._orphans()
        for companion in self._dialect.companions:
            yield self._companion(companion)

    def _gangs(self) -> Controller:
        context, caches, dialect = self._context, self._caches, self._dialect
        results = context.results
        table = (
            Builder("podgang", context.runtime)
            .options(workers=context.settings.concurrency.pod_gangs)
            .for_(caches.gangs, when=predicates.gang_needs_translation(dialect, caches, results))
        )
        drifted = predicates.drifted(context.field_manager)
        for writes in dialect.writes:
            table.owns(caches.written[writes.resource], GANGS, when=drifted)
            if writes.translated:
                reported = predicates.reports_differ(writes)
                table.owns(caches.written[writes.resource], GANGS, when=reported)
        if dialect.follows_pods:
            table.watches(caches.pods, _GANG_OF_POD, when=predicates.pod_freed_or_lost)
        for reads in dialect.reads:
            cache, changed = caches.read[reads.resource], predicates.read_differs(reads)
            if reads.translated and not reads.concerns_certain_gangs:
                table.watches(cache, self._unscheduled, when=changed, priority=Priority.RESYNC)
            elif reads.translated:
                table.watches(cache, self._gangs_of(reads), when=changed)
                table.watches_unreadable(cache, self._gangs_of(reads))
        return table.build(
            lambda applier: GangReconciler(context, dialect, caches, applier, self._lifetimes)
        )

    def _statuses(self) -> Controller:
        context, caches, dialect = self._context, self._caches, self._dialect
        shortest = context.settings.timing.gather_seconds
        debouncer = Debouncer[ObjectKey](shortest, context.clock, longest=5 * shortest)
        soon, event = debouncer.delay, Priority.EVENT
        recounted, of_pod = predicates.gang_is_recounted(caches), predicates.pod_changes_status
        table = (
            Builder("podgang-status", context.runtime)
            .options(workers=context.settings.concurrency.statuses)
            .for_(caches.gangs, when=recounted, priority=event, delay=soon)
            .watches(caches.pods, _GANG_OF_POD, when=of_pod, priority=event, delay=soon)
            .watches_overwritten(caches.gangs, predicates.status_differs)
            # First, and at once: core ungates the pods of a gang that is programmed.
            .receives(context.results.changed, itself, priority=Priority.USER)
        )
        for writes in dialect.writes:
            if writes.mirrored:
                cache, when = caches.written[writes.resource], predicates.reports_differ(writes)
                table.owns(cache, GANGS, when=when, priority=event, delay=soon)
        if caches.nodes is not None:
            # Late and with low priority: it changes only numbers in messages.
            table.watches(
                caches.nodes,
                self._unscheduled,
                when=predicates.node_differs,
                priority=Priority.RESYNC,
                delay=context.settings.timing.progress_delay_seconds,
            )
        for reads in dialect.reads:
            of_gang, changed = reads.concerns_certain_gangs, predicates.read_differs(reads)
            table.watches(
                caches.read[reads.resource],
                # An object about no gang may be the queue that the message of a gang names.
                self._gangs_of(reads) if of_gang else self._unscheduled,
                when=changed,
                priority=event if of_gang else Priority.RESYNC,
                delay=soon,
            )
        return table.build(
            lambda applier: StatusReconciler(
                context, dialect, caches, applier, self._lifetimes, debouncer
            )
        )

    def _orphans(self) -> Controller:
        context, caches, dialect = self._context, self._caches, self._dialect
        found: Channel[ObjectKey] = Channel("orphans found")
        low, grace = Priority.RESYNC, context.settings.timing.orphan_grace_seconds
        table = (
            Builder("orphans", context.runtime)
            # The sweep, with which every leader begins, finds the keys that a standby drops.
            .options(workers=1, exists=lambda key: key == SWEEP)
            .watches(caches.gangs, itself, when=predicates.is_gone, priority=low, delay=grace)
            .receives(found, lambda key: (key,), priority=low, delay=grace)
        )
        created = predicates.created_without_gang(caches)
        for writes in dialect.writes:
            cache = caches.written[writes.resource]
            table.owns(cache, GANGS, when=created, priority=low, delay=grace)
        return table.build(
            lambda applier: Orphans(context, dialect, caches, applier, found),
            first=lambda _: (SWEEP,),
        )

    def _companion(self, companion: Companion) -> Controller:
        # Instances of one kind write the same object. Under one name they also write it equally.
        context, caches = self._context.shared, self._caches
        source, written = companion.source.resource, companion.writes.resource
        drifted = predicates.drifted(context.field_manager)
        sources, changed = caches.read[source], predicates.read_differs(companion.source)
        table = (
            Builder(f"companion-{written.plural}", context.runtime)
            .options(workers=1)
            .for_(sources, when=changed)
            .watches(caches.written[written], _owner_of(source.kind), when=drifted)
        )
        if companion.report is not None:
            table.watches_overwritten(sources, predicates.source_status_differs)
        if companion.report is not None and written in caches.read:
            table.watches(caches.read[written], _all_of(sources), when=predicates.content_differs)
        return table.build(lambda applier: CompanionReconciler(context, companion, caches, applier))

    def _gangs_of(self, reads: Reads) -> Keys[Watched]:
        """The gangs that an object of this kind controls, or the gang that it is about."""
        return self._controlled_by(reads.resource) if reads.owns_gangs else self._gang_of(reads)

    def _controlled_by(self, resource: Resource) -> Keys[Watched]:
        """All gangs that an object of this kind controls."""

        def keys(value: Watched) -> Iterable[ObjectKey]:
            return map(key_of, self._caches.gangs_of(resource, value))

        return keys

    def _gang_of(self, reads: Reads) -> Keys[Watched]:
        """The gang that an object of this kind is about, directly or through another object."""
        between = [each for each in self._dialect.reads if each.resource == reads.through]

        def keys(value: Watched) -> Iterable[ObjectKey]:
            about = reads.about(value) if reads.about is not None else None
            if about is None:
                return
            if reads.through is None:
                yield ObjectKey(*about)
            elif (found := self._caches.read[reads.through].get(ObjectKey(*about))) is not None:
                for each in between:
                    yield from self._gang_of(each)(found)

        return keys

    def _unscheduled(self, value: Watched) -> Iterable[ObjectKey]:
        """All gangs that are not scheduled, whatever has changed."""
        del value
        for gang in self._caches.gangs:
            scheduled = gang.condition(names.CONDITION_SCHEDULED)
            if scheduled is None or scheduled.status != "True":
                yield key_of(gang)


def _only(key: ObjectKey) -> Keys[Watched]:
    """The one object of this instance, whatever has changed."""
    return lambda _: (key,)


def _all_of(sources: Cache[Watched]) -> Keys[Watched]:
    """All sources: each may refer to any object of the written kind."""
    return lambda _: map(key_of, sources)


def _owner_of(kind: str) -> Callable[[Watched], Iterable[ObjectKey]]:
    """The owner of that kind; a cluster-scoped one may own objects in any namespace."""

    def keys(value: Watched) -> Iterable[ObjectKey]:
        for owner in value.metadata.owner_references:
            if owner.controller and owner.kind == kind:
                yield ObjectKey("", owner.name)
                if value.metadata.namespace:
                    yield ObjectKey(value.metadata.namespace, owner.name)

    return keys
