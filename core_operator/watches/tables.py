"""The tables of watches: which change makes which controller reconcile which key.

"Why was this key reconciled, or not?" has its answer here, one method for each controller. A row
names the source, the keys and the predicate; several rows may add one key, and the shortest delay
wins. A spec and its status have separate controllers, so that a storm of pod events never delays a
creation, and no status change of a child reconciles its owner.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from core_operator.context import CoreContext
from core_operator.state.caches import CLIQUES, GROUPS, SETS
from core_operator.watches import gang_predicates, job_predicates, predicates, update_predicates
from core_operator.watches.gang_predicates import GangPredicates
from core_operator.watches.job_predicates import JobPredicates
from core_operator.watches.keys import (
    RelatedKeys,
    clique_of_pod,
    clique_with_problem,
    cliques_of_gang,
    gang_of,
    group_of,
    group_with_problem,
    set_of,
    set_with_problem,
)
from core_operator.watches.predicates import deleted_or_changed, status_changed
from core_operator.watches.update_predicates import (
    UpdatePredicates,
    templates_changed,
    turn_changed,
)
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.models import PodCliqueSet
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.queueing.debounce import Debouncer
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.reconciling.builder import Builder
from shared_api.runtime.watching.event_handlers import Keys, its_controller, itself
from shared_api.runtime.watching.predicates import Watched, more_than_status

T = TypeVar("T")
W = TypeVar("W", bound=Watched)

# Pods that a scheduler binds together get their nodes within this time.
_BOUND_TOGETHER = 0.02


class WatchTables:
    """The tables of one process."""

    def __init__(self, context: CoreContext) -> None:
        self._context = context
        self._view = context.view
        self._caches = context.view.caches
        self._related = RelatedKeys(context.view)
        self._soon = context.settings.timing.status_delay_seconds
        self._later = context.progress_debouncer().delay
        self._during_update = UpdatePredicates(context.view)
        self._of_jobs = JobPredicates(context.view)

    def podcliqueset(self, builder: Builder) -> Builder:
        """Children of sets."""
        caches = self._caches
        builder = (
            builder.for_(caches.sets, when=more_than_status)
            .for_(caches.sets, when=turn_changed)
            .owns(caches.cliques, SETS, when=deleted_or_changed)
            .watches(caches.cliques, set_of, when=predicates.left_zero)
            .owns(caches.groups, SETS, when=deleted_or_changed)
            .owns(caches.services, SETS, when=deleted_or_changed)
            .owns(caches.revisions, SETS, when=predicates.is_deleted)
            .owns(caches.gangs, SETS, when=predicates.is_deleted)
            # A gang that leaves its backend; the set reports it if that takes long.
            .owns(caches.gangs, SETS, when=predicates.deletion_began)
            .owns(caches.autoscalers, SETS, when=predicates.autoscaler_drifted)
            .owns(caches.domains, SETS, when=predicates.claim_drifted)
        )
        return self._shared_claims(builder, SETS, itself)

    def scaling_group(self, builder: Builder) -> Builder:
        """PodCliques of scaling groups."""
        caches, related = self._caches, self._related
        builder = (
            builder.for_(caches.groups, when=more_than_status)
            .owns(caches.cliques, GROUPS, when=deleted_or_changed)
            .watches(caches.sets, related.groups_of_set, when=more_than_status)
            .watches(caches.sets, related.groups_of_set, when=turn_changed)
            .watches(caches.pods, group_of, when=self._during_update.step_done)
        )
        return self._shared_claims(builder, GROUPS, related.groups_of_set)

    def podclique(self, builder: Builder) -> Builder:
        """Pods of PodCliques. They are created once both the PodClique and its gang are seen."""
        caches, related = self._caches, self._related
        builder = (
            builder.watches(caches.cliques, related.clique_with_gang, when=more_than_status)
            .watches(
                caches.gangs,
                related.cached_cliques_of_gang,
                when=gang_predicates.pods_can_be_created,
            )
            .watches(caches.pods, clique_of_pod, when=predicates.pod_ended_or_drifted)
            .watches(caches.pods, related.clique_with_surplus, when=predicates.pod_bound_or_ready)
            .watches(caches.backends, related.all_cliques, when=more_than_status)
            .owns(caches.pods, CLIQUES, when=self._during_update.step_done)
            .watches(caches.pods, related.cliques_of_group, when=self._during_update.step_done)
            .watches(caches.sets, related.updated_cliques, when=turn_changed)
            .watches(caches.sets, related.cliques_of_set, when=job_predicates.set_record_changed)
            .watches(
                caches.groups, related.cliques_in_group, when=job_predicates.group_record_changed
            )
            # All gangs of the namespace wait for the gang whose turn it is.
            .receives(self._context.turns.opened, _one, priority=Priority.USER)
        )
        return self._shared_claims(builder, CLIQUES, related.cliques_of_set)

    def podgang(self, builder: Builder) -> Builder:
        """References, conditions and gates of gangs."""
        caches, related = self._caches, self._related
        of_gang = GangPredicates(self._view, self._context.expected_ungates)
        return (
            builder.for_(caches.gangs, when=of_gang.must_reconcile)
            .for_(caches.gangs, when=of_gang.may_wait_for_pods, delay=self._later)
            .watches_overwritten(caches.gangs, gang_predicates.core_status_changed)
            .watches(caches.pods, gang_of, when=of_gang.pod_affects_gang)
            .watches(caches.pods, gang_of, when=of_gang.pod_fills_gang, delay=self._later)
            .watches(caches.pods, gang_of, when=of_gang.binding_affects_gang, delay=_BOUND_TOGETHER)
            .watches(caches.cliques, gang_of, when=deleted_or_changed)
            .watches(caches.sets, related.gangs_of_set, when=more_than_status)
            .watches(caches.sets, related.gangs_of_set, when=job_predicates.set_record_changed)
            .watches(
                caches.groups, related.gangs_of_group, when=job_predicates.group_record_changed
            )
            .watches(
                caches.backends,
                related.all_gangs,
                when=predicates.backend_changed,
            )
            .watches(caches.bindings, related.gangs_of_binding, when=more_than_status)
            .watches(caches.policies, related.gangs_of_policy, when=more_than_status)
            .watches(
                caches.inventories,
                related.gangs_with_policy,
                when=more_than_status,
                priority=Priority.RESYNC,
            )
            .receives(self._context.gang_scheduled, related.waiting_gangs)
        )

    def quota(self, builder: Builder) -> Builder:
        """Turns in namespaces whose quota is exhausted; a key is a namespace."""
        turns = self._context.turns
        return builder.receives(
            turns.changed, lambda namespace: (ObjectKey(namespace, ""),), delay=turns.delay
        )

    def startup_order(self, builder: Builder) -> Builder:
        """Start-up order of pods. While caches fill, a pod may be seen before its set."""
        return builder.watches(
            self._caches.pods,
            self._related.ordered_gang_of_pod,
            when=predicates.startup_order_may_advance,
        ).watches(self._caches.gangs, self._related.ordered_gang, when=predicates.is_created)

    def backend(self, builder: Builder) -> Builder:
        """Availability of backends."""
        caches = self._caches
        return (
            builder.for_(caches.backends, when=predicates.backend_readiness_changed)
            .watches_overwritten(caches.backends, predicates.availability_changed)
            .watches(caches.leases, self._related.backends_of_lease)
        )

    def lifecycle(self, builder: Builder) -> Builder:
        """Updates and terminations of sets."""
        caches, soon, when = self._caches, self._soon, update_predicates
        return (
            builder.for_(caches.sets, when=more_than_status)
            .watches_overwritten(caches.sets, status_changed)
            .watches(caches.cliques, set_of, when=when.countdown_changed)
            # With OnDelete no update is in progress, but users delete pods and counts change.
            .watches(caches.cliques, set_of, when=when.update_counts_changed, delay=soon)
            .watches(caches.cliques, set_of, when=self._during_update.clique_changed)
            .watches(caches.cliques, set_of, when=self._during_update.blocker_changed, delay=soon)
            .watches(caches.pods, set_of, when=self._during_update.step_done)
            .watches(caches.pods, set_of, when=predicates.terminated_pod_bound(self._view))
            .watches(caches.groups, set_of, when=when.terminated_group_recovered, delay=soon)
        )

    def jobs(self, builder: Builder) -> Builder:
        """Ends and restarts of sets with jobs."""
        caches, when = self._caches, job_predicates
        return (
            builder.for_(caches.sets, when=when.job_set_changed)
            .for_(caches.sets, when=when.generation_hash_changed)
            .watches_overwritten(caches.sets, when.set_record_changed)
            .watches(caches.cliques, set_of, when=when.clique_reported)
            .watches(caches.groups, set_of, when=self._of_jobs.group_changed)
        )

    def podclique_status(self, builder: Builder, postponed: Debouncer[ObjectKey]) -> Builder:
        """Statuses of PodCliques. Progress of one that is `postponed` adds nothing: it is due."""
        caches, soon, later = self._caches, self._soon, self._later

        def not_postponed(keys: Keys[W]) -> Keys[W]:
            return lambda value: (key for key in keys(value) if key not in postponed)

        return (
            builder.for_(caches.cliques, when=deleted_or_changed, delay=soon)
            .for_(caches.cliques, when=predicates.is_created, delay=later)
            .watches_overwritten(caches.cliques, status_changed, delay=soon)
            # A clique that was terminated is armed again, which its status must report.
            .for_(caches.cliques, when=update_predicates.termination_ended, delay=soon)
            .owns(caches.pods, CLIQUES, when=predicates.readiness_matters(self._view), delay=soon)
            .watches(caches.pods, not_postponed(its_controller(CLIQUES)), delay=later)
            .watches(
                caches.gangs,
                not_postponed(cliques_of_gang),
                when=gang_predicates.gang_conditions_changed,
                delay=later,
            )
            .watches(caches.sets, self._related.updated_cliques, when=turn_changed, delay=soon)
            # Without delay: readers of updatedReplicas act as soon as the set has changed.
            .watches(caches.sets, self._related.cliques_of_set, when=templates_changed)
            .watches(
                caches.sets,
                self._related.cliques_of_set,
                when=job_predicates.set_record_changed,
                delay=soon,
            )
            .watches(
                caches.groups,
                self._related.cliques_in_group,
                when=job_predicates.group_record_changed,
                delay=soon,
            )
            .receives(self._context.problems.changed, clique_with_problem)
        )

    def scaling_group_status(self, builder: Builder) -> Builder:
        """Statuses of scaling groups."""
        caches, soon = self._caches, self._soon
        return (
            builder.for_(caches.groups, when=more_than_status, delay=soon)
            .watches_overwritten(caches.groups, status_changed, delay=soon)
            .owns(caches.cliques, GROUPS, delay=soon)
            .watches(caches.pods, group_of, when=self._during_update.step_done, delay=soon)
            .watches(caches.sets, self._related.groups_of_set, when=turn_changed, delay=soon)
            .for_(caches.groups, when=job_predicates.group_record_changed, delay=soon)
            .watches(
                caches.sets,
                self._related.groups_of_set,
                when=job_predicates.set_record_changed,
                delay=soon,
            )
            .receives(self._context.problems.changed, group_with_problem)
            .watches(caches.sets, self._related.groups_of_set, when=templates_changed)
        )

    def podcliqueset_status(self, builder: Builder) -> Builder:
        """Statuses of sets."""
        caches, soon = self._caches, self._soon
        return (
            builder.for_(caches.sets, when=more_than_status, delay=soon)
            .for_(caches.sets, when=update_predicates.update_message_changed, delay=soon)
            .for_(caches.sets, when=job_predicates.set_record_changed, delay=soon)
            .watches_overwritten(caches.sets, status_changed, delay=soon)
            .watches_unreadable(caches.sets)
            .watches(caches.cliques, set_of, delay=soon)
            .watches(caches.groups, set_of, when=more_than_status, delay=soon)
            .watches(
                caches.groups,
                set_of,
                when=update_predicates.updated_replicas_changed,
                delay=soon,
            )
            .owns(caches.autoscalers, SETS, when=predicates.rivals_changed, delay=soon)
            .watches(caches.gangs, set_of, when=gang_predicates.gang_conditions_changed, delay=soon)
            .watches(
                caches.bindings, self._related.sets_of_binding, when=more_than_status, delay=soon
            )
            .receives(self._context.problems.changed, set_with_problem)
        )

    def _shared_claims(
        self, builder: Builder, owner: Resource, keys: Keys[Applied[PodCliqueSet]]
    ) -> Builder:
        """Claims of an owner, and what claims of a set are created from."""
        caches, related = self._caches, self._related
        return (
            builder.owns(caches.claims, owner, when=predicates.claim_drifted)
            .watches(
                caches.claim_templates,
                _for_each(related.sets_of_template, keys),
                when=predicates.template_shared,
                priority=Priority.EVENT,
            )
            .receives(caches.offer.changed, _for_each(related.sets_with_optional_kinds, keys))
        )


def _for_each(
    sets: Callable[[T], Iterable[Applied[PodCliqueSet]]], keys: Keys[Applied[PodCliqueSet]]
) -> Callable[[T], Iterable[ObjectKey]]:
    return lambda value: (key for pcs in sets(value) for key in keys(pcs))


def _one(key: ObjectKey) -> Iterable[ObjectKey]:
    return (key,)
