"""The controllers of one dialect, and what wakes each of them.

Writing and telling have separate queues, so that a storm of pod events never delays the
object that a gang waits for. Without a dialect there is only the record, which says what is
missing. A manager is made for one answer of discovery and thrown away with it.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from backend_controllers.contract.declaration import Companion, Dialect, Reads
from backend_controllers.generic import predicates as wakes
from backend_controllers.generic.caches import Caches, watch_all
from backend_controllers.generic.companions import CompanionReconciler
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.debounce import mere_news, news_of_writing
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.gang_reconciler import GangReconciler
from backend_controllers.generic.kinds import BACKENDS, GANGS, field_manager, named
from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.orphans import SWEEP, Orphans
from backend_controllers.generic.progress import Progress
from backend_controllers.generic.references import References
from backend_controllers.generic.registration import Registration
from backend_controllers.generic.status_reconciler import StatusReconciler
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import PodGang
from shared_api.kube.unreadable import Unreadable
from shared_api.models import SchedulerBackend
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.manager import Manager
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.reconciling.controller import Controller, Pace, Subjects
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.event_handlers import (
    feed,
    feed_overwritten,
    its_controller,
    its_label,
    itself,
)
from shared_api.runtime.watching.predicates import Watched, more_than_status
from shared_api.runtime.watching.reflector import Source

_ITS_GANG = its_controller(GANGS)


class Reconciler(Protocol):
    """What a controller calls."""

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Make one object as it should be."""


def assemble(context: BackendContext, manager: Manager, found: Found) -> None:
    """Give a manager the controllers that fit what was found."""
    Assembly(context, manager).add_all(found)


class Assembly:
    """Controllers in the making."""

    def __init__(self, context: BackendContext, manager: Manager) -> None:
        self._context = context
        self._manager = manager

    def add_all(self, found: Found) -> None:
        """The record, and what serves gangs if there is a dialect to do it in."""
        self._add_registration(found)
        if isinstance(found.answer, Dialect):
            dialect = found.answer
            caches = watch_all(self._manager, self._context.backend.name, dialect)
            self._add_gangs(dialect, caches)
            self._add_orphans(dialect, caches)
            for companion in dialect.companions:
                self._add_companion(companion, caches)

    def _controller(
        self,
        name: str,
        workers: int,
        build: Callable[[Applier], Reconciler],
        exists: Callable[[ObjectKey], bool],
    ) -> Controller:
        async def reconcile(key: ObjectKey) -> Result | None:
            return await made.reconcile(key)

        pace = Pace(workers=workers)
        controller = Controller(
            name, reconcile, self._context.telemetry, pace=pace, subjects=Subjects(exists)
        )
        made = build(self._context.applier(controller.pending))
        self._manager.add(controller)
        return controller

    def _add_registration(self, found: Found) -> None:
        name = self._context.backend.name
        records = self._manager.watch(
            Source(BACKENDS, applied(SchedulerBackend), selector=named(name))
        )
        controller = self._controller(
            "registration",
            1,
            lambda applier: Registration(self._context, found, records, applier),
            lambda _: True,
        )
        feed(controller.queue, records, itself, when=more_than_status)
        feed_overwritten(controller.queue, records, wakes.readiness_differs)
        controller.queue.add(ObjectKey("", name))

    def _add_gangs(self, dialect: Dialect, caches: Caches) -> None:
        context, workers = self._context, self._context.settings.concurrency
        lifetimes = Lifetimes(caches.gangs, context.metrics, context.clock)
        gangs = self._controller(
            "podgang",
            workers.pod_gangs,
            lambda applier: GangReconciler(context, dialect, caches, applier, lifetimes),
            caches.gangs.__contains__,
        )
        statuses: list[StatusReconciler] = []

        def build(applier: Applier) -> StatusReconciler:
            statuses.append(StatusReconciler(context, dialect, caches, applier, lifetimes))
            return statuses[0]

        telling = self._controller(
            "podgang-status", workers.statuses, build, caches.gangs.__contains__
        )
        context.board.subscribe(news_of_writing(telling.queue))
        caches.gangs.subscribe(_forgetter(context, statuses[0]))
        self._feed_gangs(gangs, dialect, caches)
        self._feed_statuses(telling, statuses[0], dialect, caches)

    def _feed_gangs(self, gangs: Controller, dialect: Dialect, caches: Caches) -> None:
        board, heeds_held_pods = self._context.board, dialect.heeds_held_pods
        references = References(caches, board, heeds_held_pods=heeds_held_pods)
        feed(gangs.queue, caches.gangs, itself, when=references.is_news)
        manager = field_manager(self._context.backend.name)
        for writes in dialect.writes:
            cache = caches.written[writes.resource]
            feed(gangs.queue, cache, _ITS_GANG, when=wakes.bent(manager))
        if dialect.follows_pods:
            of_pod = its_label(names.LABEL_PODGANG)
            feed(gangs.queue, caches.pods, of_pod, when=wakes.pod_freed_or_lost)
        for reads in dialect.reads:
            cache_read = caches.read[reads.resource]
            if reads.translated and reads.about is not None:
                cache_read.subscribe_unreadable(_waking(gangs, _told_about(reads, dialect, caches)))
                feed(
                    gangs.queue,
                    cache_read,
                    _told_about(reads, dialect, caches),
                    when=wakes.shows_other,
                )
            elif reads.translated:
                feed(
                    gangs.queue,
                    cache_read,
                    _unplaced(caches),
                    when=wakes.shows_other,
                    urgent=_unhurried,
                )

    def _feed_statuses(
        self, telling: Controller, statuses: StatusReconciler, dialect: Dialect, caches: Caches
    ) -> None:
        queue, soon, news = telling.queue, statuses.gathering.seconds, mere_news
        of_pod = statuses.noticing(its_label(names.LABEL_PODGANG))
        of_object = statuses.noticing(_ITS_GANG)
        progress = Progress(caches.pods, caches.gangs)
        later = self._context.settings.timing.progress_delay_seconds
        feed(queue, caches.pods, of_pod, when=progress.is_news, urgent=news, delay=soon)
        feed(queue, caches.pods, of_pod, when=progress.is_underway, urgent=news, delay=later)
        feed(queue, caches.gangs, itself, when=progress.is_recounted, urgent=news, delay=soon)
        feed_overwritten(queue, caches.gangs, wakes.status_differs)
        for writes in dialect.writes:
            if writes.news:
                cache, tells_other = (
                    caches.written[writes.resource],
                    wakes.tells_other(writes.tells),
                )
                feed(queue, cache, of_object, when=tells_other, urgent=news, delay=soon)
        for reads in dialect.reads:
            cache_read, shows_other = caches.read[reads.resource], wakes.shows_other
            if reads.about is not None:
                keys = statuses.noticing(_told_about(reads, dialect, caches))
                feed(queue, cache_read, keys, when=shows_other, urgent=news, delay=soon)
            else:
                # What is said of a gang may be about its queue, of which nobody else gives news.
                keys = statuses.noticing(_unplaced(caches))
                feed(queue, cache_read, keys, when=shows_other, urgent=_unhurried, delay=soon)

    def _add_orphans(self, dialect: Dialect, caches: Caches) -> None:
        made: list[Orphans] = []

        def build(applier: Applier) -> Orphans:
            made.append(Orphans(self._context, dialect, caches, applier))
            return made[0]

        # The sweep, with which every leader begins, finds what single keys would have named.
        controller = self._controller("orphans", 1, build, lambda key: key == SWEEP)
        orphans, grace = made[0], self._context.settings.timing.orphan_grace_seconds

        def look(key: ObjectKey) -> None:
            controller.queue.add(key, priority=Priority.RESYNC, delay=grace)

        orphans.look = look
        feed(
            controller.queue,
            caches.gangs,
            itself,
            when=_is_gone,
            urgent=_unhurried,
            delay=grace,
        )
        for writes in dialect.writes:
            feed(
                controller.queue,
                caches.written[writes.resource],
                _ITS_GANG,
                when=lambda old, new: old is None and new is not None and orphans.has_no_gang(new),
                urgent=_unhurried,
                delay=grace,
            )
        controller.queue.add(SWEEP, priority=Priority.RESYNC)

    def _add_companion(self, companion: Companion, caches: Caches) -> None:
        source, written = companion.source.resource, companion.writes.resource
        controller = self._controller(
            f"companion-{written.plural}",
            1,
            lambda applier: CompanionReconciler(self._context, companion, caches, applier),
            caches.read[source].__contains__,
        )
        feed(controller.queue, caches.read[source], itself, when=wakes.shows_other)
        bent = wakes.bent(field_manager(self._context.backend.name))
        feed(controller.queue, caches.written[written], _owner_of(source.kind), when=bent)


