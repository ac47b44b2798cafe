"""The controllers of core, and what wakes each of them.

This is the map of the operator: ten queues, each fed from the caches, each with its
reconciler. A spec and its status have separate controllers, so that a storm of pod events
never delays a creation, and no status change of a child re-runs its owner.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from core_operator.context import CoreContext
from core_operator.controllers.backend import BackendReconciler
from core_operator.controllers.lifecycle import LifecycleReconciler
from core_operator.controllers.podclique import PodCliqueReconciler
from core_operator.controllers.podcliqueset import PodCliqueSetReconciler
from core_operator.controllers.podgang import PodGangReconciler
from core_operator.controllers.quota import QuotaReconciler
from core_operator.controllers.scaling_group import ScalingGroupReconciler
from core_operator.controllers.startup_order import StartupOrderReconciler
from core_operator.controllers.statuses import (
    PodCliqueSetStatusReconciler,
    PodCliqueStatusReconciler,
    ScalingGroupStatusReconciler,
)
from core_operator.state.caches import CLIQUES, GROUPS, OWNER, SETS
from core_operator.state.gang_summaries import Summaries
from core_operator.state.quota_turns import Turns
from core_operator.watches import predicates as wakes
from core_operator.watches.lifecycle import Queues, feed_lifecycle
from core_operator.watches.podgangs import GangFeeds
from core_operator.watches.resource_sharing import SharingQueues, feed_sharing
from core_operator.watches.statuses import StatusQueues, feed_statuses
from shared_api import names
from shared_api.kube.http.slots import Urgency
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.unreadable import Unreadable
from shared_api.models import (
    CliqueStartupType,
    KubeObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.leading.lease import Lease
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.reconciling.controller import Controller, Pace, Subjects
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import Cache, key_of
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

# The children of a set of thousands of replicas are written in one reconcile.
_DEADLINE = 600.0

_SET = its_controller(SETS)
_GROUP = its_controller(GROUPS)
_CLIQUE = its_controller(CLIQUES)
_CLIQUE_LABEL = its_label(names.LABEL_PODCLIQUE)
_GANG = its_label(names.LABEL_PODGANG)

_URGENCY = {
    "podcliqueset": Urgency.BEGIN,
    "podcliquescalinggroup": Urgency.BEGIN,
    "podclique": Urgency.GO_ON,
}
"""Of a large start the first gangs are released before the last are begun; all other controllers
finish something, or tell of it."""


class Reconciler(Protocol):
    """What a controller calls."""

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Make one object as it should be."""


R = TypeVar("R", bound=Reconciler)


class Controllers:
    """All controllers of one process."""

    def __init__(self, context: CoreContext) -> None:
        self._context = context
        self._caches = context.view.caches
        workers = context.settings.concurrency
        self._all: list[Controller] = []
        caches = self._caches
        self._sets, _ = self._make(
            "podcliqueset", caches.sets, PodCliqueSetReconciler, workers.pod_clique_sets
        )
        self._groups, _ = self._make(
            "podcliquescalinggroup", caches.groups, ScalingGroupReconciler, workers.pod_cliques
        )
        self._cliques, _ = self._make(
            "podclique", caches.cliques, PodCliqueReconciler, workers.pod_cliques
        )
        self._gangs, gangs = self._make(
            "podgang",
            caches.gangs,
            PodGangReconciler,
            workers.pod_gangs,
            first=lambda made: made.interrupted(),
        )
        gangs.wake = self._gangs.queue.add
        self._lifts = gangs.lifts
        self._quota, quota = self._make(
            "quota",
            context.turns,
            QuotaReconciler,
            workers.pod_clique_sets,
            first=lambda _: context.turns,
        )
        quota.lifts = gangs.lifts
        # All gangs of the namespace wait for that one.
        quota.wake = partial(self._cliques.queue.add, priority=Priority.USER)
        context.turns.wake = lambda key, delay: self._quota.queue.add(key, delay=delay)
        self._orders, _ = self._make(
            "startup-order", caches.gangs, StartupOrderReconciler, workers.pod_gangs
        )
        self._backends, _ = self._make("schedulerbackend", caches.backends, BackendReconciler, 1)
        self._clique_statuses, clique_statuses = self._make(
            "podclique-status", caches.cliques, PodCliqueStatusReconciler, workers.statuses
        )
        self._group_statuses, _ = self._make(
            "podcliquescalinggroup-status",
            caches.groups,
            ScalingGroupStatusReconciler,
            workers.statuses,
        )
        summaries = Summaries(context.view, context.metrics)
        self._set_statuses, _ = self._make(
            "podcliqueset-status",
            caches.sets,
            lambda context, applier: PodCliqueSetStatusReconciler(context, applier, summaries),
            workers.statuses,
        )
        self._lifecycle, _ = self._make(
            "podcliqueset-lifecycle",
            caches.sets,
            LifecycleReconciler,
            workers.pod_clique_sets,
            names.FIELD_MANAGER_LIFECYCLE,
        )
        self._feed_specs()
        self._feed_gangs()
        feed_statuses(
            context.view,
            StatusQueues(
                self._clique_statuses.queue,
                self._group_statuses.queue,
                self._set_statuses.queue,
                clique_statuses.on_the_way,
            ),
            context.settings.timing,
        )
        self._feed_lifecycle()
        feed_sharing(
            self._caches,
            SharingQueues(self._sets.queue, self._groups.queue, self._cliques.queue),
        )
        context.repairs.tell = partial(context.tell, warning=True)
        context.wakers.append(self._on_problem)
        self._caches.sets.subscribe_unreadable(self._on_unreadable_set)
        self._caches.sets.subscribe(self._forget_problem)
        self._caches.groups.subscribe(self._forget_problem)
        self._caches.gangs.subscribe(self._forget_problem)
        self._caches.cliques.subscribe(self._forget_problem)

    def __iter__(self) -> Iterator[Controller]:
        return iter(self._all)

    def _make(
        self,
        name: str,
        objects: Cache[Any] | Turns,
        build: Callable[[CoreContext, Applier], R],
        workers: int,
        manager: str = names.FIELD_MANAGER_CORE,
        *,
        first: Callable[[R], Iterable[ObjectKey]] = lambda _: (),
    ) -> tuple[Controller, R]:
        """A controller of these objects."""
        context = self._context

        async def reconcile(key: ObjectKey) -> Result | None:
            return await made.reconcile(key)

        pace = Pace(workers=workers, deadline=_DEADLINE)
        subjects = Subjects(objects.knows, lambda: first(made))
        controller = Controller(name, reconcile, context.telemetry, pace=pace, subjects=subjects)
        applier = Applier(
            context.client.at(_URGENCY.get(name, Urgency.FINISH)),
            manager,
            controller.pending,
            context.telemetry,
            fence=context.fence,
            parallel=context.settings.concurrency.writes,
        )
        made = build(context, applier)
        self._all.append(controller)
        return controller, made

    def _feed_specs(self) -> None:
        caches = self._caches
        queue = self._sets.queue
        feed(queue, caches.sets, itself, when=more_than_status)
        feed(queue, caches.cliques, _SET, when=wakes.needs_mending)
        feed(queue, caches.groups, _SET, when=wakes.needs_mending)
        feed(queue, caches.services, _SET, when=wakes.needs_mending)
        feed(queue, caches.revisions, _SET, when=wakes.is_gone)
        feed(queue, caches.gangs, _SET, when=wakes.is_gone)
        feed(queue, caches.autoscalers, _SET, when=wakes.autoscaler_bent)

        queue = self._groups.queue
        feed(queue, caches.groups, itself, when=more_than_status)
        feed(queue, caches.cliques, _GROUP, when=wakes.needs_mending)
        feed(queue, caches.sets, self._its_groups, when=more_than_status)

        queue = self._cliques.queue
        # Of a PodClique and its gang the one that is seen last has pods made.
        feed(queue, caches.cliques, self._if_in_gang, when=more_than_status)
        feed(queue, caches.pods, _clique_named, when=wakes.pod_ended_or_bent)
        feed(queue, caches.pods, self._crowded_clique, when=wakes.pod_counts_for_more)
        feed(queue, caches.gangs, self._seen_cliques, when=wakes.pods_can_be_made)
        feed(queue, caches.backends, lambda _: map(key_of, caches.cliques), when=more_than_status)

    def _feed_gangs(self) -> None:
        caches = self._caches
        progress = self._context.settings.timing.progress_delay_seconds
        GangFeeds(self._context.view, self._gangs.queue, self._lifts, progress).connect()
        # Gangs too: while caches fill, a pod may come before what tells that it has an order.
        feed(self._orders.queue, caches.pods, self._ordered_gang, when=wakes.order_may_advance)
        feed(self._orders.queue, caches.gangs, self._if_ordered, when=wakes.is_new)

        queue, available = self._backends.queue, wakes.availability_differs
        feed(queue, caches.backends, itself, when=wakes.readiness_differs)
        feed_overwritten(queue, caches.backends, available)
        feed(queue, caches.leases, self._backends_of)

    def _feed_lifecycle(self) -> None:
        queues = Queues(
            sets=self._sets.queue,
            groups=self._groups.queue,
            cliques=self._cliques.queue,
            lifecycle=self._lifecycle.queue,
            set_statuses=self._set_statuses.queue,
            clique_statuses=self._clique_statuses.queue,
            group_statuses=self._group_statuses.queue,
        )
        delay = self._context.settings.timing.status_delay_seconds
        feed_lifecycle(self._context.view, queues, delay)

    def _its_groups(self, pcs: Watched) -> Iterable[ObjectKey]:
        """The scaling groups that a set controls."""
        return map(key_of, self._caches.groups.by_index(OWNER, identity(SETS, pcs)))

    def _ordered_gang(self, pod: Pod) -> Iterable[ObjectKey]:
        """The gang of a pod, if its set says in which order to start."""
        clique = self._context.view.clique_of(pod)
        pcs = self._context.view.set_of(clique) if clique is not None else None
        return () if pcs is None or _is_unordered(pcs) else _GANG(pod)

    def _if_ordered(self, gang: Watched) -> Iterable[ObjectKey]:
        """The gang, unless its set is known to have no order."""
        pcs = self._context.view.set_of(gang)
        return () if pcs is not None and _is_unordered(pcs) else itself(gang)

    def _if_in_gang(self, clique: Watched) -> Iterable[ObjectKey]:
        """The PodClique, if its gang is seen, without which no pods are made."""
        return itself(clique) if any(key in self._caches.gangs for key in _GANG(clique)) else ()

    def _seen_cliques(self, gang: Applied[PodGang]) -> Iterable[ObjectKey]:
        """Those PodCliques of a gang that are seen."""
        return (key for key in wakes.its_cliques(gang) if key in self._caches.cliques)

    def _crowded_clique(self, pod: Pod) -> Iterable[ObjectKey]:
        """The PodClique of a pod, if others stay only until this one serves."""
        clique = self._context.view.clique_of(pod)
        if clique is None:
            return ()
        pods = self._context.view.pods_of(clique.object)
        return (key_of(clique),) if len(pods) > clique.object.spec.replicas else ()

    def _backends_of(self, lease: Lease) -> Iterable[ObjectKey]:
        namespace, name = lease.metadata.key
        for record in self._caches.backends:
            named = record.object.spec.lease
            if named is not None and (named.namespace, named.name) == (namespace, name):
                yield key_of(record)

    def _forget_problem(self, old: Watched | None, new: Watched | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._context.problems.pop(old.metadata.uid or "", None)

    def _on_unreadable_set(self, old: Unreadable | None, new: Unreadable | None) -> None:
        """Have the status of a set say that it cannot be read, or no longer."""
        for value in (old, new):
            if value is not None and value.metadata.name:
                self._set_statuses.queue.add(value.metadata.key)

    def _on_problem(self, about: KubeObject) -> None:
        match about:
            case PodClique():
                self._clique_statuses.queue.add(key_of(about))
            case PodCliqueSet():
                self._set_statuses.queue.add(key_of(about))
            case PodCliqueScalingGroup() | PodGang():
                for key in wakes.its_set(about):
                    self._set_statuses.queue.add(key)
            case _:
                pass


def _clique_named(pod: Pod) -> Iterable[ObjectKey]:
    """The PodClique that controls a pod; of one that nobody controls, the one that it names."""
    return _CLIQUE(pod) if pod.metadata.controller is not None else _CLIQUE_LABEL(pod)


def _is_unordered(pcs: PodCliqueSet) -> bool:
    return pcs.spec.template.clique_startup_type is CliqueStartupType.ANY_ORDER