def _owner_of(kind: str) -> Callable[[Watched], Iterable[ObjectKey]]:
    """The owner of that kind; one without namespace may own objects in any."""

    def keys(value: Watched) -> Iterable[ObjectKey]:
        for owner in value.metadata.owner_references:
            if owner.controller and owner.kind == kind:
                yield ObjectKey("", owner.name)
                if value.metadata.namespace:
                    yield ObjectKey(value.metadata.namespace, owner.name)

    return keys


def _told_about(
    reads: Reads, dialect: Dialect, caches: Caches
) -> Callable[[Watched], Iterable[ObjectKey]]:
    between = [each for each in dialect.reads if each.resource == reads.through]

    def keys(value: Watched) -> Iterable[ObjectKey]:
        about = reads.about(value) if reads.about is not None else None
        if about is None:
            return
        if reads.through is None:
            yield ObjectKey(*about)
        elif (found := caches.read[reads.through].get(ObjectKey(*about))) is not None:
            for each in between:
                yield from _told_about(each, dialect, caches)(found)

    return keys


def _waking(
    gangs: Controller, keys: Callable[[Watched], Iterable[ObjectKey]]
) -> Callable[[Unreadable | None, Unreadable | None], None]:
    """Wake the gang that an object is about when it cannot be read, or can be again."""

    def on_unreadable(old: Unreadable | None, new: Unreadable | None) -> None:
        for value in (old, new):
            for key in keys(value) if value is not None else ():
                gangs.queue.add(key)

    return on_unreadable


def _unplaced(caches: Caches) -> Callable[[Watched], Iterable[ObjectKey]]:
    """The gangs that are not placed, whatever has changed."""

    def keys(value: Watched) -> Iterable[ObjectKey]:
        del value
        for found in caches.gangs:
            status = found.status
            conditions = status.conditions if status is not None else ()
            if not any(
                condition.type == names.CONDITION_SCHEDULED and condition.status == "True"
                for condition in conditions
            ):
                yield key_of(found)

    return keys


def _is_gone(old: object, new: object) -> bool:
    del old
    return new is None


def _unhurried(old: object, new: object) -> Priority:
    del old, new
    return Priority.RESYNC


def _forgetter(
    context: BackendContext, statuses: StatusReconciler
) -> Callable[[PodGang | None, PodGang | None], None]:
    def on_gang(old: PodGang | None, new: PodGang | None) -> None:
        if old is not None and new is None:
            context.board.forget(old.metadata.uid)
            statuses.forget(old)

    return on_gang
